package safe

import "github.com/mcpchain/mcpchain/internal/words"

// Rune returns a space for a character that breaks a line, controls a terminal, changes the
// direction of a text, or is visible to a model but not to a person. It returns any other character
// unchanged. Package words cleans whole texts.
func Rune(r rune) rune {
	if words.Invisible(r) {
		return ' '
	}
	return r
}
