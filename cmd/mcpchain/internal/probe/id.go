package probe

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// canonicalID returns what two spellings of the same ID have in common: 1 and 1.0, "é" and "\u00e9". A
// number and a string are never the same. It is empty for no ID, and for null.
func canonicalID(id json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, id) != nil {
		return ""
	}
	text := b.String()
	switch first := (text + " ")[0]; {
	case text == "null":
		return ""
	case first == '"':
		var s string
		if json.Unmarshal([]byte(text), &s) == nil {
			return conduct.Quote(s)
		}
	case first == '-' || first >= '0' && first <= '9':
		if readable(text) {
			if n, ok := new(big.Rat).SetString(text); ok {
				return n.RatString()
			}
		}
	case first == '{' || first == '[':
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			return quoted(v, text)
		}
	}
	return text
}

// readable reports whether a number can be written out: 1e999999999 would take all memory.
func readable(number string) bool {
	_, exponent, has := strings.Cut(strings.ToLower(number), "e")
	return len(number) <= 100 && (!has || len(strings.TrimLeft(exponent, "+-0")) <= 2)
}

// quoted writes a value as encoding/json does, with the members of objects in order.
func quoted(v any, or string) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return or
	}
	return string(raw)
}

// oddID returns the ID that stands in a line, if it is of a type that no ID has, and else "".
func oddID(line []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil || !bytes.ContainsAny(members["id"][:min(1, len(members["id"]))], "{[tf") {
		return ""
	}
	return string(members["id"])
}
