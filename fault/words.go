package fault

import "github.com/mcpchain/mcpchain/internal/words"

const (
	maxName     = 64  // runes of a name or a received value that the text repeats
	maxText     = 200 // runes of a phrase that the text repeats
	maxListed   = 10  // violations that the text lists
	maxExamples = 5   // examples that the text lists

	maxMessage = 4 << 10  // bytes of a message, and of a suggestion
	maxListing = 32 << 10 // bytes of a message of several lines
)

func quoted(text string) string { return words.Quote(text, maxName) }

// quotedList writes 'a', 'b' or 'c'.
func quotedList(texts []string) string {
	quotes := make([]string, min(len(texts), maxExamples))
	for i := range quotes {
		quotes[i] = quoted(texts[i])
	}
	return words.List(quotes, "or")
}
