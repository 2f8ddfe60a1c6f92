package explain

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

const (
	maxDepth    = 1000    // what the SDK accepts of a message
	maxSent     = 1 << 16 // values in the arguments
	maxExponent = 400     // digits of a number, and its exponent
	maxNotes    = 100     // no more are told
)

// A document is JSON that was read.
type document struct {
	value   any
	values  int
	objects int
	number  []string  // to a number that is too long to compute with
	notes   []finding // what is wrong with it beside its schema
	// declared are the names of objects under "properties", as they were written, by the object.
	// Nil means that nobody asks.
	declared map[uintptr][]string
}

// read decodes JSON, with its numbers as they were written, and notes names that were
// sent more than once and text that is not UTF-8. No more than most values are read.
func read(text []byte, most int) (*document, error) {
	d := &document{}
	return d, d.read(text, most)
}

func (d *document) read(text []byte, most int) error {
	if err := measure(text, most); err != nil {
		return err
	}
	unclear := !jsons.Clear(text)
	if unclear && !json.Valid(text) {
		var v any
		return json.Unmarshal(text, &v)
	}
	r := reader{document: d, text: string(text), unclear: unclear}
	d.value = r.next()
	return nil
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
	text    string
	i       int
	unclear bool   // there may be text that is not UTF-8
	at      []step // to the value that is read
}

// A step leads to a member, or to an item; the index of a member is -1.
type step struct {
	name  string
	index int
}

func (s step) text() string {
	if s.index >= 0 {
		return strconv.Itoa(s.index)
	}
	return s.name
}

func (r *reader) path() []string {
	path := make([]string, len(r.at))
	for i, step := range r.at {
		path[i] = step.text()
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

func (r *reader) next() any {
	r.values++
	switch r.token() {
	case '[':
		return r.list()
	case '{':
		return r.object()
	case '"':
		return r.quoted()
	case 'n':
		r.i += len("null")
		return nil
	case 't':
		r.i += len("true")
		return true
	case 'f':
		r.i += len("false")
		return false
	}
	begin := r.i
	for r.i < len(r.text) && strings.IndexByte(" \t\r\n,]}", r.text[r.i]) < 0 {
		r.i++
	}
	number := r.text[begin:r.i]
	if r.number == nil && !computable(number) {
		r.number = r.path()
	}
	return json.Number(number)
}

func (r *reader) list() []any {
	list := []any{}
	r.at = append(r.at, step{})
	for r.i++; r.token() != ']'; {
		r.at[len(r.at)-1].index = len(list)
		list = append(list, r.next())
	}
	r.i++
	r.at = r.at[:len(r.at)-1]
	return list
}

func (r *reader) object() map[string]any {
	r.objects++
	object := map[string]any{}
	var names []string
	top := len(r.at)
	for r.i++; r.token() != '}'; {
		begin := r.i
		name := r.plain()
		r.at = append(r.at[:top], step{name, -1})
		r.utf8(begin)
		if _, twice := object[name]; twice {
			r.note(jsons.Twice)
		} else if r.declared != nil {
			names = append(names, name)
		}
		object[name] = r.next()
	}
	r.i++
	if r.at = r.at[:top]; names != nil && top > 0 && r.at[top-1].name == "properties" {
		r.declared[identity(object)] = names
	}
	return object
}

// identity is another one for each object that there is at the same time.
func identity(object map[string]any) uintptr { return reflect.ValueOf(object).Pointer() }

// quoted reads the string of a value.
func (r *reader) quoted() string {
	begin := r.i
	text := r.plain()
	r.utf8(begin)
	return text
}

// plain reads a string.
func (r *reader) plain() (text string) {
	begin, plain := r.i, !r.unclear
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

// utf8 notes what is wrong with the string that was read from begin on.
func (r *reader) utf8(begin int) {
	if !r.unclear {
		return
	}
	switch text := r.text[begin:r.i]; {
	case !utf8.ValidString(text):
		r.note(jsons.NotUTF8)
	case jsons.HasHalf([]byte(text)):
		r.note(jsons.Surrogate)
	}
}

func (r *reader) note(rule string) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, finding{rule: rule, at: r.path()})
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
