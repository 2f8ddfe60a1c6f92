package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// maxValues and maxObjects bound a schema. Each object may be a schema.
	maxValues, maxObjects = 100_000, 10_000
	// place is the address of a schema that does not name itself.
	place = "https://schema.invalid/arguments"
	// maxText bounds the bytes of a schema, maxPlaces those of the JSON Pointers to its schemas: where it is
	// deep, and has long names, these are many times longer.
	maxText, maxPlaces = 1 << 20, 4 << 20
)

// Schema is a compiled JSON Schema. What it says never changes, and it may be used
// concurrently.
type Schema struct {
	root  *node
	names map[string]bool // of all properties: they are public
	tree  any             // the schema as it was written, nil if it has no defaults
	size  int
}

// Size returns about how many bytes of memory the Schema takes.
func (s *Schema) Size() int { return s.size }

// Compile makes a Schema of anything that marshals to a JSON Schema: bytes of JSON, a
// map, a bool, a struct. The draft is 2020-12 unless "$schema" names another one.
// References lead to places in the schema itself or to the drafts' own schemas: nothing
// is read from a file or a network.
//
// A pattern that regexp cannot read, such as one that looks ahead, is not checked. A
// schema that refers to itself for the same value is an error, and so is one that is too
// large: 1 MiB, 10,000 schemas, 200,000 instructions of patterns. The error is for the log:
// it may quote the schema.
func Compile(schema any) (_ *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // an untrusted MarshalJSON, or a schema that the library did not expect
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
	d := &document{declared: map[uintptr][]string{}}
	err = d.read(text, 2*maxValues)
	switch {
	case errors.Is(err, errDeep):
		return nil, errors.New("the schema is nested too deeply")
	case err != nil:
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	case d.objects > maxObjects:
		return nil, fmt.Errorf("the schema has more than %d objects", maxObjects)
	case d.values > maxValues:
		return nil, fmt.Errorf("the schema has %d values, more than %d", d.values, maxValues)
	case d.number != nil:
		return nil, errors.New("a number in the schema is out of range")
	}
	s := &Schema{names: map[string]bool{}}
	if _, found := filled(nil, d.value); found {
		s.tree = d.value
	}
	c := compiler{tree: d.value, declared: d.declared}
	if s.root, err = c.compile(); err != nil {
		return nil, err
	}
	if err := s.finish(&c); err != nil {
		return nil, err
	}
	const word = 8
	s.size = len(text) + c.places + c.patterns*40 // of an instruction, as syntax.Inst is
	for _, n := range c.list {
		s.size += int(unsafe.Sizeof(*n)) + word*(len(n.reach)+len(n.when)) + len(n.parts)*int(unsafe.Sizeof(part{}))
	}
	return s, nil
}

// finish works out what needs all schemas.
func (s *Schema) finish(c *compiler) error {
	nodes := c.list
	for _, n := range nodes {
		if !n.ends() {
			return errors.New("the schema refers to itself for the same value, which says nothing: #" + n.pointer)
		}
	}
	c.dynamicParts()
	hide(c.list)
	for _, n := range nodes {
		n.reaches(n)
	}
	for _, n := range nodes {
		for _, name := range n.order {
			s.names[name] = true
		}
		n.words()
		n.anyOf, n.oneOf = newFork(n, "anyOf"), newFork(n, "oneOf")
		n.conditions()
	}
	return nil
}

// hide finds the schemas with which one applies that hides a value.
func hide(nodes []*node) {
	with := map[*node][]*node{} // the schemas of which one is a part
	var open []*node
	for _, n := range nodes {
		for _, p := range n.parts {
			if p.applies() {
				with[p.node] = append(with[p.node], n)
			}
		}
		if n.writeOnly || n.format != nil && n.format.name == "password" {
			open = append(open, n)
		}
	}
	for len(open) > 0 {
		n := last(open)
		open = open[:len(open)-1]
		if !n.hidden {
			n.hidden = true
			open = append(open, with[n]...)
		}
	}
}

// applies reports whether a part says something of the value that the whole is for.
func (p *part) applies() bool { return !p.inside && p.keyword != "if" && p.keyword != "not" }

// ends reports whether n leads to itself for the same value in no way.
func (n *node) ends() bool {
	const entered, left = 1, 2
	if n.state == 0 {
		n.state = entered
		for _, p := range n.parts {
			if !p.inside && !p.ends() {
				return false
			}
		}
		n.state = left
	}
	return n.state == left
}

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
		if n.ref == nil || n.types != 0 || n.literals() != nil {
			break
		}
		n = n.ref
	}
	return n
}

// maxSteps is how deep what is told of a value takes the schema into account.
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
			case err != nil: // nobody knows
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
		if n.additional != nil && n.additional.always == nil { // true says nothing, and false is no schema for a member
			add(&rest, n.additional)
		}
		add(&rest, n.unseen)
		if i >= 0 {
			add(&rest, n.unseenItems)
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
		for _, name := range from[i].required {
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
