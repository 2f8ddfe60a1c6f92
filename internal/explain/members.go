package explain

import (
	"iter"
	"math/bits"
	"slices"
)

// A seen is what schemas have looked at in one value, for unevaluatedProperties and unevaluatedItems.
type seen struct {
	all   bool
	names map[string]bool
	first int // so many items
	items map[int]bool
}

func (s *seen) name(name string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
}

func (s *seen) item(i int) {
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

// add adds what another schema has looked at.
func (s *seen) add(other *seen) {
	s.all, s.first = s.all || other.all, max(s.first, other.first)
	for name := range other.names {
		s.name(name)
	}
	for i := range other.items {
		s.item(i)
	}
}

// missing checks that an object has names.
func (w *walk) missing(n *node, v map[string]any, rule string, names []string, when ...string) bool {
	ok := true
	w.spend(len(names) / 16)
	for _, name := range names {
		if _, sent := v[name]; !sent {
			ok = w.wrong(finding{rule: rule, n: n, when: when}, name)
			if !w.notes() {
				break
			}
		}
	}
	return ok
}

func (w *walk) object(n *node, v map[string]any, out *seen) bool {
	ok := w.within(len(v), n.minProperties, n.maxProperties, n, "minProperties", "maxProperties")
	ok = w.missing(n, v, "required", n.required) && ok
	w.spend(len(n.dependencies) / 8)
	for _, d := range n.dependencies {
		if _, sent := v[d.name]; !sent || !ok && !w.notes() {
			continue
		}
		if d.schema != nil {
			ok = w.same(d.schema, v, out) && ok
		} else {
			ok = w.missing(n, v, d.rule, d.required, quoted(d.name)+" is sent") && ok
		}
	}
	if !ok && !w.notes() || n.members == nil && n.patterns == nil && n.additional == nil && n.names == nil {
		return ok
	}
	if n.additional != nil && out != nil {
		out.all = true
	}
	for name, member := range w.inOrder(v) {
		if ok = w.member(n, name, member, out) && ok; !ok && !w.notes() {
			break
		}
	}
	return ok
}

// inOrder yields the members of an object by the alphabet: what a walk costs, and so what is refused
// for it, is the same each time.
func (w *walk) inOrder(v map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		w.spend(len(v) * bits.Len(uint(len(v))) / 8)
		from := len(w.names)
		for name := range v {
			w.names = append(w.names, name)
		}
		slices.Sort(w.names[from:])
		for i := range len(v) {
			if name := w.names[from+i]; !yield(name, v[name]) {
				break
			}
		}
		w.names = w.names[:from]
	}
}

// member checks one name of an object, and what it stands for.
func (w *walk) member(n *node, name string, v any, out *seen) bool {
	known, ok := false, true
	if of := n.members[name]; of != nil {
		known, ok = true, w.inside(of, v, step{name, -1})
	}
	for _, p := range n.patterns {
		if w.spend(1); w.matches(p.pattern, name) {
			known, ok = true, w.inside(p.node, v, step{name, -1}) && ok
		}
	}
	if more := n.additional; more != nil && !known {
		known, ok = true, w.inside(more, v, step{name, -1}) && ok
	}
	if known && out != nil && n.additional == nil {
		w.spend(1)
		out.name(name)
	}
	if n.names != nil && !w.quiet(n.names, name, nil) {
		ok = w.wrong(finding{rule: "propertyNames", n: n.names}, name)
	}
	return ok
}

func (w *walk) list(n *node, v []any, out *seen) bool {
	ok := w.within(len(v), n.minItems, n.maxItems, n, "minItems", "maxItems")
	if n.unique {
		ok = w.unique(n, v) && ok
	}
	first := min(len(n.prefix), len(v))
	for i, of := range n.prefix[:first] {
		ok = (ok || w.notes()) && w.inside(of, v[i], step{"", i}) && ok
	}
	if n.items != nil {
		for i := first; i < len(v) && (ok || w.notes()); i++ {
			ok = w.inside(n.items, v[i], step{"", i}) && ok
		}
	}
	if out != nil {
		out.first = max(out.first, first)
		out.all = out.all || n.items != nil
	}
	if n.contains != nil && (ok || w.notes()) {
		ok = w.contain(n, v, out) && ok
	}
	return ok
}

// unique checks that no item is there twice.
func (w *walk) unique(n *node, v []any) bool {
	if len(v) < 2 {
		return true
	}
	known := make(map[string]int, len(v))
	for i, item := range v {
		w.key = appendKey(w.key[:0], item)
		w.spend(1 + len(w.key)/16)
		first, twice := known[string(w.key)]
		if !twice {
			known[string(w.key)] = i
			continue
		}
		if !w.notes() {
			return false
		}
		return w.wrong(finding{rule: "uniqueItems", n: n, expected: "a list without repeated items", both: []int{first, i}})
	}
	return true
}

func (w *walk) contain(n *node, v []any, out *seen) bool {
	some, ok := 0, true
	for i, item := range v {
		if w.quiet(n.contains, item, nil) {
			if some++; out != nil && n.draft >= 2020 {
				out.item(i)
			}
		}
	}
	rule, least := "contains", 1
	if n.minContains != nil {
		rule, least = "minContains", *n.minContains
	}
	if some < least {
		ok = w.wrong(n.few(rule, some))
	}
	if n.maxContains != nil && some > *n.maxContains {
		ok = w.wrong(n.few("maxContains", some))
	}
	return ok
}

// rest applies a schema to what no other one has looked at.
func (w *walk) rest(n *node, v any, by *seen) bool {
	ok := true
	if by.all {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range w.inOrder(v) {
			if !by.names[name] {
				if ok = w.inside(n.unseen, member, step{name, -1}) && ok; !ok && !w.notes() {
					break
				}
			}
		}
	case []any:
		for i := by.first; i < len(v); i++ {
			if !by.items[i] {
				if ok = w.inside(n.unseenItems, v[i], step{"", i}) && ok; !ok && !w.notes() {
					return false
				}
			}
		}
	}
	return ok
}
