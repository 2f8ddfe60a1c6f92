package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// maxValues and maxObjects bound a schema. Each object may be a schema, and each boolean.
	maxValues, maxObjects = 100_000, 10_000
	// maxText bounds the bytes of a schema. maxScanned bounds those of its objects together: each is read again for
	// the one around it.
	maxText, maxScanned = 1 << 20, 16 << 20
)

// Schema is a compiled JSON Schema. What it says never changes, and it may be used
// concurrently.
type Schema struct {
	root     *node
	valid    *jsonschema.Resolved // decides
	names    map[string]bool      // of all properties: they are public
	defaults bool                 // there are some
	size     int
}

// Size returns about how many bytes of memory the Schema takes.
func (s *Schema) Size() int { return s.size }

// Compile makes a Schema of anything that marshals to a JSON Schema of draft 2020-12 or 7: bytes of JSON, a
// map, a bool, a struct. It is of 2020-12 unless "$schema" names draft 7, and of no other. A reference
// begins with '#'. One to an address, and a $dynamicRef, is an error.
//
// A pattern that regexp cannot read, such as one that looks ahead, is not checked. A
// schema that refers to itself for the same value is an error, and so is one that is too
// large: 1 MiB, 10,000 schemas, 200,000 instructions of patterns. The error is for the log:
// it may quote the schema.
func Compile(schema any) (_ *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // an untrusted MarshalJSON, or a schema that the validator did not expect
			err = fmt.Errorf("explain: compiling the schema panicked: %s", safe.Value(p))
		} else if err != nil {
			err = fmt.Errorf("explain: %w", err)
		}
	}()
	text, ok := schema.([]byte)
	switch {
	case schema == nil:
		return nil, errors.New("the schema is nil")
	case !ok:
		if text, err = json.Marshal(schema); err != nil {
			return nil, fmt.Errorf("the schema cannot be marshalled: %w", err)
		}
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(text), maxText)
	}
	d := &document{declared: map[string][]string{}}
	err = d.read(text, maxValues)
	switch {
	case errors.Is(err, errDeep), d.scanned > maxScanned:
		return nil, errors.New("the schema is nested too deeply")
	case errors.Is(err, errSize):
		return nil, fmt.Errorf("the schema has more than %d values", maxValues)
	case err != nil:
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	case d.objects > maxObjects:
		return nil, fmt.Errorf("the schema has more than %d objects and booleans", maxObjects)
	case d.number != nil:
		return nil, errors.New("a number in the schema is out of range")
	}
	s, c := &Schema{names: map[string]bool{}}, compiler{declared: d.declared}
	if s.root, s.valid, err = c.compile(text); err != nil {
		return nil, err
	}
	s.finish(&c)
	return s, nil
}

// finish works out what needs all schemas.
func (s *Schema) finish(c *compiler) {
	const instruction = 2 * 40 // here and in the validator
	s.size = c.bytes + c.patterns*instruction
	for _, n := range c.list {
		n.reaches(n)
		s.size += sizeOfNode + 8*len(n.reach) + 96*len(n.parts) + 64*n.weight
		s.defaults = s.defaults || n.Default != nil
	}
	for _, n := range c.list {
		for _, name := range n.order {
			s.names[name] = true
		}
		n.words()
		n.anyOf, n.oneOf = newFork(n, "anyOf"), newFork(n, "oneOf")
		n.conditions()
	}
}

// sizeOfNode is about what a schema takes here and in the validator.
const sizeOfNode = 2 * int(unsafe.Sizeof(node{})+unsafe.Sizeof(jsonschema.Schema{}))

// reaches finds the schemas that apply with n, n itself first.
func (n *node) reaches(to *node) {
	to.reached = n
	n.reach = append(n.reach, to)
	for _, p := range to.parts {
		if len(n.reach) == maxKnown {
			return
		}
		if p.applies() && p.reached != n {
			n.reaches(p.node)
		}
	}
}

// around returns the schemas and those that apply with them to the same value, each once.
func around(from ...*node) []*node {
	if len(from) == 1 {
		return from[0].reach
	}
	var all []*node
	for _, n := range from {
		for _, n := range n.reach {
			if !slices.Contains(all, n) && len(all) < maxKnown {
				all = append(all, n)
			}
		}
	}
	return all
}

// leaf follows a reference that stands alone.
func (n *node) leaf() *node {
	for range 8 {
		if n.ref == nil || n.types != 0 || n.values != nil {
			break
		}
		n = n.ref
	}
	return n
}

// maxSteps is how deep a place is looked up in the schema.
const maxSteps = 64

// along yields the schemas that apply at each place on the way to one in the arguments, as
// properties and items lead there.
func (s *Schema) along(steps []string) iter.Seq[[]*node] {
	return func(yield func([]*node) bool) {
		here := []*node{s.root}
		for i := 0; yield(here) && i < len(steps); i++ {
			here = inside(here, steps[i])
		}
	}
}

// at returns the schemas that apply at a place.
func (s *Schema) at(steps []string) (here []*node) {
	if len(steps) <= maxSteps {
		for here = range s.along(steps) { //nolint:revive // the last
		}
	}
	return here
}

// inside returns the schemas for a member of what others are for.
func inside(here []*node, step string) []*node {
	var own, rest []*node
	add := func(to *[]*node, n *node) {
		if n != nil && !slices.Contains(*to, n) {
			*to = append(*to, n)
		}
	}
	i, w, unsure := index(step), walk{work: maxExample}, false
	for _, n := range around(here...) {
		add(&own, n.members[step])
		for _, p := range n.patterns {
			switch ok, err := w.named(p.pattern, step); {
			case err != nil: // the match takes too long: the pattern may be for it
				unsure = true
				add(&own, p.node)
			case ok:
				add(&own, p.node)
			}
		}
		switch {
		case i < 0:
		case i < len(n.prefix):
			add(&own, n.prefix[i])
		default:
			add(&own, n.items)
		}
		if n.additional != nil && n.additional.always == nil { // true says nothing, and false forbids the member
			add(&rest, n.additional)
		}
		for _, p := range n.rest {
			if p.inside && p.keyword != "contains" && (i >= 0 || p.keyword == "unevaluatedProperties") {
				add(&rest, p.node)
			}
		}
		if len(own) >= maxKnown {
			break
		}
	}
	if len(own) == 0 || unsure {
		return append(own, rest...)
	}
	return own
}

const maxKnown = 200 // schemas, or names, that are looked at for one place

// known returns the names that an object may have, in the order of the schema.
func known(from []*node) (names []string) {
	for _, n := range around(from...) {
		others := names // one schema has each name once
		for _, name := range n.order {
			if len(names) == maxKnown {
				return names
			}
			if p := n.members[name]; (p.always == nil || *p.always) && !slices.Contains(others, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// required returns the names that an object must have, whatever else it has.
func required(from []*node) (names []string) {
	from = slices.Clip(from)
	for i := 0; i < len(from); i++ { // from grows
		for _, name := range from[i].Required {
			if len(names) == maxKnown {
				return names
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, p := range from[i].parts {
			if len(from) == maxKnown {
				break
			}
			if (p.keyword == "$ref" || p.keyword == "allOf") && !slices.Contains(from, p.node) {
				from = append(from, p.node)
			}
		}
	}
	return names
}
