package jsons

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Clear reports whether raw is one JSON value that every reader takes for the same: it is UTF-8, no object has a
// name twice, and no text has half of a surrogate pair. Names that differ in their case only are clear. It
// allocates nothing if raw is short.
func Clear(raw []byte) bool { return jsontext.Value(raw).IsValid() }

// OnlyHalves reports whether raw is clear but for halves of surrogate pairs. These are legal, and readers differ in what
// they make of them only.
func OnlyHalves(raw []byte) bool {
	return utf8.Valid(raw) && jsontext.Value(raw).IsValid(jsontext.AllowInvalidUTF8(true))
}

// The reasons for which a value is not clear.
const (
	NotJSON   = "json"
	Twice     = "duplicate" // a name stands twice in an object
	NotUTF8   = "utf8"
	Surrogate = "surrogate" // half of a pair
)

// Unclear is the first reason for which a value is not clear.
type Unclear struct {
	Rule string
	At   []string // the place: names and indexes
	list []bool   // of At: it is an index
}

// InList reports whether step i of the place is an index.
func (u *Unclear) InList(i int) bool { return i < len(u.list) && u.list[i] }

// WhyUnclear returns the first reason for which raw is not clear, nil if it is.
func WhyUnclear(raw []byte) *Unclear {
	if Clear(raw) {
		return nil
	}
	u, dec := &Unclear{Rule: NotJSON}, jsontext.NewDecoder(bytes.NewBuffer(raw))
	var err error
	for err == nil {
		_, err = dec.ReadToken()
	}
	syntax := (*jsontext.SyntacticError)(nil)
	if !errors.As(err, &syntax) || !json.Valid(raw) {
		return u
	}
	u.At = slices.Collect(syntax.JSONPointer.Tokens())
	for i := range u.At {
		kind, _ := dec.StackIndex(min(i+1, dec.StackDepth()))
		u.list = append(u.list, kind == '[')
	}
	begin := raw[dec.InputOffset():]
	begin = begin[max(0, bytes.IndexByte(begin, '"')):]
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		u.Rule = Twice
	case utf8.Valid(begin[:TextEnd(begin)]):
		u.Rule = Surrogate
	default:
		u.Rule = NotUTF8
	}
	return u
}

// HasHalf reports whether a text, as it stands in JSON, has half of a surrogate pair.
func HasHalf(text []byte) bool {
	_, err := jsontext.AppendUnquote(nil, text)
	return err != nil && utf8.Valid(text)
}
