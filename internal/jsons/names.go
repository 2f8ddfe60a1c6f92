package jsons

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// folded returns two names that differ in their case only, or not at all.
func folded(names []string) (one, other string, found bool) {
	if len(names) <= 8 { // as most objects have, for which a table costs more
		for i, name := range names {
			for _, before := range names[:i] {
				if strings.EqualFold(before, name) {
					return before, name, true
				}
			}
		}
		return "", "", false
	}
	seen := make(map[string]string, len(names))
	for _, name := range names {
		key := strings.Map(leastFold, name)
		if before, twice := seen[key]; twice {
			return before, name, true
		}
		seen[key] = name
	}
	return "", "", false
}

// leastFold returns what is the same for all characters that differ in their case only, as [strings.EqualFold] says.
func leastFold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// Text returns the text that JSON stands for, and false if it is another value, or not JSON. Half a surrogate pair and
// a byte that is not UTF-8 are U+FFFD, as for every reader in Go.
func Text(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || !json.Valid(raw) {
		return "", false
	}
	return text(raw), true
}

// text decodes a valid text of JSON.
func text(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	decoded, _ := jsontext.AppendUnquote(nil, raw) // the error says that something was replaced
	return string(decoded)
}

// TextEnd returns where the text ends with which valid JSON begins.
func TextEnd(raw []byte) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
