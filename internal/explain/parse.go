package explain

import (
	"bytes"
)

const (
	// maxDepth is how deeply JSON may be nested: what the SDK accepts of a message.
	maxDepth = 1000
	// maxParsed bounds the memory for one text: so many values of 48 bytes each.
	maxParsed = 1 << 21
)

type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
	kindInteger // never the kind of a value: a bit of the types of a schema
)

// A doc is a JSON value, flat: the children of a value follow it, each after all
// that is in the one before. One slice holds it, whatever its size.
type doc struct {
	values []value
	notes  []note
	open   []int32 // the containers that have not ended yet
}

type value struct {
	text  string // of a string its runes, of a number and a boolean what was written
	name  string // of a member
	next  int32  // where the value ends: the index of the one after it and all that is in it
	count int32  // of children that are not dead
	kind  kind
	dead  bool // a member whose name comes again: the last one counts
}

// A note is what the parser has to tell beside the syntax.
type note struct {
	at   int32
	rule string
}

const (
	ruleJSON      = "json"
	ruleDuplicate = "duplicate"
	ruleUTF8      = "utf8"
	ruleDepth     = "depth"
	ruleBudget    = "budget"
)

// A syntaxError says what is wrong with a JSON text and where.
type syntaxError struct {
	rule   string
	what   string // "a comma is missing after the value of 'quantity'"
	offset int    // of the byte, from 0
	at     int32  // the value it happened in, -1 for none
}

type parser struct {
	text string
	pos  int
	doc  *doc
	at   int32 // the last value that was begun
}

// parse reads one JSON text. Numbers stay as they are written, of names that
// come twice the last one counts, and broken UTF-8 is replaced; both are noted.
func parse(text string) (*doc, *syntaxError) {
	p := parser{text: text, doc: &doc{values: make([]value, 0, min(4+len(text)/12, 1024))}, at: none}
	p.space()
	if err := p.value(""); err != nil {
		return p.doc, err
	}
	p.space()
	if p.pos < len(p.text) {
		p.at = none
		return p.doc, p.fail("something follows after the end")
	}
	return p.doc, nil
}

func (p *parser) fail(what string) *syntaxError {
	return &syntaxError{rule: ruleJSON, what: what, offset: p.pos, at: p.at}
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) value(name string) *syntaxError {
	if len(p.doc.values) == maxParsed {
		return &syntaxError{rule: ruleBudget, offset: p.pos, at: none}
	}
	at := int32(len(p.doc.values)) //nolint:gosec // a message is smaller than 2 GiB
	p.doc.values = append(p.doc.values, value{name: name, next: at + 1})
	p.at = at
	v := &p.doc.values[at]
	switch c := p.peek(); {
	case c == '{':
		return p.container(at, kindObject)
	case c == '[':
		return p.container(at, kindArray)
	case c == '"':
		text, err := p.str(at)
		v.kind, v.text = kindString, text
		return err
	case c == '-' || '0' <= c && c <= '9':
		text, err := p.number()
		v.kind, v.text = kindNumber, text
		return err
	case p.literal("true"), p.literal("false"):
		v.kind, v.text = kindBoolean, "true"
		if c == 'f' {
			v.text = "false"
		}
		return nil
	case p.literal("null"):
		v.kind = kindNull
		return nil
	default:
		start := p.pos
		what := p.unknown()
		p.pos = start
		return p.fail(what)
	}
}

func (p *parser) container(at int32, k kind) *syntaxError {
	if p.doc.open = append(p.doc.open, at); len(p.doc.open) > maxDepth {
		return &syntaxError{rule: ruleDepth, offset: p.pos, at: none}
	}
	p.pos++
	p.doc.values[at].kind = k
	end := byte('}')
	if k == kindArray {
		end = ']'
	}
	count := int32(0)
	for p.space(); p.peek() != end; {
		name, err := p.member(at, k)
		if err != nil {
			return err
		}
		if err := p.value(name); err != nil {
			return err
		}
		count++
		p.space()
		if more, err := p.comma(at, end); err != nil {
			return err
		} else if !more {
			break
		}
	}
	p.pos++
	p.doc.open = p.doc.open[:len(p.doc.open)-1]
	p.doc.values[at].count = count
	p.doc.values[at].next = int32(len(p.doc.values)) //nolint:gosec // as above
	if k == kindObject && count > 1 {
		p.duplicates(at)
	}
	return nil
}

// member reads the name of an object's member and the colon.
func (p *parser) member(at int32, k kind) (string, *syntaxError) {
	if k == kindArray {
		return "", nil
	}
	p.at = at
	switch c := p.peek(); {
	case p.pos >= len(p.text):
		return "", p.fail("the text ends in the middle of an object")
	case c == '/' || c == '#':
		return "", p.fail("comments are not allowed")
	case c == ',':
		return "", p.fail("there is a comma too many")
	case c != '"':
		return "", p.fail("names must be in double quotes")
	}
	name, err := p.str(int32(len(p.doc.values))) //nolint:gosec // as above
	if err != nil {
		return "", err
	}
	p.space()
	if p.peek() != ':' {
		return "", p.fail("a colon is missing after the name " + quoted(strangerName(name)))
	}
	p.pos++
	p.space()
	return name, nil
}

// comma reads what follows a value in a container, and reports whether another
// one comes.
func (p *parser) comma(at int32, end byte) (bool, *syntaxError) {
	c := p.peek()
	switch {
	case p.pos >= len(p.text):
		p.at = at
		if end == '}' {
			return false, p.fail("the text ends in the middle of an object")
		}
		return false, p.fail("the text ends in the middle of a list")
	case c == end:
		return false, nil
	case c != ',':
		return false, p.fail("a comma or '" + string(rune(end)) + "' is missing")
	}
	comma := p.pos
	p.pos++
	if p.space(); p.peek() == end {
		p.pos = comma
		return false, p.fail("there is a comma too many before '" + string(rune(end)) + "'")
	}
	return true, nil
}

// blank reports whether a text has nothing but white space.
func blank(text []byte) bool { return len(bytes.TrimLeft(text, " \t\r\n")) == 0 }
