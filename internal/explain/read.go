package explain

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth    = 1000    // what the SDK accepts of a message
	maxSent     = 1 << 16 // values in the arguments
	maxExponent = 400     // digits of a number, and its exponent
)

// A document is JSON that was read.
type document struct {
	value   any
	values  int
	objects int
	size    int      // of the text
	depth   int      // of the deepest value
	number  []string // to a number that is too long to compute with
	notes   []note
}

// A note is what is wrong with a document beside its schema.
type note struct {
	rule string
	at   []string
}

var (
	errSize = errors.New("they are too large")
	errDeep = errors.New("they are nested too deeply")
)

// read decodes JSON, with its numbers as they were written, and notes names that were
// sent more than once and text that is not UTF-8. No more than most values are read.
func read(text []byte, most int) (*document, error) {
	d := &document{size: len(text)}
	if err := measure(text, most); err != nil {
		return d, err
	}
	if !json.Valid(text) {
		var v any
		return d, json.Unmarshal(text, &v)
	}
	r := reader{document: d, text: string(text), broken: !utf8.Valid(text)}
	d.value = r.next(nil)
	return d, nil
}

// measure reports whether text nests its lists and objects too deeply or holds more values
// than most, before anything is made of it.
func measure(text []byte, most int) error {
	depth, values, quoted := 0, 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			if depth++; depth > maxDepth {
				return errDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if values > most {
		return errSize
	}
	return nil
}

// A reader reads text that is known to be JSON. The decoder of encoding/json neither
// reports doubled names nor is it fast enough for the bound of a call.
type reader struct {
	*document
	text   string
	i      int
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
		return []string{}
	}
	path := make([]string, p.depth)
	for ; p != nil; p = p.up {
		if path[p.depth-1] = p.name; p.index >= 0 {
			path[p.depth-1] = strconv.Itoa(p.index)
		}
	}
	return path
}

// token skips what separates tokens and returns the next byte.
func (r *reader) token() byte {
	for strings.IndexByte(" \t\r\n,:", r.text[r.i]) >= 0 {
		r.i++
	}
	return r.text[r.i]
}

func (r *reader) next(at *step) any {
	here := step{up: at, index: -1, depth: 1}
	if at != nil {
		here.depth += at.depth
	}
	r.depth = max(r.depth, here.depth)
	r.values++
	switch c := r.token(); c {
	case '[':
		list := []any{}
		for r.i++; r.token() != ']'; {
			here.index = len(list)
			list = append(list, r.next(&here))
		}
		r.i++
		return list
	case '{':
		r.objects++
		object := map[string]any{}
		told := map[string]bool(nil)
		for r.i++; r.token() != '}'; {
			here.name = r.quoted()
			if _, twice := object[here.name]; twice && !told[here.name] {
				if told == nil {
					told = map[string]bool{}
				}
				told[here.name] = true
				r.note("duplicate", &here)
			}
			r.utf8(here.name, &here)
			object[here.name] = r.next(&here)
		}
		r.i++
		return object
	case '"':
		text := r.quoted()
		r.utf8(text, at)
		return text
	default:
		begin := r.i
		for r.i < len(r.text) && strings.IndexByte(" \t\r\n,]}", r.text[r.i]) < 0 {
			r.i++
		}
		switch c {
		case 'n':
			return nil
		case 't', 'f':
			return c == 't'
		}
		number := r.text[begin:r.i]
		if r.number == nil && !computable(number) {
			r.number = at.path()
		}
		return json.Number(number)
	}
}

// quoted reads a string.
func (r *reader) quoted() (text string) {
	r.token()
	begin, plain := r.i, !r.broken
	for r.i++; r.text[r.i] != '"'; r.i++ {
		if r.text[r.i] == '\\' {
			plain = false
			r.i++
		}
	}
	r.i++
	if plain {
		return r.text[begin+1 : r.i-1]
	}
	_ = json.Unmarshal([]byte(r.text[begin:r.i]), &text) // which is a string
	return text
}

func (r *reader) note(rule string, at *step) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, note{rule, at.path()})
	}
}

// maxNotes bounds the notes: no more are told.
const maxNotes = 100

func (r *reader) utf8(text string, at *step) {
	if r.broken && strings.ContainsRune(text, utf8.RuneError) {
		r.note("utf8", at)
	}
}

// computable reports whether a number can be computed with exactly at little cost.
func computable(number string) bool {
	if len(number) <= 20 && !strings.ContainsAny(number, "eE") {
		return true
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	e, err := strconv.Atoi(strings.TrimLeft(exponent, "+"))
	return len(mantissa) <= maxExponent && (exponent == "" || err == nil && -maxExponent <= e && e <= maxExponent)
}
