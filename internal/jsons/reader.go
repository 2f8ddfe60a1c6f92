package jsons

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A reader walks a text once. What it finds wrong in valid JSON does not stop it, so that the members are known
// with which the refusal is answered.
type reader struct {
	text   []byte
	dec    *jsontext.Decoder
	strict bool
	why    string // the first reason to refuse the text

	values, members int
	stack           [][]byte // the names of the objects that are read, see names
}

func (r *reader) refuse(why string) {
	if r.why == "" {
		r.why = why
	}
}

// value reads over a value that the shape does not have.
func (r *reader) value(depth int) error {
	r.count(depth)
	kind := r.dec.PeekKind()
	if !r.strict || kind != '{' && kind != '[' {
		_, err := r.dec.ReadValue()
		return err
	}
	if kind == '{' {
		_, err := r.object(nil, depth)
		return err
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() != ']' {
		if r.dec.PeekKind() == 0 {
			_, err := r.dec.ReadToken()
			return err
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

func (r *reader) count(depth int) {
	r.values++
	switch {
	case !r.strict:
	case depth > MaxDepth:
		r.refuse("it is deeper than " + strconv.Itoa(MaxDepth) + " values in each other")
	case r.values > MaxValues:
		r.refuse("it has more than " + strconv.Itoa(MaxValues) + " values")
	}
}

// object reads an object, and returns its members if there is a shape for them.
func (r *reader) object(shape Shape, depth int) (read object, err error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	seen := names{folded: shape != nil, from: len(r.stack)}
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(r.dec.InputOffset())
		raw = r.text[end-len(raw) : end] // the decoder's own bytes may change
		if r.members++; r.strict && r.members > MaxNames {
			r.refuse("it has more than " + strconv.Itoa(MaxNames) + " names")
		}
		if r.strict && r.why == "" {
			r.unique(&seen, raw)
		}
		if shape == nil {
			if err = r.value(depth + 1); err != nil {
				return nil, err
			}
			continue
		}
		m, before := member{name: text(raw), at: r.begins()}, r.values
		if below, opened := shape[m.name]; opened && r.dec.PeekKind() == '{' {
			r.count(depth + 1)
			m.inner, err = r.object(below, depth+1)
		} else {
			err = r.value(depth + 1)
		}
		if err != nil {
			return nil, err
		}
		m.end, m.values = int(r.dec.InputOffset()), r.values-before
		if r.strict && len(read) >= MaxRead {
			r.refuse("an object has more than " + strconv.Itoa(MaxRead) + " names")
			if m.name != "id" { // two of which must be known
				continue
			}
		}
		read = append(read, m)
	}
	r.stack = r.stack[:seen.from]
	_, err = r.dec.ReadToken()
	return read, err
}

// begins returns where the value of a member begins, behind the colon and white space.
func (r *reader) begins() int {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && (r.text[at] == ':' || r.text[at] == ' ' || r.text[at] == '\t' || r.text[at] == '\r' || r.text[at] == '\n') {
		at++
	}
	return at
}

// unique refuses a name that its object has already.
func (r *reader) unique(seen *names, raw []byte) {
	name := raw[1 : len(raw)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(text(raw))
	}
	if other, twice := seen.add(&r.stack, name); twice {
		r.twice(other, string(name))
	}
}

func (r *reader) twice(one, other string) {
	if one == other {
		r.refuse("the name " + shown(one) + " stands twice in an object")
		return
	}
	r.refuse("the names " + shown(one) + " and " + shown(other) + " differ in their case only")
}

// shown returns a name as it stands in a reason.
func shown(name string) string { return strconv.QuoteToASCII(name[:min(len(name), 64)]) }
