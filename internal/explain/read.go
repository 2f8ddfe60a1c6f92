package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth    = 1000    // what the SDK accepts of a message
	maxSent     = 1 << 18 // values in the arguments
	maxExponent = 400     // digits of a number, and its exponent
)

// A document is JSON that was read.
type document struct {
	value   any
	deep    bool // nested too deeply to be read
	values  int
	objects int
	size    int      // of the work that reading it is
	number  []string // to a number that is too long to compute with
	notes   []note
}

// A note is what is wrong with a document beside its schema.
type note struct {
	rule string
	at   []string
}

var errSize = errors.New("they are too large")

// read decodes JSON, with its numbers as they were written, and notes names that were
// sent more than once and text that is not UTF-8.
func read(text []byte) (*document, error) {
	d := &document{}
	if d.deep = tooDeep(text); d.deep {
		return d, errors.New("nested too deeply")
	}
	if !json.Valid(text) {
		var v any
		return d, json.Unmarshal(text, &v)
	}
	r := reader{document: d, json: json.NewDecoder(bytes.NewReader(text)), broken: !utf8.Valid(text)}
	r.json.UseNumber()
	var err error
	d.value, err = r.next(nil)
	return d, err
}

// tooDeep reports whether text nests its lists and objects too deeply.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text) && depth <= maxDepth; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth > maxDepth
}

type reader struct {
	*document
	json   *json.Decoder
	broken bool // there is text that is not UTF-8
}

// A step leads from a value to one inside it.
type step struct {
	up    *step
	name  string
	index int
	depth int
}

func (p *step) path() []string {
	if p == nil {
		return nil
	}
	path := make([]string, p.depth)
	for ; p != nil; p = p.up {
		if path[p.depth-1] = p.name; p.index >= 0 {
			path[p.depth-1] = strconv.Itoa(p.index)
		}
	}
	return path
}

func (r *reader) next(at *step) (any, error) {
	t, err := r.json.Token()
	if err != nil {
		return nil, err
	}
	depth := 1
	if at != nil {
		depth += at.depth
	}
	r.values++
	r.size += 1 + depth/8
	if r.values > maxSent {
		return nil, errSize
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			list := []any{}
			for r.json.More() {
				item, err := r.next(&step{at, "", len(list), depth})
				if err != nil {
					return nil, err
				}
				list = append(list, item)
			}
			_, err = r.json.Token()
			return list, err
		}
		r.objects++
		object := map[string]any{}
		told := map[string]bool(nil)
		for r.json.More() {
			key, err := r.json.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			here := &step{at, name, -1, depth}
			if _, twice := object[name]; twice && !told[name] {
				if told == nil {
					told = map[string]bool{}
				}
				told[name] = true
				r.note("duplicate", here)
			}
			r.utf8(name, here)
			if object[name], err = r.next(here); err != nil {
				return nil, err
			}
		}
		_, err = r.json.Token()
		return object, err
	case string:
		r.size += len(t) / 64
		r.utf8(t, at)
		return t, nil
	case json.Number:
		r.size += len(t) / 16
		if r.number == nil && !computable(string(t)) {
			if r.number = at.path(); at == nil {
				r.number = []string{}
			}
		}
		return t, nil
	default:
		return t, nil
	}
}

func (r *reader) note(rule string, at *step) {
	if len(r.notes) < MaxCounted {
		r.notes = append(r.notes, note{rule, at.path()})
	}
}

func (r *reader) utf8(text string, at *step) {
	if r.broken && strings.ContainsRune(text, utf8.RuneError) {
		r.note("utf8", at)
	}
}

// computable reports whether a number can be computed with exactly at little cost.
func computable(number string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	e, err := strconv.Atoi(strings.TrimLeft(exponent, "+"))
	return len(mantissa) <= maxExponent && (exponent == "" || err == nil && -maxExponent <= e && e <= maxExponent)
}
