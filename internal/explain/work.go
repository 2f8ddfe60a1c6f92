package explain

import (
	"encoding/json"
	"slices"
	"strconv"
)

const (
	// maxWork bounds what a check may cost: how often a schema is applied to a value.
	// The library does not stop by itself, and where a recursive schema has a choice
	// it doubles its work with every level of the arguments.
	maxWork = 1 << 21
	// baseWork and workPerValue are the bound for small arguments.
	baseWork, workPerValue = 100_000, 8
)

// affordable reports whether the library can check the arguments within the bounds.
func (s *Schema) affordable(d *document) bool {
	limit := min(maxWork, baseWork+workPerValue*d.size)
	if s.weight > 0 && s.weight <= limit/d.size {
		return true
	}
	e := &estimate{schema: s, limit: limit}
	return e.cost(s.nodes[s.root.Location], e.measure(d.value, 1), 1) <= limit
}

// An estimate says beforehand how much work a check is. It remembers what a schema costs
// for a value, so that it does not take as long as the check itself.
type estimate struct {
	schema *Schema
	limit  int
	looked int
}

// A measured is a value with what the schemas for it cost.
type measured struct {
	value any
	size  int
	total int // with all that is inside
	names map[string]*measured
	items []*measured
	costs map[*node]int
}

func (e *estimate) measure(v any, depth int) *measured {
	m := &measured{value: v, size: 1 + depth/8, costs: map[*node]int{}}
	switch v := v.(type) {
	case map[string]any:
		m.names = make(map[string]*measured, len(v))
		for name, member := range v {
			m.names[name] = e.measure(member, depth+1)
			m.total += m.names[name].total
		}
		m.size += len(v) / 4
	case []any:
		m.items = make([]*measured, len(v))
		for i, item := range v {
			m.items[i] = e.measure(item, depth+1)
			m.total += m.items[i].total
		}
		m.size += len(v) / 4
	case string:
		m.size += len(v) / 64
	case json.Number:
		m.size += len(v) / 16
	}
	m.total += m.size
	return m
}

// cost returns how much work it is to check a value, or more than the limit.
func (e *estimate) cost(n *node, m *measured, depth int) int {
	if known, ok := m.costs[n]; ok {
		return known
	}
	if e.looked++; e.looked > 2*e.limit || depth > 8*maxDepth {
		return e.limit + 1
	}
	m.costs[n] = 1 // for a reference that comes back here: the library stops there
	sum := m.size
	if n.Enum != nil {
		sum += len(n.Enum.Values) / 4
	}
	if n.unique {
		sum += m.total
	}
	if n.Types != nil && !slices.ContainsFunc(n.Types.ToStrings(), func(t string) bool { return isType(m.value, t) }) {
		m.costs[n] = sum
		return sum
	}
	add := func(n *node, m *measured) {
		if sum <= e.limit {
			sum += e.cost(n, m, depth+1)
		}
	}
	for _, sub := range n.same {
		add(sub, m)
	}
	for _, sub := range n.inner {
		switch {
		case sum > e.limit:
		case sub.up == n && sub.keyword == "properties":
			if member := m.names[sub.name]; member != nil {
				add(sub, member)
			}
		case sub.up == n && sub.keyword == "prefixItems":
			if i, err := strconv.Atoi(sub.Location[len(parentOf(sub.Location))+1:]); err == nil && i < len(m.items) {
				add(sub, m.items[i])
			}
		default:
			for _, member := range m.names {
				add(sub, member)
			}
			for _, item := range m.items {
				add(sub, item)
			}
		}
	}
	m.costs[n] = min(sum, e.limit+1)
	return m.costs[n]
}
