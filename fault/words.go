package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	maxName       = 64  // runes of a name or a received value that the text repeats
	maxText       = 200 // runes of a phrase that the text repeats
	maxListed     = 10  // violations that the text lists
	maxExamples   = 5   // examples that the text lists
	maxCandidates = 10  // names of what exists that the text lists
)

// ended returns text with a full stop where it has no end yet.
func ended(text string) string {
	if r, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".!?:。！？…", r) {
		return text
	}
	return text + "."
}

func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if upper := unicode.ToUpper(r); upper != r {
		return string(upper) + text[n:]
	}
	return text
}

// paragraph makes a text fit to be shown: of what controls a terminal only line
// breaks and tabs are left.
func paragraph(text string) string {
	if !printable(text, "\n\t") {
		text = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return r
			}
			return safe.Rune(r)
		}, strings.ReplaceAll(text, "\r\n", "\n"))
	}
	return strings.TrimSpace(text)
}

// flat makes a text fit into one line.
func flat(text string) string { return strings.TrimSpace(line(text, len(text))) }

// line makes a stranger's text fit into one line of at most limit runes.
func line(text string, limit int) string {
	if len(text) <= limit && printable(text, "") {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == limit {
			b.WriteString("...")
			break
		}
		n++
		b.WriteRune(safe.Rune(r))
	}
	return b.String()
}

// printable reports whether text is ASCII without control characters other than
// those that are allowed.
func printable(text, allowed string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && strings.IndexByte(allowed, c) < 0 {
			return false
		}
	}
	return true
}

func quoted(text string) string { return "'" + line(text, maxName) + "'" }

// quotedList writes 'a', 'b' or 'c', at most so many of them.
func quotedList(texts []string, most int) string {
	texts = texts[:min(len(texts), most)]
	var b strings.Builder
	for i, t := range texts {
		switch {
		case i == 0:
		case i == len(texts)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(quoted(t))
	}
	return b.String()
}
