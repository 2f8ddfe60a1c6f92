package explain

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

func (m *maker) list(n *node, depth int) string {
	var items []string
	add := func(sub *node) bool {
		text := `"text"`
		if sub != nil {
			text = m.value(sub, len(items), depth-1)
		}
		items = append(items, text)
		return text != ""
	}
	for i := range n.minContains {
		if len(n.prefix) > 0 || i >= maxRepairs || !add(n.contains) {
			break
		}
	}
	for len(items) < min(n.minItems, maxRepairs) {
		sub := n.items
		if len(items) < len(n.prefix) {
			sub = n.prefix[len(items)]
		}
		if !add(sub) {
			return ""
		}
	}
	return "[" + strings.Join(items, ",") + "]"
}

// object makes an object of what n requires, and repairs it until it is valid.
func (m *maker) object(n *node, depth int) string {
	names := n.allRequired()
	var banned []string
	add := func(name string) bool {
		if slices.Contains(names, name) || slices.Contains(banned, name) {
			return false
		}
		names = append(names, name)
		return true
	}
	for range maxRepairs {
		text := m.members(n, names, depth)
		if text == "" {
			return ""
		}
		repaired := false
		for _, f := range m.faults(n, text) {
			switch {
			case f.at == 0 && f.choice != nil && f.choice.sets != nil && len(f.pairs) == 0:
				for _, name := range f.choice.sets[0] {
					repaired = add(name) || repaired
				}
			case f.at == 0 && f.rule == "minProperties":
				i := slices.IndexFunc(n.order, func(p *property) bool { return !slices.Contains(names, p.name) })
				repaired = i >= 0 && add(n.order[i].name) || repaired
			case f.at == 0 && f.name != "": // it is missing
				repaired = add(f.name) || repaired
			case f.rule == "additionalProperties" && slices.Contains(names, f.name):
				names = slices.DeleteFunc(names, func(s string) bool { return s == f.name })
				banned, repaired = append(banned, f.name), true
			}
		}
		if !repaired {
			return text // valid, or not to be repaired
		}
	}
	return ""
}

func (m *maker) members(n *node, names []string, depth int) string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range names {
		sub := (&finding{n: n}).anywhere(name)
		text := m.kept(sub, name, depth)
		switch {
		case text != "":
		case sub == nil:
			text = `"text"`
		default:
			text = m.value(sub, 0, depth-1)
		}
		if text == "" || b.Len() > maxExample {
			return ""
		}
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(&b, name)
		b.WriteByte(':')
		b.WriteString(text)
	}
	b.WriteByte('}')
	return b.String()
}

// anywhere finds the schema of a name also in the forms of a choice.
func (f *finding) anywhere(name string) *node {
	if n := f.property(name); n != nil {
		return n
	}
	seen := map[*node]bool{}
	var find func(n *node) *node
	find = func(n *node) *node {
		if n == nil || seen[n] || len(seen) > maxKnown {
			return nil
		}
		seen[n] = true
		if p := n.props[name]; p != nil && p.node != nil {
			return p.node
		}
		for sub := range n.inPlace {
			if sub == n.not || sub == n.condition {
				continue
			}
			if found := find(sub); found != nil {
				return found
			}
		}
		return nil
	}
	return find(f.n)
}

// kept returns what the caller sent for a name of the whole call, if it is valid
// and may be repeated.
func (m *maker) kept(n *node, name string, depth int) string {
	if m.caller == nil || depth != maxNesting || n == nil || scrub.SecretName(name) {
		return ""
	}
	at, ok := m.caller.doc.member(0, name)
	if !ok {
		return ""
	}
	if m.caller.received(at, m.caller.pathTo(at, nil)).text == "" || n.hidden {
		return ""
	}
	if text := m.caller.doc.literal(at).raw; m.accepts(n, text) {
		return text
	}
	return ""
}
