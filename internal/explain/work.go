package explain

import (
	"encoding/json"
	"strings"

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

// work is what a schema counts while it checks the arguments of one call.
type work struct {
	left    int
	deep    int // what one application costs, which a deep place makes dearer
	values  int
	formats bool // are checked also where they are a remark and no rule, as in draft 2020-12
}

func (w *work) spend(units int) {
	if w.left -= units * w.deep; w.left < 0 {
		panic(errWork)
	}
}

// validate checks a value by n within what is left of the work. The calls with one schema take
// turns: each takes microseconds, and what is sent to keep one tool busy keeps one core busy.
func (r *report) validate(n *node, d *document, formats bool) (err error) {
	s := r.schema
	s.mu.Lock()
	s.work = work{r.work, 1 + d.depth/64, d.values, formats}
	defer func() {
		r.work = max(s.left, 0)
		s.mu.Unlock()
		if p := recover(); p == any(errWork) {
			err = errWork
		} else if p != nil {
			panic(p)
		}
	}()
	s.spend(1)
	return n.Validate(d.value)
}

// count makes n count beforehand what it is about to do, so that it can be stopped in the middle,
// and puts our own checks in the place of the library's. The drafts' own schemas, which all
// compilers share, stay as they are. The library checks the format before it goes on to the
// schemas inside.
func (w *work) count(n *node) {
	if foreign(n.Schema) {
		return
	}
	var same, each, drafts int // the units for the value itself, for each value in it
	members := map[string]int{}
	for _, p := range n.parts {
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
		n.Extensions = append(n.Extensions, extension(w.unique))
	}
	if n.PropertyNames != nil {
		n.Extensions = append(n.Extensions, w.naming(n.PropertyNames))
		n.PropertyNames = nil
	}
	texts := len(n.PatternProperties) + boolInt(n.Pattern != nil) + boolInt(n.Format != nil) + len(n.Extensions)
	each += boolInt(n.UnevaluatedItems != nil || n.UnevaluatedProperties != nil)
	format := n.Format
	if format == nil {
		format = &jsonschema.Format{Validate: func(any) error { return nil }}
	}
	n.Format = &jsonschema.Format{Name: format.Name, Validate: func(v any) error {
		units := same + drafts*draftUnits*w.values
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
		if w.spend(units); w.formats || n.DraftVersion < 2019 {
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
