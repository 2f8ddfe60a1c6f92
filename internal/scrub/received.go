package scrub

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/words"
)

// maxReceived is how many characters of a value are repeated.
const maxReceived = 64

// Received returns a value that a caller sent in words, and itself if it may be shown: one that is short, no list
// and no object, without a credential in it. The value is as a decoder of JSON makes it. With hidden the text says
// only of what type it is.
func Received(value any, hidden bool) (text string, shown any) {
	var what string
	var length int
	switch v := value.(type) {
	case nil:
		return "null", nil
	case bool:
		what, text, shown = "a boolean", strconv.FormatBool(v), v
	case float64:
		raw, _ := json.Marshal(v) //nolint:errchkjson // of NaN nothing is written
		return Received(json.Number(raw), hidden)
	case json.Number:
		what, length, text, shown = "a number", len(v), string(v), v
		hidden = hidden || length <= maxReceived && Credentials(text) != text
	case string:
		what, length = "a string", utf8.RuneCountInString(v)
		trimmed := strings.TrimSpace(v)
		switch {
		case length == 0:
			return "an empty string", ""
		case length > maxReceived:
		case trimmed != Redacted && (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")): // it may hold values that have names
			return what, nil
		case !hidden:
			clean := Credentials(v)
			text, shown = words.Quote(clean, maxReceived), clean
		}
	case []any:
		if len(v) == 0 {
			return "an empty list", nil
		}
		return "a list with " + words.Plural(len(v), "item"), nil
	case map[string]any:
		if len(v) == 0 {
			return "an empty object", nil
		}
		return "an object with " + words.Plural(len(v), "property", "properties"), nil
	}
	switch {
	case length > maxReceived:
		return what + " of " + strconv.Itoa(length) + " characters", nil
	case hidden:
		return what + " that is not shown", nil
	default:
		return text, shown
	}
}
