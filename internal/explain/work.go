package explain

import (
	"cmp"
	"encoding/json"
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
	// leastChecks is how many calls at least are checked with a schema at the same time.
	leastChecks = 8
)

// A check is the schema as the library applies it, made to count what the library does so
// that it can be stopped in the middle. It serves one call at a time.
type check struct {
	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by location; nil until there is a call to serve
	formats bool                          // is checked also where it is a remark and no rule, as in draft 2020-12
	left    int
	deep    int // what one application costs, which a deep place makes dearer
	values  int
}

// validate checks a value by n within what is left of the work.
func (r *report) validate(n *node, d *document, formats bool) (err error) {
	c := r.schema.take()
	c.left, c.deep, c.values, c.formats = r.work, 1+d.depth/64, d.values, formats
	defer func() {
		r.work = max(c.left, 0)
		c.mu.Unlock()
		if p := recover(); p == any(errWork) {
			err = errWork
		} else if p != nil {
			panic(p)
		}
	}()
	if c.schemas == nil {
		roots, err := r.schema.compile()
		if err != nil {
			return errWork // cannot be: it was compiled before
		}
		c.schemas = map[string]*jsonschema.Schema{}
		for _, root := range roots {
			c.count(root)
		}
	}
	c.spend(1)
	return cmp.Or(c.schemas[n.Location], n.Schema).Validate(d.value)
}

// take returns a check that serves no other call until it is unlocked. Where all serve one it
// waits, because to make one more costs more than most calls. No channel keeps them: one that
// was made within a test of testing/synctest could not be used outside of it.
func (s *Schema) take() *check {
	for i := range s.checks {
		if c := &s.checks[i]; c.mu.TryLock() {
			return c
		}
	}
	c := &s.checks[s.turn.Add(1)%int64(len(s.checks))]
	c.mu.Lock()
	return c
}

func (c *check) spend(units int) {
	if c.left -= units * c.deep; c.left < 0 {
		panic(errWork)
	}
}

// count makes n, and all in it, count beforehand what they are about to do, and puts our
// own checks in the place of the library's. The drafts' own schemas, which all compilers
// share, stay as they are. The library checks the format before it goes on to the schemas
// inside.
func (c *check) count(n *jsonschema.Schema) {
	if c.schemas[n.Location] != nil {
		return
	}
	if c.schemas[n.Location] = n; foreign(n) {
		return
	}
	var same, each, drafts int // the units for the value itself, for each value in it
	members := map[string]int{}
	for _, p := range partsOf(n) {
		c.count(p.Schema)
		switch units := units(p.Schema); {
		case foreign(p.Schema):
			drafts++
		case !p.inside:
			same += units
		case p.keyword == "properties":
			members[p.name] = units
		default:
			each += units
		}
	}
	if n.UniqueItems {
		n.UniqueItems = false
		n.Extensions = append(n.Extensions, extension(c.unique))
	}
	if n.PropertyNames != nil {
		n.Extensions = append(n.Extensions, c.naming(n.PropertyNames))
		n.PropertyNames = nil
	}
	texts := len(n.PatternProperties) + boolInt(n.Pattern != nil) + boolInt(n.Format != nil) + len(n.Extensions)
	each += boolInt(n.UnevaluatedItems != nil || n.UnevaluatedProperties != nil)
	format := n.Format
	if format == nil {
		format = &jsonschema.Format{Validate: func(any) error { return nil }}
	}
	n.Format = &jsonschema.Format{Name: format.Name, Validate: func(v any) error {
		units := same + drafts*draftUnits*c.values
		switch v := v.(type) {
		case map[string]any:
			units += len(v)*each + len(v)/8 // the library looks at each name
			for name := range v {
				units += members[name] + len(name)*len(n.PatternProperties)/8
			}
		case []any:
			units += len(v) * each
		case string:
			units += len(v)/64 + len(v)*texts/8
		}
		if c.spend(units); c.formats || n.DraftVersion < 2019 {
			return format.Validate(v)
		}
		return nil
	}}
}

// foreign reports whether n is a draft's own schema.
func foreign(n *jsonschema.Schema) bool { return strings.Contains(n.Location, "://json-schema.org/") }

// units returns what it costs to apply n to a value, without what is in it.
func units(n *jsonschema.Schema) int {
	sum := 1 + boolInt(n.Types != nil && strings.Contains(n.Types.String(), "integer") || n.Minimum != nil || n.Maximum != nil || n.MultipleOf != nil)
	values := literals(n)
	for _, v := range values[:min(len(values), maxWork)] {
		switch v.(type) {
		case json.Number, map[string]any, []any:
			sum++
		}
	}
	return sum + len(values)/16
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
