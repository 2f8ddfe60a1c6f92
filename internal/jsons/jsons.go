// Package jsons reads JSON that comes from outside, in one pass, and keeps what it has read as bytes. A text
// that two readers could take for different things is refused by [Strict]; [Tolerant] takes what servers are
// known to write. What was read can be changed at one place without a second reading.
//
// It stands on jsontext, whose place encoding/json/jsontext takes with Go 1.27.
package jsons

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a text that [Strict] reads. Its bytes are bounded where they are received.
const (
	MaxDepth  = 512       // of values in values; servers written in Python end at about a thousand
	MaxValues = 1_000_000 // in the whole text
	MaxNames  = 250_000   // of members in the whole text
	MaxRead   = 10_000    // of members in one object of the shape
)

// A Shape names the objects whose members are read: those below the members of a name, and so on. Other
// values are read over. An empty one reads the members of its object only; nil does not read them.
type Shape map[string]Shape

// A Document is an object that was read. It is never changed.
type Document struct {
	Text []byte

	root   object
	values int
}

type object []member

// A member stands in the text of its document, from at to end.
type member struct {
	name    string
	at, end int
	inner   object // if the shape has it, and it is an object
	values  int    // see Count
}

// An Error says why a text is refused.
type Error struct {
	Reason string
	Syntax bool // it is not JSON at all
}

func (e *Error) Error() string { return "jsons: " + e.Reason }

// Strict reads an object that has to mean the same to every reader. It is UTF-8, and no name stands in an
// object twice. In the objects of the shape no two names differ in their case only. Its size is bounded. If it
// is JSON, the document is returned with the error as well. CR and LF between tokens are left out of its text,
// because some readers take them for the end of the message.
func Strict(text []byte, shape Shape) (*Document, error) {
	d, err := read(text, shape, true)
	if err == nil && HasBreak(text) {
		return read(withoutBreaks(text), shape, true)
	}
	return d, err
}

// Tolerant reads an object of a server, whose texts may be of bytes that are not UTF-8, and in which a name may
// stand twice; see [Document.Values]. Its text is the very slice.
func Tolerant(text []byte, shape Shape) (*Document, error) { return read(text, shape, false) }

// HasBreak reports whether a text has a CR or LF. Two searches for one byte are faster than one for both.
func HasBreak(text []byte) bool {
	return bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0
}

// withoutBreaks returns valid JSON without CR and LF, which stand between its tokens only.
func withoutBreaks(text []byte) []byte {
	return slices.DeleteFunc(bytes.Clone(text), func(b byte) bool { return b == '\r' || b == '\n' })
}

func read(text []byte, shape Shape, strict bool) (*Document, error) {
	notJSON := &Error{Reason: "it is not JSON", Syntax: true}
	r := newReader(text, strict)
	defer r.close()
	if strict && !utf8.Valid(text) {
		r.refuse("it is not UTF-8")
	}
	if r.dec.PeekKind() != '{' {
		if err := r.dec.SkipValue(); err != nil && !errors.Is(err, jsontext.ErrDuplicateName) {
			return nil, notJSON
		}
		return nil, &Error{Reason: "it is not an object"}
	}
	root, err := r.object(shape)
	d := &Document{text, root, r.values + 1}
	syntax := (*jsontext.SyntacticError)(nil)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		r.refuse("the name " + shown(syntax.JSONPointer.LastToken()) + " stands twice in an object")
		if d, err = read(text, shape, false); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, notJSON
	default:
		if _, more := r.dec.ReadToken(); !errors.Is(more, io.EOF) {
			return nil, notJSON // something follows the object
		}
	}
	if r.why != "" {
		return d, &Error{Reason: r.why}
	}
	return d, nil
}

// Value returns the first value at a path of the shape, nil if there is none. It is part of the text.
func (d *Document) Value(path ...string) json.RawMessage {
	if m := d.find(path); m != nil {
		return json.RawMessage(d.Text[m.at:m.end:m.end])
	}
	return nil
}

