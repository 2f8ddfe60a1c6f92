package jsons

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// names are those of one object.
type names struct {
	folded bool // names that differ in their case only are one

	from int               // where its names begin in the stack of the reader
	many map[string]string // by what is compared; used when there are more than manyNames
}

const manyNames = 24

// add notes a name, which has to stay as it is. It returns the one that is already there.
func (n *names) add(stack *[][]byte, name []byte) (before string, twice bool) {
	if n.many == nil {
		few := (*stack)[n.from:]
		for _, one := range few {
			if n.folded && bytes.EqualFold(one, name) && n.key(one) == n.key(name) || bytes.Equal(one, name) {
				return string(one), true
			}
		}
		*stack = append(*stack, name)
		if len(few) < manyNames {
			return "", false
		}
		n.many = make(map[string]string, 2*manyNames)
		for _, one := range (*stack)[n.from:] {
			n.many[n.key(one)] = string(one)
		}
		return "", false
	}
	key := n.key(name)
	if before, twice = n.many[key]; !twice {
		n.many[key] = string(name)
	}
	return before, twice
}

func (n *names) key(name []byte) string {
	if !n.folded {
		return string(name)
	}
	return Folded(string(name))
}

// Folded returns what is the same for all texts that differ in their case only, as [strings.EqualFold] says.
func Folded(text string) string {
	folded := make([]byte, 0, len(text))
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				folded = append(folded, text[i])
				continue
			}
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		folded = utf8.AppendRune(folded, least)
	}
	return string(folded)
}

// Text returns the text that JSON stands for, and false if it is another value, or not JSON. An escape of half a
// surrogate pair, which is legal, stays different from all others.
func Text(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || !json.Valid(raw) {
		return "", false
	}
	return text(raw), true
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

// text decodes a valid text of JSON.
func text(raw []byte) string {
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return string(append(out, raw...))
		}
		out, raw = append(out, raw[:at]...), raw[at+1:]
		escape := raw[0]
		raw = raw[1:]
		if escape != 'u' {
			out = append(out, escapes[escape])
			continue
		}
		var r rune
		r, raw = unit(raw)
		if utf16.IsSurrogate(r) && len(raw) > 1 && raw[0] == '\\' && raw[1] == 'u' {
			second, rest := unit(raw[2:])
			if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
				r, raw = pair, rest
			}
		}
		if utf16.IsSurrogate(r) { // no UTF-8 is the same
			out = append(out, byte(0xe0|r>>12), byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f)) //nolint:gosec // it has 16 bits
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func unit(raw []byte) (r rune, rest []byte) {
	n, err := strconv.ParseUint(string(raw[:4]), 16, 16)
	if err != nil { // cannot be: it is valid
		return utf8.RuneError, raw[4:]
	}
	return rune(n), raw[4:]
}
