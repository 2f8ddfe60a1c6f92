package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

const (
	maxDepth    = 1000    // what the SDK accepts of a message
	maxSent     = 1 << 16 // values in the arguments
	maxExponent = 400     // digits of a number, and its exponent
	maxNotes    = 100     // findings about the text itself
)

// A document is JSON that was read.
type document struct {
	value   any
	values  int
	objects int       // and booleans: each may be a schema
	scanned int       // the bytes of all objects together: an inner byte counts once for each object around it
	number  []string  // to a number that is too long to compute with
	notes   []finding // mistakes in the text itself, whatever the schema says
	// declared are the names of objects under "properties" in their order, by the JSON Pointer to the object.
	// Nil: they are not collected.
	declared map[string][]string
	places   int // the bytes of these pointers
}

// read decodes JSON, with its numbers as they were written, and notes names that were
// sent more than once and text that is not UTF-8. No more than most values are read.
func read(text []byte, most int) (*document, error) {
	d := &document{}
	return d, d.read(text, most)
}

func (d *document) read(text []byte, most int) (err error) {
	r := reader{document: d, most: most, unclear: !jsons.Clear(text)}
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.value, err = r.next(""); err == nil {
		if _, err = r.dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return err
	}
	var v any
	return errors.Join(json.Unmarshal(text, &v), err) // the first says where it ends to be JSON
}

// A reader makes values of the tokens of a text.
type reader struct {
	*document
	dec     *jsontext.Decoder
	most    int
	unclear bool // there may be text that is not UTF-8, or a name twice
}

// path returns the place of what was read last.
func (r *reader) path() []string { return slices.Collect(r.dec.StackPointer().Tokens()) }

// next reads a value, which has a name if it is a member.
func (r *reader) next(name string) (any, error) {
	if r.values++; r.values > r.most {
		return nil, errSize
	}
	switch byte(r.dec.PeekKind()) {
	case '[':
		return r.list()
	case '{':
		return r.object(name)
	case '"':
		return r.text()
	case '0':
		number, err := r.dec.ReadValue()
		if err == nil && r.number == nil && !computable(string(number)) {
			r.number = append([]string{}, r.path()...)
		}
		return json.Number(number), err
	}
	token, err := r.dec.ReadToken()
	if err != nil || token.Kind() == 'n' {
		return nil, err
	}
	r.objects++
	return token.Bool(), nil
}

// open reads the begin of a list or an object.
func (r *reader) open() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	if r.dec.StackDepth() > maxDepth {
		return errDeep
	}
	return nil
}

func (r *reader) list() (list []any, err error) {
	if err = r.open(); err != nil {
		return nil, err
	}
	list = []any{}
	for r.dec.PeekKind() != ']' {
		item, err := r.next("")
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err = r.dec.ReadToken()
	return list, err
}

func (r *reader) object(of string) (object map[string]any, err error) {
	begin := r.dec.InputOffset()
	if err = r.open(); err != nil {
		return nil, err
	}
	r.objects++
	object = map[string]any{}
	var names []string
	for r.dec.PeekKind() != '}' {
		name, err := r.text()
		if err != nil {
			return nil, err
		}
		if r.declared != nil {
			names = append(names, name)
		}
		if _, twice := object[name]; twice {
			r.note(jsons.Twice)
		}
		if object[name], err = r.next(name); err != nil {
			return nil, err
		}
	}
	_, err = r.dec.ReadToken()
	r.scanned += int(r.dec.InputOffset() - begin)
	if names != nil && of == "properties" && r.places < maxPlaces {
		place := string(r.dec.StackPointer())
		r.places += len(place)
		r.declared[place] = names
	}
	return object, err
}

// text reads a string, and notes what is wrong with it.
func (r *reader) text() (string, error) {
	raw, err := r.dec.ReadValue()
	if err != nil || !r.unclear && bytes.IndexByte(raw, '\\') < 0 {
		return string(bytes.Trim(raw, `"`)), err
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // what is wrong with it is noted
	switch {
	case !r.unclear:
	case !utf8.Valid(raw):
		r.note(jsons.NotUTF8)
	case jsons.HasHalf(raw):
		r.note(jsons.Surrogate)
	}
	return string(text), nil
}

func (r *reader) note(rule string) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, finding{rule: rule, at: r.path()})
	}
}

// computable reports whether a number can be computed with at little cost.
func computable(number string) bool {
	if len(number) <= 20 && !strings.ContainsAny(number, "eE") {
		return true
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	e, err := strconv.Atoi(strings.TrimLeft(exponent, "+"))
	return len(mantissa) <= maxExponent && (exponent == "" || err == nil && -maxExponent <= e && e <= maxExponent)
}
