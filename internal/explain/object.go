package explain

import (
	"cmp"
	"slices"
)

// object checks what a schema says of an object.
func (w *walk) object(n *node, at int32, v *value, m *marks) bool {
	count := int(v.count)
	ok := true
	if n.minProps > count {
		ok = w.fail(finding{rule: "minProperties", n: n, at: at, count: count, names: w.knownTo(n)})
	}
	if n.maxProps >= 0 && count > n.maxProps {
		ok = w.fail(finding{rule: "maxProperties", n: n, at: at, count: count})
	}
	if !ok && w.quiet {
		return false
	}
	if w.quiet {
		return w.members(n, at, v, m)
	}
	return w.explainMembers(n, at, v, m) && ok
}

// members checks the members in the order in which they came.
func (w *walk) members(n *node, at int32, v *value, m *marks) bool {
	got := 0
	i := 0
	for c := at + 1; c < v.next; c = w.doc.values[c].next {
		child := &w.doc.values[c]
		if child.dead {
			continue
		}
		p := n.props[child.name]
		if p != nil && p.required >= 0 {
			got++
		}
		known, ok := w.member(n, p, c)
		if !ok {
			return false
		}
		if known {
			m.mark(i)
		} else if n.additional != nil {
			m.mark(i)
			if !w.descend(n.additional, c) {
				return false
			}
		}
		if n.names != nil && !w.nameFits(n.names, c) {
			return false
		}
		i++
	}
	return got == len(n.required) && w.depends(n, at, v)
}

// member applies what is said of a name, and reports whether anything is.
func (w *walk) member(n *node, p *property, c int32) (known, ok bool) {
	ok = true
	if p != nil && p.node != nil {
		known = true
		top, owner := w.top, w.owner
		w.top, w.owner = p.node, n
		ok = w.visit(p.node, c, nil)
		w.top, w.owner = top, owner
	}
	for i := range n.patterns {
		if !ok && w.quiet {
			return known, false
		}
		pp := &n.patterns[i]
		switch {
		case pp.pattern == nil:
			known = true
		case pp.pattern.MatchString(w.doc.values[c].name):
			known = true
			ok = w.descend(pp.node, c) && ok
		}
	}
	return known, ok
}

// nameFits checks a name, which is no value of the document, as if it were one.
func (w *walk) nameFits(n *node, c int32) bool {
	at := int32(len(w.doc.values)) //nolint:gosec // a message is smaller than 2 GiB
	w.doc.values = append(w.doc.values, value{kind: kindString, text: w.doc.values[c].name, next: at + 1})
	memo := w.memo
	w.memo = nil // the next name comes to the same place
	ok := w.silently(func() bool { return w.visit(n, at, nil) })
	w.doc.values, w.memo = w.doc.values[:at], memo
	return ok
}

// A child is a member with its place among the members.
type child struct {
	at    int32
	i     int
	order int
}

// ordered returns the members in the order of the schema, and then by name.
func (w *walk) ordered(n *node, at int32) []child {
	all := make([]child, 0, w.doc.values[at].count)
	for c := range w.doc.children(at) {
		order := len(n.props)
		if p := n.props[w.doc.values[c].name]; p != nil {
			order = p.order
		}
		all = append(all, child{c, len(all), order})
	}
	slices.SortFunc(all, func(x, y child) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(w.doc.values[x.at].name, w.doc.values[y.at].name))
	})
	return all
}

// explainMembers checks the members in the order of the schema and tells all
// that is wrong: what is missing first.
func (w *walk) explainMembers(n *node, at int32, v *value, m *marks) bool {
	children := w.ordered(n, at)
	missing, unknown := w.strange(n, children)
	var known []string
	var paired []misspelling
	if len(missing) > 0 || len(unknown) > 0 {
		known = w.names(w.top)
		paired = pair(missing, unknown, known)
	}
	ok := true
	for _, name := range missing {
		if !slices.ContainsFunc(paired, func(p misspelling) bool { return p.meant == name }) {
			ok = w.fail(finding{rule: "required", n: n, at: at, name: name, expected: w.expectedOf(n, name)})
		}
	}
	for _, c := range children {
		name := w.doc.values[c.at].name
		if w.misspelled(n, c.at, name, paired) {
			ok = false
			m.mark(c.i)
			continue
		}
		isKnown, fits := w.member(n, n.props[name], c.at)
		ok = ok && fits
		switch {
		case isKnown:
			m.mark(c.i)
		case n.additional == nil:
		case n.additional.always < 0:
			m.mark(c.i)
			ok = w.fail(finding{rule: "additionalProperties", n: n, at: c.at, name: name, names: known})
			continue
		default:
			m.mark(c.i)
			ok = w.descend(n.additional, c.at) && ok
		}
		if n.names != nil && !w.nameFits(n.names, c.at) {
			ok = w.fail(finding{rule: "propertyNames", n: n.names, at: c.at, name: name})
		}
	}
	return w.depends(n, at, v) && ok
}

// depends checks what holds when an object has a name.
func (w *walk) depends(n *node, at int32, v *value) bool {
	ok := true
	for i := range n.dependents {
		d := &n.dependents[i]
		if d.node != nil {
			continue // applies in place: see applied
		}
		if _, has := w.doc.member(at, d.name); !has {
			continue
		}
		w.steps += int(v.count) / 16
		for _, name := range d.required {
			switch _, has := w.doc.member(at, name); {
			case has:
			case w.quiet:
				return false
			default:
				ok = w.fail(finding{rule: d.rule, n: n, at: at, name: name, other: d.name, expected: w.expectedOf(n, name)})
			}
		}
	}
	return ok
}

// unevaluatedMembers checks the members that nothing in place has looked at.
func (w *walk) unevaluatedMembers(n *node, at int32, m *marks) bool {
	ok := true
	if w.quiet {
		i := 0
		for c := range w.doc.children(at) {
			if !m.seen[i] && !w.descend(n.unevaluatedProps, c) {
				return false
			}
			i++
		}
		m.all()
		return true
	}
	known := w.names(w.top)
	for _, c := range w.ordered(n, at) {
		switch {
		case m.seen[c.i]:
		case n.unevaluatedProps.always < 0:
			ok = w.fail(finding{rule: "unevaluatedProperties", n: n, at: c.at, name: w.doc.values[c.at].name, names: known})
		default:
			ok = w.descend(n.unevaluatedProps, c.at) && ok
		}
	}
	m.all()
	return ok
}