func (d *Document) find(path []string) *member {
	if d == nil {
		return nil
	}
	in := d.root
	for depth, name := range path {
		at := slices.IndexFunc(in, func(m member) bool { return m.name == name })
		switch {
		case at < 0:
			return nil
		case depth == len(path)-1:
			return &in[at]
		}
		in = in[at].inner
	}
	return nil
}

// Count returns how many values [Strict] has read at a path of the shape, with all that are in each other, zero if
// there is none. No path is that of the document.
func (d *Document) Count(path ...string) int {
	if len(path) == 0 {
		return d.values
	}
	if m := d.find(path); m != nil {
		return m.values
	}
	return 0
}

// Names returns the names of the members at a path of the shape, in their order; no path is that of the document.
func (d *Document) Names(path ...string) []string {
	in := d.root
	if len(path) > 0 {
		m := d.find(path)
		if m == nil {
			return nil
		}
		in = m.inner
	}
	names := make([]string, 0, len(in))
	for _, m := range in {
		names = append(names, m.name)
	}
	return names
}

// Values returns all values at a path of the shape, in their order. A name may stand more than once in a text
// that [Tolerant] has read, or that [Strict] has refused.
func (d *Document) Values(path ...string) []json.RawMessage {
	in := d.root
	if last := len(path) - 1; last > 0 {
		m := d.find(path[:last])
		if m == nil {
			return nil
		}
		in = m.inner
	}
	var all []json.RawMessage
	for _, m := range in {
		if m.name == path[len(path)-1] {
			all = append(all, json.RawMessage(d.Text[m.at:m.end:m.end]))
		}
	}
	return all
}

// With returns a document with another value at a path of the shape, whose members are not read. The rest
// keeps its bytes. Without such a member it returns the same document.
func (d *Document) With(value []byte, path ...string) *Document {
	m := d.find(path)
	if m == nil {
		return d
	}
	text := make([]byte, 0, len(d.Text)-(m.end-m.at)+len(value))
	text = append(append(append(text, d.Text[:m.at]...), value...), d.Text[m.end:]...)
	return &Document{text, d.root.moved(m.at, m.end, len(value)-(m.end-m.at)), d.values}
}

// moved returns the members when the value from at to end has become longer by so much.
func (o object) moved(at, end, by int) object {
	if o == nil {
		return nil
	}
	all := make(object, len(o))
	for i, m := range o {
		switch {
		case m.at == at:
			m.end, m.inner = m.end+by, nil
		case m.at >= end:
			m.at, m.end, m.inner = m.at+by, m.end+by, m.inner.moved(at, end, by)
		case m.end >= end:
			m.end, m.inner = m.end+by, m.inner.moved(at, end, by)
		}
		all[i] = m
	}
	return all
}

// A Member is one of an object that is written.
type Member struct {
	Name  string
	Value []byte // valid JSON; nil leaves the member out
}

// Written returns an object with these members.
func Written(members ...Member) []byte {
	text := []byte{'{'}
	for _, m := range members {
		if m.Value == nil {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, Quoted(m.Name)...), ':'), m.Value...)
	}
	return append(text, '}')
}

// Compact returns a JSON value without white space between its tokens, whose own bytes stay: raw itself if it has none.
// It returns nil if raw is not JSON.
func Compact(raw []byte) []byte {
	if !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil
	}
	var out []byte
	copied := 0
	for at := 0; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			at += TextEnd(raw[at:]) - 1
		case ' ', '\t', '\r', '\n':
			if out == nil {
				out = make([]byte, 0, len(raw))
			}
			out, copied = append(out, raw[copied:at]...), at+1
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[copied:]...)
}

// Quoted returns a text as JSON. Each byte that is not UTF-8 becomes U+FFFD.
func Quoted(text string) json.RawMessage {
	quoted, _ := jsontext.AppendQuote(nil, text) // the error says that a byte was replaced
	return quoted
}
