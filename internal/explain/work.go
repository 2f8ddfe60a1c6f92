package explain

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxWork bounds what one report costs, in units of about half a microsecond: to
	// apply one schema to one value is one. The library does not stop by itself, and
	// where a recursive schema has a choice it doubles its work with every level of
	// the arguments.
	maxWork = 40_000
	// maxTold bounds the work of wording what the library found.
	maxTold = 10_000
	// draftUnits is what a draft's own schema costs for one value.
	draftUnits = 50
)

var errWork = errors.New("they are too complex")

// A check has the schema as the library applies it, and once more as it counts what the
// library does with it and stops it in the middle. It counts for one call at a time.
type check struct {
	root    *jsonschema.Schema
	mu      sync.Mutex
	counted *jsonschema.Schema // nil until the work has to be counted
	left    int
	deep    int // what one application costs, which a deep place makes dearer
	values  int
}

// validate checks a value within what is left of the work. Where the schema itself bounds
// the work it is not counted, but what it may be is taken off.
func (s *Schema) validate(d *document, formats bool, left *int) (err error) {
	c := &s.checks[boolInt(formats)]
	deep := 1 + d.depth/64
	bound := d.values
	if s.texts {
		bound += d.size / 8
	}
	if bound *= s.root.weight * deep; s.root.weight <= maxWork && bound <= *left/3 {
		*left -= bound
		return c.root.Validate(d.value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counted == nil {
		roots, err := s.compile(formats)
		if err != nil {
			return err // cannot be: it was compiled before
		}
		done := map[*jsonschema.Schema]bool{}
		for _, root := range roots {
			c.count(root, done)
		}
		c.counted = roots[0]
	}
	c.left, c.deep, c.values = *left, deep, d.values
	defer func() {
		*left = max(c.left, 0)
		if p := recover(); p == any(errWork) {
			err = errWork
		} else if p != nil {
			panic(p)
		}
	}()
	c.spend(1)
	return c.counted.Validate(d.value)
}

func (c *check) spend(units int) {
	if c.left -= units * c.deep; c.left < 0 {
		panic(errWork)
	}
}

// count makes n, and all in it, count beforehand what they are about to do. The library
// checks the format before it goes on to the schemas inside.
func (c *check) count(n *jsonschema.Schema, done map[*jsonschema.Schema]bool) {
	if done[n] || foreign(n) {
		return
	}
	done[n] = true
	var value, names, items, drafts int // the units for the value itself, for each name, for each item
	members := map[string]int{}
	for _, p := range partsOf(n) {
		c.count(p.Schema, done)
		switch units := units(p.Schema); {
		case foreign(p.Schema):
			drafts++
		case !p.inside:
			value += units
		case p.keyword == "properties":
			members[p.name] = units
		case p.keyword == "prefixItems", p.keyword == "items", p.keyword == "unevaluatedItems", p.keyword == "contains":
			items += units
		default:
			names += units
		}
	}
	texts, rest := texts(n), boolInt(n.UnevaluatedItems != nil || n.UnevaluatedProperties != nil)
	format := jsonschema.Format{Validate: func(any) error { return nil }}
	if n.Format != nil {
		format = *n.Format
	}
	check := format.Validate
	format.Validate = func(v any) error {
		units := value + drafts*draftUnits*c.values
		switch v := v.(type) {
		case map[string]any:
			units += rest*len(v) + len(v)/8 // the library looks at each name
			for name := range v {
				units += members[name] + names + len(name)*len(n.PatternProperties)/8
			}
		case []any:
			units += len(v) * (items + rest)
		case string:
			units += len(v)/64 + len(v)*texts/8
		}
		c.spend(units)
		return check(v)
	}
	n.Format = &format
	for i, ext := range n.Extensions {
		if _, ok := ext.(unique); ok {
			n.Extensions[i] = unique{c}
		}
	}
}

// foreign reports whether n is a draft's own schema, which all compilers share.
func foreign(n *jsonschema.Schema) bool { return strings.Contains(n.Location, "://json-schema.org/") }

// units returns what it costs to apply n to a value, without what is in it.
func units(n *jsonschema.Schema) int {
	sum := 1 + boolInt(n.Types != nil && strings.Contains(n.Types.String(), "integer") || n.Minimum != nil || n.Maximum != nil || n.MultipleOf != nil)
	values := (&node{Schema: n}).literals()
	for _, v := range values[:min(len(values), maxWork)] {
		switch v.(type) {
		case json.Number, map[string]any, []any:
			sum++
		}
	}
	return sum + len(values)/16
}

// texts counts what looks at every character of a text.
func texts(n *jsonschema.Schema) int {
	return len(n.PatternProperties) + boolInt(n.Pattern != nil) + boolInt(n.Format != nil) + len(n.Extensions)
}

// weigh counts the units for one value at most, with those for the values inside. More than
// maxWork means that there is no bound, because the schema is recursive.
func (n *node) weigh() int {
	if n.weight == 0 {
		n.weight = maxWork + 1 // for whatever leads back to it
		sum := units(n.Schema) + 2*texts(n.Schema)
		if foreign(n.Schema) || n.RecursiveRef != nil || n.DynamicRef != nil {
			sum = n.weight
		}
		for _, p := range n.parts {
			sum = min(sum+p.weigh(), maxWork+1)
		}
		n.weight = sum
	}
	return n.weight
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
