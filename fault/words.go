package fault

import (
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	maxName     = 64  // runes of a name or a received value that the text repeats
	maxText     = 200 // runes of a phrase that the text repeats
	maxListed   = 10  // violations that the text lists
	maxExamples = 5   // examples that the text lists

	maxCandidates = 10 // names of existing things that the text lists

	maxMessage = 4 << 10  // bytes of a message, and of a suggestion
	maxListing = 32 << 10 // bytes of a message of several lines
	maxItem    = 1 << 10  // bytes of the message of one of several faults, and of its suggestion
)

// cut returns at most limit characters of a phrase that a text repeats. It scrubs the phrase first,
// because half of a secret is not recognised.
func cut(text string, limit int) string { return words.Cut(scrub.Credentials(text), limit) }

func quoted(text string) string { return words.Quote(scrub.Credentials(text), maxName) }

// quotedList writes 'a', 'b' or 'c', with at most the given number of items.
func quotedList(texts []string, most int) string {
	return words.List(quotedAll(texts[:min(len(texts), most)]), "or")
}

func quotedAll(texts []string) []string {
	quotes := make([]string, len(texts))
	for i := range quotes {
		quotes[i] = quoted(texts[i])
	}
	return quotes
}
