package explain

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	maxExample = 1000 // bytes of an example
	maxMade    = 400  // values that are tried for one example
	maxNesting = 6    // levels of an example
	maxRepairs = 12   // names that are added to one object until it is valid
)

// A maker makes values that a schema accepts, the smallest ones it finds.
type maker struct {
	schema *Schema
	caller *renderer // whose valid values are kept; nil for none
	tried  int
}

// example returns a minimal valid call, nil when none was found. It keeps what
// the caller sent where that is valid and may be shown.
func (s *Schema) example(r *renderer, opts *Options) json.RawMessage {
	m := &maker{schema: s}
	if r != nil {
		m.caller = r.inner()
	}
	text := m.value(s.root, 0, maxNesting)
	if text == "" || text[0] != '{' || len(text) > maxExample {
		return nil
	}
	// Formats were taken seriously to find it. That they are not may make it
	// invalid, below a "not".
	if d, broken := parse(text); broken != nil || !s.valid(d, opts) {
		return nil
	}
	return json.RawMessage(text)
}

// inner returns a renderer of the object that was sent, also when it was sent as
// a string, and nil when there is none.
func (r *renderer) inner() *renderer {
	v := &r.doc.values[0]
	if v.kind == kindString && !r.hidden[0] {
		if d, broken := parse(strings.TrimSpace(v.text)); broken == nil && d.notes == nil {
			return (&renderer{doc: d, opts: r.opts, known: r.known}).inner()
		}
	}
	if v.kind != kindObject || v.next < 2 {
		return nil
	}
	return r
}

// accepts reports whether JSON that was made is valid by n.
func (m *maker) accepts(n *node, text string) bool {
	return len(m.faults(n, text)) == 0
}

// faults returns what is wrong with JSON that was made.
func (m *maker) faults(n *node, text string) []finding {
	d, broken := parse(text)
	if broken != nil {
		return []finding{{rule: ruleJSON}}
	}
	w := m.schema.newWalk(d, &Options{AssertFormats: true})
	w.budget = baseSteps / maxMade
	if !w.descend(n, 0) || w.steps > w.budget {
		return append(w.found, finding{rule: ruleBudget})
	}
	return nil
}

// value makes a value for n, "" if it cannot. Another variant gives another
// value, where there is one.
func (m *maker) value(n *node, variant, depth int) string {
	if n.always > 0 {
		return []string{`"text"`, "1", "true"}[variant%3]
	}
	if n.always < 0 || depth == 0 {
		return ""
	}
	made := ""
	m.candidates(n, variant, depth, map[*node]bool{}, func(text string) bool {
		if m.tried++; m.tried > maxMade {
			return true
		}
		if text != "" && len(text) <= maxExample && m.accepts(n, text) {
			made = text
			return true
		}
		return false
	})
	return made
}

// candidates calls try with values that may be valid by n, the best ones first,
// until it returns true. It reports whether it did.
func (m *maker) candidates(n *node, variant, depth int, seen map[*node]bool, try func(string) bool) bool {
	if n == nil || seen[n] || n.always != 0 {
		return false
	}
	seen[n] = true
	if m.stated(n, variant, depth, try) {
		return true
	}
	types := n.types
	if types == 0 {
		types = n.implied()
	}
	for _, k := range kinds {
		if types&k != 0 && m.typed(n, k, variant, depth, try) {
			return true
		}
	}
	for sub := range n.inPlace {
		if sub != n.not && sub != n.condition && m.candidates(sub, variant, depth, seen, try) {
			return true
		}
	}
	return types == 0 && try(`"text"`)
}

// stated tries the values that the schema names itself.
func (m *maker) stated(n *node, variant, depth int, try func(string) bool) bool {
	var values []literal
	if n.constant != nil {
		values = append(values, *n.constant)
	}
	values = append(values, n.enum...)
	if depth < maxNesting || len(values) == 0 { // an example of the whole call is not a minimal one
		values = append(values, n.notes.examples...)
		if n.notes.fallback != nil {
			values = append(values, *n.notes.fallback)
		}
	}
	for i := range values {
		if try(values[(i+variant)%len(values)].raw) {
			return true
		}
	}
	return false
}

// typed tries values of one type.
func (m *maker) typed(n *node, k kind, variant, depth int, try func(string) bool) bool {
	switch k {
	case kindString:
		return slices.ContainsFunc(m.texts(n, variant), try)
	case kindInteger, kindNumber:
		return slices.ContainsFunc(numbers(n, variant), try)
	case kindBoolean:
		return try("true") || try("false")
	case kindArray:
		return try(m.list(n, depth))
	case kindObject:
		return try(m.object(n, depth))
	default:
		return try("null")
	}
}
