package safe

import "unicode"

// Rune returns a space for a character that breaks a line, controls a terminal, makes
// text read in another order than it is written, or is seen by a model but not by a
// person, and any other as it is.
func Rune(r rune) rune {
	switch {
	case unicode.IsControl(r), 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, 0xe0000 <= r && r <= 0xe007f:
		return ' '
	default:
		return r
	}
}
