package explain

import (
	"slices"

	"github.com/mcpchain/mcpchain/internal/near"
)

// A misspelling is an unknown name that stands for one the schema knows.
type misspelling struct{ sent, meant string }

// strange returns the required names that are missing, and the names that the
// schema does not know.
func (w *walk) strange(n *node, children []child) (missing, unknown []string) {
	has := make([]bool, len(n.required))
	for _, c := range children {
		name := w.doc.values[c.at].name
		p := n.props[name]
		if p != nil && p.required >= 0 {
			has[p.required] = true
		}
		if (p == nil || p.node == nil && p.required < 0) && !matchesAny(n.patterns, name) {
			unknown = append(unknown, name)
		}
	}
	for i, name := range n.required {
		if !has[i] {
			missing = append(missing, name)
		}
	}
	return missing, unknown
}

func matchesAny(patterns []patternProps, name string) bool {
	return slices.ContainsFunc(patterns, func(p patternProps) bool { return p.pattern == nil || p.pattern.MatchString(name) })
}

// pair finds for each missing name the unknown one that it was probably meant
// by. They are one mistake.
func pair(missing, unknown, known []string) []misspelling {
	var pairs []misspelling
	if len(missing) == 0 || len(unknown) == 0 || len(unknown) > maxUnknown {
		return nil
	}
	free := slices.Clone(unknown)
	for _, meant := range missing {
		for _, sent := range near.Matches(meant, free) {
			if slices.Contains(known, sent) { // a name of another part of the schema
				continue
			}
			if best := near.Matches(sent, missing); len(best) == 0 || best[0] != meant {
				continue
			}
			pairs = append(pairs, misspelling{sent, meant})
			free = slices.DeleteFunc(free, func(s string) bool { return s == sent })
			break
		}
	}
	return pairs
}

const (
	maxUnknown = 100 // names that are compared with what is missing
	maxKnown   = 200 // names that are offered
)

// misspelled tells of an unknown name that was meant for a missing one. Its
// value is checked as that of the name that was meant, so that the next call
// does not fail by it.
func (w *walk) misspelled(n *node, c int32, name string, pairs []misspelling) bool {
	i := slices.IndexFunc(pairs, func(p misspelling) bool { return p.sent == name })
	if i < 0 {
		return false
	}
	meant := pairs[i].meant
	rule := "required"
	if n.additional != nil && n.additional.always < 0 || w.closed(n) {
		rule = "additionalProperties"
	}
	w.fail(finding{rule: rule, n: n, at: c, name: name, other: meant})
	if p := n.props[meant]; p != nil && p.node != nil {
		before := len(w.found)
		w.descend(p.node, c)
		for f := before; f < len(w.found); f++ {
			w.found[f].renamed = append(w.found[f].renamed, renamed{c, meant})
		}
	}
	return true
}

// closed reports that unknown names are refused by what stands around n.
func (w *walk) closed(n *node) bool {
	return n.unevaluatedProps != nil && n.unevaluatedProps.always < 0
}

// knownTo is names for what is told, nil for a walk that tells nothing.
func (w *walk) knownTo(n *node) []string {
	if w.quiet {
		return nil
	}
	return w.names(n)
}

// names returns the names that an object may have, in order: of the schemas that
// apply to it in place as well.
func (w *walk) names(n *node) []string {
	var names []string
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil || seen[n] || len(seen) > maxKnown {
			return
		}
		seen[n] = true
		for _, p := range n.order {
			if len(names) < maxKnown && p.node != nil && p.node.always >= 0 && !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
		for m := range n.inPlace {
			if m != n.not && !slices.Contains(w.without, m) {
				visit(m)
			}
		}
	}
	visit(n)
	return names
}
