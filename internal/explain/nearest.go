package explain

import "slices"

// none tells why no branch of a choice fits: by the one that was meant, if that
// can be told, otherwise by all that would have been right.
func (w *walk) none(n *node, c *choice, at int32, m *marks) bool {
	if w.quiet {
		return false
	}
	if c.sets != nil && w.doc.values[at].kind == kindObject {
		m.all()
		return w.fail(finding{rule: c.rule, n: n, at: at, choice: c})
	}
	branches := c.branches
	if c.by != "" && w.doc.values[at].kind == kindObject {
		tagged, told := w.tagged(n, c, at)
		if told {
			m.all()
			return false
		}
		branches = tagged
	}
	key := memoKey{n.id, at}
	if told, ok := w.told[key]; ok && m == nil && (n.anyOf == nil || n.oneOf == nil) {
		w.found = append(w.found, told...)
		return false
	}
	before := len(w.found)
	w.nearly(n, c, branches, at, m)
	if m == nil && (n.anyOf == nil || n.oneOf == nil) { // with both, the key would not tell which
		if w.told == nil {
			w.told = map[memoKey][]finding{}
		}
		w.told[key] = slices.Clone(w.found[before:])
	}
	return false
}

// nearly tells what is wrong by the nearest form, or which forms there are.
func (w *walk) nearly(n *node, c *choice, branches []*node, at int32, m *marks) {
	best, marked := w.nearest(c, branches, at, m)
	if best == nil {
		m.all()
		w.fail(finding{rule: c.rule, n: n, at: at, choice: c})
		return
	}
	w.found = append(w.found, best...)
	m.add(marked)
}

// tagged returns the branches whose tag the object has. It tells of a tag that
// none has.
func (w *walk) tagged(n *node, c *choice, at int32) (branches []*node, told bool) {
	tag, has := w.doc.member(at, c.by)
	var all []literal
	for i, sub := range c.branches {
		if has && w.oneOf(c.tags[i], tag) {
			branches = append(branches, sub)
		}
		for _, l := range c.tags[i] {
			if !slices.ContainsFunc(all, func(o literal) bool { return o.raw == l.raw }) {
				all = append(all, l)
			}
		}
	}
	switch {
	case branches != nil:
		return branches, false
	case has:
		owner := w.owner
		w.owner = nil // of the choice, and not of its tag
		w.fail(finding{rule: "enum", n: &node{enum: all}, at: tag})
		w.owner = owner
		return nil, true
	case slices.ContainsFunc(c.branches, func(n *node) bool { return !n.requires(c.by) }):
		return c.branches, false
	default:
		w.fail(finding{rule: "required", n: n, at: at, name: c.by, expected: (&node{enum: all}).expected()})
		return nil, true
	}
}

// nearest returns what is wrong by the branch with the fewest faults. It returns
// nil when the value is of a kind that no branch is for, and when two branches
// that can be told in words are as near as each other.
func (w *walk) nearest(c *choice, branches []*node, at int32, m *marks) (best []finding, marked *marks) {
	least, tied := 0, false
	var tie *node
	found, without := w.found, w.without
	for _, sub := range branches {
		w.found, w.without = nil, append(slices.Clip(without), c.others(sub)...)
		own := m.fresh()
		w.visit(sub, at, own)
		cost := 0
		for i := range w.found {
			cost += w.found[i].cost(at)
		}
		if cost == 0 || cost >= misfit {
			continue
		}
		cost = 2*cost + w.foreign(sub, at)
		switch {
		case best == nil || cost < least:
			best, least, marked, tie = w.found, cost, own, sub
			tied = false
		case cost == least && tie.phrase(maxLook) != sub.phrase(maxLook):
			tied = tied || !slices.ContainsFunc(w.found, func(f finding) bool { return f.at != at })
		}
	}
	w.found, w.without = found, without
	if tied && c.phrase(maxLook) != "" {
		return nil, nil
	}
	return best, marked
}

// others returns the branches but one.
func (c *choice) others(but *node) []*node {
	return slices.DeleteFunc(slices.Clone(c.branches), func(n *node) bool { return n == but })
}

// foreign counts the names that a form does not know.
func (w *walk) foreign(n *node, at int32) (count int) {
	if w.doc.values[at].kind != kindObject {
		return 0
	}
	known := w.names(n)
	for c := range w.doc.children(at) {
		if !slices.Contains(known, w.doc.values[c].name) {
			count++
		}
		if count > maxKnown {
			break
		}
	}
	return count
}

// misfit is the cost of a value that is not of the kind that a branch is for.
const misfit = 1 << 20

// cost measures how far a finding is from right.
func (f *finding) cost(at int32) int {
	switch f.rule {
	case "type", "const", "enum", "format", "false":
		if f.at == at {
			return misfit
		}
		return 3
	case "required", "additionalProperties", "unevaluatedProperties":
		return 2
	default:
		return 1
	}
}
