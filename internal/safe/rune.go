package safe

import "github.com/mcpchain/mcpchain/internal/words"

// Rune returns a space for a character that breaks a line, controls a terminal, changes the direction of a text, or is
// seen by a model but not by a person, and any other as it is. A whole text is cleaned by package words.
func Rune(r rune) rune {
	if words.Invisible(r) {
		return ' '
	}
	return r
}
