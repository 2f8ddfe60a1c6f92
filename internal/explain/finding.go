package explain

import (
	"cmp"
	"slices"
	"strings"
)

// A finding is one thing that is wrong.
type finding struct {
	rule     string
	at       []string // to the value, or to the name that is missing or unknown
	n        *node
	when     []string // the conditions that it depends on
	expected string   // in the place of the words of n
	count    int      // how many items are right
	forms    []*node  // of a choice
	both     []int    // the forms that fit both, or the items that are alike
	unsure   bool     // another form may have been meant
	unknown  bool     // only the validator found it
}

// missing reports whether the finding is about a name that was not sent.
func (f *finding) missing() bool { return f.rule == "required" }

func (f *finding) parent() []string { return f.at[:len(f.at)-1] }

// byPlace orders findings by the alphabet of names. The outer one comes before the inner one, and one without
// conditions before one with conditions.
func byPlace(a, b finding) int {
	return cmp.Or(slices.CompareFunc(a.at, b.at, byStep), cmp.Compare(len(a.when), len(b.when)), cmp.Compare(a.rule, b.rule), cmp.Compare(a.n.pointer, b.n.pointer))
}

// byStep orders indexes as numbers, before names.
func byStep(a, b string) int {
	i, j := index(a), index(b)
	return cmp.Or(boolInt(i < 0)-boolInt(j < 0), cmp.Compare(i, j), strings.Compare(a, b))
}

// spend takes units off the work for notes and sentences. It reports whether there is nothing left.
func (r *report) spend(units int) bool {
	r.left -= units
	r.More = r.More || r.left < 0
	return r.left < 0
}

// conditions words when a schema applies: the innermost if, then and else around it.
func (n *node) conditions() []string {
	if n.up == nil || n.when != nil {
		return n.when
	}
	n.when = n.up.conditions()
	if own := n.condition(); own != "" {
		n.when = append(slices.Clone(n.when[max(0, len(n.when)+1-maxBranches):]), own)
	}
	return n.when
}

// condition words when a then or an else applies, "" for any other schema.
func (n *node) condition() string {
	is, then := " is ", n.as.keyword == "then"
	switch {
	case n.as.keyword == "else":
		is = " is not "
	case !then:
		return ""
	}
	test := n.up.test
	switch {
	case len(test.order) == 0 && len(test.Required) == 1:
		return quoted(test.Required[0]) + is + "sent"
	case len(test.order) != 1 || test.members[test.order[0]].words() == "":
		return ""
	}
	name := test.order[0]
	text := quoted(name) + is + test.members[name].words()
	if then && !slices.Contains(required([]*node{test, n.up}), name) {
		text += " or is not sent"
	}
	return text
}

// A fork is an anyOf or a oneOf.
type fork struct {
	rule     string
	only     bool // one form must fit, and no other
	forms    []*node
	expected string            // the forms in words
	knows    []map[string]bool // the names that each form knows
	tag      string            // the property by whose value the forms differ, "" if there is none
	tags     []*node           // what it is in each form
	tagged   string            // these in words
}

func newFork(n *node, keyword string) *fork {
	f := &fork{rule: keyword, only: keyword == "oneOf"}
	for _, p := range n.parts {
		if p.keyword == keyword {
			knows := map[string]bool{}
			if len(f.forms) < maxKnown {
				for _, name := range known([]*node{p.node}) {
					knows[name] = true
				}
			}
			f.forms, f.knows = append(f.forms, p.node), append(f.knows, knows)
		}
	}
	if f.forms == nil {
		return nil
	}
	f.expected = choice(f.forms)
	if len(f.forms) == 1 {
		return f
	}
	names := f.forms[0].leaf().order
	for _, name := range names[:min(len(names), maxListed)] {
		f.tags = nil
		for _, form := range f.forms {
			if p, ok := form.leaf().members[name]; ok && p.leaf().values != nil {
				f.tags = append(f.tags, p.leaf())
			}
		}
		if len(f.tags) == len(f.forms) {
			f.tag, f.tagged = name, choice(f.tags)
			break
		}
	}
	return f
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// misfits reports whether the value at a place is not of the kind that a form is for.
func (f *finding) misfits(at []string) bool {
	switch f.rule {
	case "type", "const", "enum", "false":
		return len(f.at) == len(at)
	default:
		return false
	}
}

// nearest returns the findings of the form with the fewest faults, if one form stands out. Otherwise it returns
// one finding for the choice as a whole. each has the findings of each form.
func (r *report) nearest(each [][]finding, all finding, f *fork, value any) []finding {
	object, _ := value.(map[string]any)
	if r.spend(len(f.forms) * (1 + len(object)/16)) {
		return []finding{all}
	}
	at := all.at
	var best []finding
	untagged := "enum"
	least, ties, picked, likely, open, tag := 1<<20, 0, 0, 0, 0, append(slices.Clip(at), f.tag)
	for i, found := range each {
		open += boolInt(!slices.Equal(f.forms[i].leaf().kinds(), []string{"null"}))
		if j := slices.IndexFunc(found, func(g finding) bool { return f.tag != "" && slices.Equal(g.at, tag) }); j >= 0 {
			if found[j].rule == "required" { // the tag is not that of this form
				untagged = "required"
			}
			continue
		}
		picked++
		misfits := slices.ContainsFunc(found, func(f finding) bool { return f.misfits(at) })
		likely += boolInt(!misfits)
		if len(found) == 0 || misfits {
			continue
		}
		cost := 2 * len(found)
		for name := range object {
			cost += boolInt(!f.knows[i][name])
		}
		if cost == least {
			ties++
		} else if cost < least {
			best, least, ties = found, cost, 0
		}
	}
	if picked == 0 {
		all.rule, all.at, all.forms, all.expected = untagged, tag, f.tags, f.tagged
		return []finding{all}
	}
	whole := !slices.ContainsFunc(best, func(f finding) bool { // about the value itself, or what it has not
		return len(f.at) != len(at) && (len(f.at) != len(at)+1 || !f.missing())
	})
	if best == nil || whole && f.expected != "" && (ties > 0 || open > 1 && !isContainer(value)) {
		return []finding{all}
	}
	for i := range best {
		best[i].unsure = best[i].unsure || likely > 1
	}
	return best
}
