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
)

var errWork = errors.New("they are too complex")

// A counted schema counts what the library does with it, and stops it in the middle. It
// counts for one call at a time.
type counted struct {
	mu   sync.Mutex
	root *jsonschema.Schema
	left int
	deep int // what one application costs, which a deep place makes dearer
}

// validate checks a value within what is left of the work. Where the schema itself bounds
// the work it is not counted, but what it may be is taken off.
func (s *Schema) validate(d *document, strict bool, left *int) (err error) {
	root, c := s.root, &s.counted[0]
	if strict {
		root, c = s.strict, &s.counted[1]
	}
	bound := d.values
	if s.texts {
		bound += d.size / 8
	}
	if bound *= s.weight * (1 + d.depth/64); s.weight > 0 && bound <= *left/3 {
		*left -= bound
		return root.Validate(d.value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root == nil {
		roots, err := s.compile(strict)
		if err != nil {
			return err // cannot be: it was compiled before
		}
		done := map[*jsonschema.Schema]bool{}
		for _, root := range roots {
			c.count(root, done)
		}
		c.root = roots[0]
	}
	c.left, c.deep = *left, 1+d.depth/64
	defer func() {
		*left = c.left
		if p := recover(); p == any(errWork) {
			err = errWork
		} else if p != nil {
			panic(p)
		}
	}()
	c.spend(1)
	return c.root.Validate(d.value)
}

func (c *counted) spend(units int) {
	if c.left -= units * c.deep; c.left < 0 {
		c.left = 0 // it is not done
		panic(errWork)
	}
}

// count makes n, and all in it, count beforehand what they are about to do. The library
// checks the format before it goes on to the schemas inside.
func (c *counted) count(n *jsonschema.Schema, done map[*jsonschema.Schema]bool) {
	if done[n] || foreign(n) {
		return
	}
	done[n] = true
	var same, names, items, drafts int
	members := map[string]int{}
	each(n, func(keyword, name string, sub *jsonschema.Schema, inside bool) {
		c.count(sub, done)
		switch units := units(sub); {
		case foreign(sub):
			drafts++
		case !inside:
			same += units
		case keyword == "properties":
			members[name] = units
		case keyword == "prefixItems" || keyword == "items" || keyword == "unevaluatedItems" || keyword == "contains":
			items += units
		default:
			names += units
		}
	})
	texts := texts(n)
	format := jsonschema.Format{Validate: func(any) error { return nil }}
	if n.Format != nil {
		format = *n.Format
	}
	check, rest := format.Validate, n.UnevaluatedItems != nil || n.UnevaluatedProperties != nil
	format.Validate = func(v any) error {
		units := same
		switch v := v.(type) {
		case map[string]any:
			for name := range v {
				units += members[name] + names + len(name)*len(n.PatternProperties)/8
			}
			units += boolInt(rest)*len(v) + len(v)/8 // the library looks at each name
		case []any:
			units += len(v) * (items + boolInt(rest))
		case string:
			units += len(v)/64 + len(v)*texts/8
		}
		if drafts > 0 {
			units += drafts * draftUnits * size(v)
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

// draftUnits is what a draft's own schema costs for one value.
const draftUnits = 50

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

// size counts the values in v.
func size(v any) int {
	sum := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			sum += size(member)
		}
	case []any:
		for _, item := range v {
			sum += size(item)
		}
	}
	return sum
}
