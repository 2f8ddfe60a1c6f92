package jsons

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A reader walks a text once. A bound that is passed does not stop it, so that the members are known
// with which the refusal is answered.
type reader struct {
	text   []byte
	dec    *jsontext.Decoder
	strict bool
	why    string // the first reason to refuse the text

	values, members int
}

// decoders keeps what decoders have allocated, which is most of what a short message costs.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(nothing) }}

var nothing = bytes.NewReader(nil)

func newReader(text []byte, strict bool) *reader {
	r := &reader{text: text, strict: strict, dec: decoders.Get().(*jsontext.Decoder)} //nolint:forcetypeassert // there is nothing else in it
	r.dec.Reset(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(!strict), jsontext.AllowInvalidUTF8(true))
	return r
}

// close gives the decoder back, without the text.
func (r *reader) close() {
	r.dec.Reset(nothing)
	decoders.Put(r.dec)
}

func (r *reader) refuse(why string) {
	if r.why == "" && r.strict {
		r.why = why
	}
}

// object reads an object and its members.
func (r *reader) object(shape Shape) (read object, err error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	for r.dec.PeekKind() != '}' {
		raw, err := r.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		r.countName()
		m, before := member{name: text(raw), at: r.begins()}, r.values
		if below, opened := shape[m.name]; opened && r.dec.PeekKind() == '{' {
			r.count(r.dec.StackDepth() + 1)
			m.inner, err = r.object(below)
		} else {
			err = r.over()
		}
		if err != nil {
			return nil, err
		}
		m.end, m.values = int(r.dec.InputOffset()), r.values-before
		read = append(read, m)
	}
	if len(read) > MaxRead {
		r.refuse("an object has more than " + strconv.Itoa(MaxRead) + " names")
	}
	if r.strict {
		names := make([]string, len(read))
		for i, m := range read {
			names[i] = m.name
		}
		if one, other, found := folded(names); found {
			r.refuse("the names " + shown(one) + " and " + shown(other) + " differ in their case only")
		}
	}
	_, err = r.dec.ReadToken()
	return read, err
}

// over reads over a value that the shape does not have.
func (r *reader) over() error {
	around := r.dec.StackDepth()
	if !r.strict {
		r.count(around + 1)
		return r.dec.SkipValue()
	}
	for {
		token, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		depth := r.dec.StackDepth()
		switch in, n := r.dec.StackIndex(depth); {
		case token.Kind() == '{' || token.Kind() == '[':
			r.count(depth)
		case token.Kind() == '}' || token.Kind() == ']':
		case in == '{' && n%2 > 0 && depth > around:
			r.countName()
		default:
			r.count(depth + 1)
		}
		if depth == around {
			return nil
		}
	}
}

func (r *reader) count(depth int) {
	r.values++
	if depth > MaxDepth {
		r.refuse("it is deeper than " + strconv.Itoa(MaxDepth) + " values in each other")
	}
	if r.values > MaxValues {
		r.refuse("it has more than " + strconv.Itoa(MaxValues) + " values")
	}
}

func (r *reader) countName() {
	if r.members++; r.members > MaxNames {
		r.refuse("it has more than " + strconv.Itoa(MaxNames) + " names")
	}
}

// begins returns where the value of a member begins, behind the colon and white space.
func (r *reader) begins() int {
	rest := r.text[r.dec.InputOffset():]
	return len(r.text) - len(bytes.TrimLeft(rest, ": \t\r\n"))
}

// shown returns a name as it stands in a reason.
func shown(name string) string { return strconv.QuoteToASCII(name[:min(len(name), 64)]) }
