package explain

// list checks what a schema says of a list.
func (w *walk) list(n *node, at int32, v *value, m *marks) bool {
	count := int(v.count)
	ok := true
	if n.minItems > count {
		ok = w.fail(finding{rule: "minItems", n: n, at: at, count: count})
	}
	if n.maxItems >= 0 && count > n.maxItems {
		ok = w.fail(finding{rule: "maxItems", n: n, at: at, count: count})
	}
	if !ok && w.quiet {
		return false
	}
	if n.prefix != nil || n.items != nil {
		ok = w.items(n, at, v, m) && ok
	}
	if n.unique && count > 1 && (ok || !w.quiet) {
		ok = w.unique(n, at, v) && ok
	}
	if n.contains != nil && (ok || !w.quiet) {
		ok = w.contains(n, at, v, m) && ok
	}
	return ok
}

func (w *walk) items(n *node, at int32, v *value, m *marks) bool {
	if n.items != nil && n.items.always < 0 && int(v.count) > len(n.prefix) && !w.tooMany(n, v) {
		// One thing is wrong, not one for each item too many.
		return w.fail(finding{rule: n.itemsRule, n: n, at: at, count: int(v.count)})
	}
	ok := true
	i := 0
	for c := at + 1; c < v.next; c = w.doc.values[c].next {
		var sub *node
		switch {
		case i < len(n.prefix):
			sub = n.prefix[i]
		case n.items != nil && n.items.always >= 0:
			sub = n.items
		default:
			return ok
		}
		m.mark(i)
		if !w.item(sub, c, v.count) {
			if ok = false; w.quiet {
				return false
			}
		}
		i++
	}
	return ok
}

// item applies a schema to an item. Of a long list most items are right, and
// finding that out is cheaper than looking for what is wrong.
func (w *walk) item(n *node, at, count int32) bool {
	if !w.quiet && count > few && w.silently(func() bool { return w.descend(n, at) }) {
		return true
	}
	return w.descend(n, at)
}

// tooMany reports that maxItems has already told what false items would tell.
func (w *walk) tooMany(n *node, v *value) bool {
	return !w.quiet && n.maxItems >= 0 && int(v.count) > n.maxItems && n.maxItems <= len(n.prefix)
}

// maxPairs is how many pairs of equal items are told.
const maxPairs = 3

func (w *walk) unique(n *node, at int32, v *value) bool {
	var pairs [][2]int
	d := w.doc
	if v.count <= few {
		i := 0
		for c := at + 1; c < v.next; c = d.values[c].next {
			j := i + 1
			for k := d.values[c].next; k < v.next; k = d.values[k].next {
				if equal(d, c, d, k) {
					pairs = append(pairs, [2]int{i, j})
					break
				}
				j++
			}
			i++
		}
	} else {
		type place struct {
			at int32
			i  int
		}
		first := make(map[uint64][]place, v.count)
		i := 0
		for c := at + 1; c < v.next && len(pairs) <= maxPairs; c = d.values[c].next {
			h := d.hash(c)
			same := false
			for _, p := range first[h] {
				if same = equal(d, p.at, d, c); same {
					pairs = append(pairs, [2]int{p.i, i})
					break
				}
			}
			if !same {
				first[h] = append(first[h], place{c, i})
			}
			i++
		}
	}
	w.steps += int(v.count)
	if len(pairs) == 0 {
		return true
	}
	return w.fail(finding{rule: "uniqueItems", n: n, at: at, pairs: pairs})
}

func (w *walk) contains(n *node, at int32, v *value, m *marks) bool {
	matched, i := 0, 0
	for c := at + 1; c < v.next; c = w.doc.values[c].next {
		if w.silently(func() bool { return w.descend(n.contains, c) }) {
			matched++
			if n.draft >= 2020 {
				m.mark(i)
			}
		}
		i++
	}
	switch {
	case w.steps > w.budget:
		return true
	case matched < n.minContains:
		rule := "contains"
		if n.minContains != 1 {
			rule = "minContains"
		}
		return w.fail(finding{rule: rule, n: n, at: at, count: matched})
	case n.maxContains >= 0 && matched > n.maxContains:
		return w.fail(finding{rule: "maxContains", n: n, at: at, count: matched})
	default:
		return true
	}
}

// unevaluated checks the children that nothing in place has looked at.
func (w *walk) unevaluated(n *node, at int32, v *value, m *marks) bool {
	switch {
	case v.kind == kindObject && n.unevaluatedProps != nil:
		return w.unevaluatedMembers(n, at, m)
	case v.kind == kindArray && n.unevaluatedItems != nil:
		return w.unevaluatedTail(n, at, v, m)
	default:
		return true
	}
}

func (w *walk) unevaluatedTail(n *node, at int32, v *value, m *marks) bool {
	ok := true
	i := 0
	for c := at + 1; c < v.next; c = w.doc.values[c].next {
		if seen := m.seen[i]; !seen {
			if n.unevaluatedItems.always < 0 {
				return w.fail(finding{rule: "unevaluatedItems", n: n, at: at, count: i}) // how many come before it
			}
			if !w.descend(n.unevaluatedItems, c) {
				if ok = false; w.quiet {
					return false
				}
			}
		}
		i++
	}
	m.all()
	return ok
}
