package explain

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

const (
	maxName     = 64  // runes of a name or a received value
	maxPath     = 200 // bytes of a path
	maxPointer  = 512 // bytes of a JSON Pointer
	maxPhrase   = 400 // bytes of what is expected
	maxAdvice   = 240 // runes of a description that is repeated
	maxAllowed  = 20  // allowed values, or known names, that are listed
	maxListed   = 300 // bytes of them
	maxBranches = 5   // forms that are listed
)

// quoted puts a text in single quotes, as the whole house does.
func quoted(text string) string { return "'" + text + "'" }

// schemaName makes a name of the schema, which is public, fit to be shown.
func schemaName(name string) string { return line(name, maxName) }

// strangerName makes a name that the caller sent fit to be shown.
func strangerName(name string) string { return line(scrub.Text(cut(name)), maxName) }

// cut bounds what is looked at of a text of which no more than maxName runes
// will be shown, and leaves enough for the scrubber to see whole secrets.
func cut(text string) string {
	const enough = 4096
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "")
	}
	return text
}

// line makes a text fit into one line of at most limit runes.
func line(text string, limit int) string {
	if len(text) <= limit && plainText(text) {
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

func plainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// join writes a, b or c.
func join(texts []string, word string) string {
	switch n := len(texts); n {
	case 0:
		return ""
	case 1:
		return texts[0]
	default:
		return strings.Join(texts[:n-1], ", ") + " " + word + " " + texts[n-1]
	}
}

// listed writes a, b, c and so on, of a list that may be long.
func listed(texts []string, word string) string {
	size := 0
	for i, text := range texts {
		if size += len(text) + len(", "); i > 0 && (i == maxAllowed || size > maxListed) && len(texts)-i > 1 {
			return strings.Join(texts[:i], ", ") + " " + word + " " + itoa(len(texts)-i) + " others"
		}
	}
	return join(texts, word)
}

// many writes 1 item, 2 items.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "ty") {
		return itoa(n) + " " + strings.TrimSuffix(thing, "y") + "ies"
	}
	return itoa(n) + " " + thing + "s"
}

// counts writes " of 2 to 5 items", "" without limits.
func counts(least, most int, thing string) string {
	switch {
	case least > 0 && least == most:
		return " of exactly " + many(least, thing)
	case least > 0 && most >= 0:
		return " of " + itoa(least) + " to " + many(most, thing)
	case least > 0:
		return " of at least " + many(least, thing)
	case most >= 0:
		return " of at most " + many(most, thing)
	default:
		return ""
	}
}

// ended returns a text with a full stop where it has no end yet.
func ended(text string) string {
	if r, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".!?。！？…", r) {
		return text
	}
	return text + "."
}

// words writes a literal the way sentences name values.
func (l literal) words() string {
	switch v := &l.doc.values[0]; v.kind {
	case kindString:
		return quoted(schemaName(v.text))
	case kindNumber:
		return line(parseDecimal(v.text).String(), maxName)
	default:
		return line(l.raw, maxName)
	}
}

// alternatives lists literals of which one is asked for.
func alternatives(values []literal) string {
	texts := make([]string, len(values))
	for i, l := range values {
		texts[i] = l.words()
	}
	return listed(texts, "or")
}

// cutText shortens a text to at most limit bytes.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, limit-3)], "") + "..."
}
