package explain

// applied applies what stands in place: the schemas in n that are for the same
// value.
func (w *walk) applied(n *node, at int32, m *marks) bool {
	ok := true
	if n.ref != nil {
		ok = w.visit(n.ref, at, m)
	}
	if n.dynamic != nil && (ok || !w.quiet) {
		ok = w.visit(w.resolve(n.dynamic), at, m) && ok
	}
	for _, sub := range n.allOf {
		if !ok && w.quiet {
			return false
		}
		ok = w.visit(sub, at, m) && ok
	}
	if n.anyOf != nil && (ok || !w.quiet) {
		ok = w.any(n, at, m) && ok
	}
	if n.oneOf != nil && (ok || !w.quiet) {
		ok = w.one(n, at, m) && ok
	}
	if n.not != nil && (ok || !w.quiet) {
		ok = w.not(n, at) && ok
	}
	if n.condition != nil && (ok || !w.quiet) {
		ok = w.conditional(n, at, m) && ok
	}
	for i := range n.dependents {
		if d := &n.dependents[i]; d.node != nil && (ok || !w.quiet) {
			ok = w.dependent(d, at, m) && ok
		}
	}
	return ok
}

// resolve finds where a reference leads on the way that was taken: to the anchor
// of the outermost resource that has it.
func (w *walk) resolve(d *dynamic) *node {
	if d.anchor != "" {
		for _, resource := range w.scope {
			if n := w.schema.anchors[resource][d.anchor]; n != nil {
				return n
			}
		}
	}
	return d.target
}

// fits tries a schema in silence. It returns what the schema has marked.
func (w *walk) fits(n *node, at int32, m *marks) (*marks, bool) {
	own := m.fresh()
	ok := w.silently(func() bool { return w.visit(n, at, own) })
	return own, ok
}

func (w *walk) any(n *node, at int32, m *marks) bool {
	matched := false
	for _, sub := range n.anyOf.branches {
		if own, ok := w.fits(sub, at, m); ok {
			m.add(own)
			if matched = true; m == nil {
				break // more of them would say nothing new
			}
		}
	}
	return matched || w.none(n, n.anyOf, at, m)
}

func (w *walk) one(n *node, at int32, m *marks) bool {
	matched := none
	for i, sub := range n.oneOf.branches {
		own, ok := w.fits(sub, at, m)
		switch {
		case !ok:
		case w.steps > w.budget:
			return true // nobody knows
		case matched == none:
			matched = i
			m.add(own)
		default:
			return w.fail(finding{rule: "oneOf", n: n, at: at, choice: n.oneOf, pairs: [][2]int{{matched, i}}})
		}
	}
	return matched != none || w.none(n, n.oneOf, at, m)
}

func (w *walk) not(n *node, at int32) bool {
	if _, ok := w.fits(n.not, at, nil); !ok || w.steps > w.budget {
		return true
	}
	return w.fail(finding{rule: "not", n: n, at: at})
}

func (w *walk) conditional(n *node, at int32, m *marks) bool {
	own, ok := w.fits(n.condition, at, m)
	sub, when := n.otherwise, n.onlyUnless
	if ok {
		m.add(own)
		sub, when = n.then, n.onlyWhen
	}
	if sub == nil {
		return true
	}
	if !w.quiet && n.onlyName != "" && when != "" {
		if _, has := w.doc.member(at, n.onlyName); !has {
			if w.top.requires(n.onlyName) {
				return true // that it is missing is told, and the rest depends on it
			}
			when = quoted(schemaName(n.onlyName)) + " is not sent"
		}
	}
	return w.under(when, func() bool { return w.visit(sub, at, m) })
}

func (w *walk) dependent(d *dependent, at int32, m *marks) bool {
	if w.doc.values[at].kind != kindObject {
		return true
	}
	if _, has := w.doc.member(at, d.name); !has {
		return true
	}
	return w.under(quoted(schemaName(d.name))+" is sent", func() bool { return w.visit(d.node, at, m) })
}

// under runs f with a condition that all it finds depends on.
func (w *walk) under(when string, f func() bool) bool {
	if w.quiet || when == "" {
		return f()
	}
	before := w.when
	if w.when = when; before != "" && before != when && len(before)+len(when) < maxCondition {
		w.when = before + " and " + when
	}
	ok := f()
	w.when = before
	return ok
}

// maxCondition is the longest condition that is told.
const maxCondition = 160
