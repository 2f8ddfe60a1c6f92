package explain

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// A received is a value of the caller as far as it may be shown.
type received struct {
	value any    // nil when it may not
	words string // never empty
	text  string // what a suggestion may repeat, "" when it may not
}

// received returns the value at, which p leads to.
func (r *renderer) received(at int32, p path) received {
	v := &r.doc.values[at]
	showable := !p.secret && !r.opts.HideReceived
	switch v.kind {
	case kindNull:
		return received{words: "null"}
	case kindBoolean:
		if showable {
			return received{v.text == "true", v.text, v.text}
		}
		return received{words: "a boolean that is not shown"}
	case kindNumber:
		switch {
		case len(v.text) > maxName:
			return received{words: "a number of " + itoa(len(v.text)) + " characters"}
		case showable && scrub.Text(v.text) == v.text:
			return received{json.Number(v.text), v.text, v.text}
		default:
			return received{words: "a number that is not shown"}
		}
	case kindString:
		return r.receivedText(v.text, showable)
	case kindArray:
		if v.count == 0 {
			return received{words: "an empty list"}
		}
		return received{words: "a list"}
	default:
		if v.count == 0 {
			return received{words: "an empty object"}
		}
		return received{words: "an object"}
	}
}

func (r *renderer) receivedText(text string, showable bool) received {
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0:
		return received{value: "", words: "an empty string"}
	case n > maxName:
		return received{words: "a string of " + itoa(n) + " characters"}
	case strings.HasPrefix(strings.TrimSpace(text), "{") || strings.HasPrefix(strings.TrimSpace(text), "["):
		return received{words: "a string"} // it may hold values that have names
	case !showable:
		return received{words: "a string that is not shown"}
	}
	out := received{text: text}
	clean := line(scrub.Text(text), maxName)
	if clean != text {
		out.text = "" // part of it is hidden
	}
	out.value, out.words = clean, quoted(clean)
	return out
}
