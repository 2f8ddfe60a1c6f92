package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpchain/mcpchain/internal/words"
)

// A finding is one thing that is wrong.
type finding struct {
	rule     string
	at       []string // to the value, or to the name that is missing or unknown
	n        *node
	when     []string // the conditions that it depends on
	expected string   // in the place of what n says
	got      string   // in the place of the value
	count    int
	forms    []*node // of a choice
	both     []int   // the forms that fit both
	sets     bool    // the forms differ in the names that they require
	rest     bool    // nothing that was valid has looked at it
	unsure   bool    // another form may have been meant
	order    []byte  // by which findings are sorted

	sent    string // a name that was sent for the last one of at
	field   string // that name, if it is refused, and its pointer
	pointer string
	absent  bool // what was meant is required
}

// missing reports whether the finding is about a name that was not sent, by any spelling.
func (f *finding) missing() bool {
	switch f.rule {
	case "required", "dependentRequired", "dependencies":
		return f.sent == ""
	default:
		return false
	}
}

func (f *finding) parent() []string { return f.at[:len(f.at)-1] }

// byLength orders indexes as numbers.
func byLength(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

var unheardOf = &node{Schema: &jsonschema.Schema{}, anyOf: &fork{}, oneOf: &fork{}, phrase: new(string)}

// collect flattens the tree of errors, in the same order each time. Where there are too
// many it stops. The places in e begin with the one of the error around it.
func (r *report) collect(e *jsonschema.ValidationError, from finding) (found []finding) {
	n, at := r.schema.nodes[e.SchemaURL], e.InstanceLocation
	if n == nil {
		n = unheardOf
	}
	own, moot := r.conditions(n, from.n, at)
	if moot || r.spend(1+len(at)/16) {
		return nil // that what it depends on is missing is told
	}
	one := finding{at: at, n: n, when: slices.Concat(from.when, own), rule: strings.Join(e.ErrorKind.KeywordPath(), "/")}
	named := func(rule string, names []string, when ...string) []finding {
		for i, name := range names {
			if r.spend(1 + len(at)/16) {
				break
			}
			f := one
			f.rule, f.at, f.when, f.count = rule, append(slices.Clip(at), name), slices.Concat(when, one.when), i
			found = append(found, f)
		}
		return found
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range r.inOrder(e.Causes, len(from.at)) {
			found = append(found, r.collect(cause, one)...)
		}
		return found
	case *kind.AnyOf:
		return r.nearest(e, one, n.anyOf)
	case *kind.OneOf:
		if len(k.Subschemas) < 2 {
			return r.nearest(e, one, n.oneOf)
		}
		one.forms, one.both, one.sets = n.oneOf.forms, k.Subschemas, n.oneOf.sets
	case *kind.Required:
		return named("required", k.Missing)
	case *kind.DependentRequired:
		return named("dependentRequired", k.Missing, quoted(k.Prop)+" is sent")
	case *kind.Dependency:
		return named("dependencies", k.Missing, quoted(k.Prop)+" is sent")
	case *kind.AdditionalProperties:
		return named("additionalProperties", first(k.Properties, &r.More, byLength))
	case misnamed:
		one.n = n.part("propertyNames")
		return named("propertyNames", first(k.names, &r.More, byLength))
	case *kind.FalseSchema:
		one.rule, one.rest = "false", strings.HasPrefix(n.as.keyword, "unevaluated")
		switch n.as.keyword {
		case "unevaluatedProperties", "additionalProperties":
			one.rule, one.n = "additionalProperties", n.up
		case "items", "unevaluatedItems":
			one.rule, one.n, one.at, one.count = "items", n.up, one.parent(), index(last(at))
		}
	case *kind.AdditionalItems:
		one.rule, one.count = "items", n.prefix
	case *kind.Not:
		one.rule = "not"
	case repeated:
		one.expected, one.got = "a list without repeated items", "one with "+r.alike(at, k.pairs)
	case *kind.Contains:
		one.contained(0, "at least ", 1)
	case *kind.MinContains:
		one.contained(len(k.Got), "at least ", k.Want)
	case *kind.MaxContains:
		one.contained(len(k.Got), "at most ", k.Want)
	case *kind.MinLength:
		one.count = k.Got
	case *kind.MaxLength:
		one.count = k.Got
	case *kind.RefCycle, *kind.InvalidJsonValue:
		one.rule = "schema"
	}
	return []finding{one}
}

// spend takes units off the work of telling, and reports whether there is nothing left.
func (r *report) spend(units int) bool {
	r.left -= units
	r.More = r.More || r.left < 0
	return r.left < 0
}

// inOrder sorts errors by their places, of which the first steps are the same.
func (r *report) inOrder(errors []*jsonschema.ValidationError, common int) []*jsonschema.ValidationError {
	return first(errors, &r.More, func(a, b *jsonschema.ValidationError) int {
		x, y := a.InstanceLocation[common:], b.InstanceLocation[common:]
		return slices.CompareFunc(x, y, byLength)
	})
}

// first returns the first MaxCounted of a list in order, and reports whether there are
// more: the library goes through objects in any order.
func first[T any](list []T, more *bool, compare func(a, b T) int) []T {
	if !slices.IsSortedFunc(list, compare) {
		slices.SortFunc(list, compare)
	}
	*more = *more || len(list) > MaxCounted
	return list[:min(len(list), MaxCounted)]
}

// alike names the items of a list that are the same.
func (r *report) alike(at []string, pairs [][2]int) string {
	var texts []string
	for _, pair := range pairs[:min(len(pairs), maxRepeated)] {
		i, j := strconv.Itoa(pair[0]), strconv.Itoa(pair[1])
		texts = append(texts, words.List(r.names(at, "", i, j), "and")+" alike")
	}
	if len(pairs) > maxRepeated {
		texts = append(texts, "more")
	}
	return words.List(texts, "and")
}

// contained words how many items of a kind a list must have.
func (f *finding) contained(got int, limit string, n int) {
	verb := "are "
	if n == 1 {
		verb = "is "
	}
	f.expected = "a list with " + limit + words.Plural(n, "item") + " that " + verb + cmp.Or(f.n.part("contains").words(), "what is asked for")
	if f.got = "one with " + strconv.Itoa(got) + " of them"; got == 0 {
		f.got = "one without any"
	}
}

// conditions says in words when a schema applies that is written in a conditional one.
// It is moot when what the condition asks for is required, and missing. The conditions of the
// schema around it are told already.
func (r *report) conditions(n, around *node, at []string) (texts []string, moot bool) {
	for depth := len(at); n.up != nil && n != around && depth >= 0; n = n.up {
		r.left -= boolInt(depth&15 == 0)
		text, is := "", " is "
		switch n.as.keyword {
		case "else":
			is = " is not "
			fallthrough
		case "then":
			if text, moot = r.condition(n.up.part("if"), at[:depth], is); moot {
				return nil, true
			}
		case "dependentSchemas":
			text = quoted(n.as.name) + " is sent"
		}
		if text != "" {
			texts = append(texts, text)
		}
		depth -= boolInt(n.as.inside)
	}
	slices.Reverse(texts)
	return texts, false
}

func (r *report) condition(test *node, at []string, is string) (text string, moot bool) {
	object, isObject := ValueAt(r.args, at).(map[string]any)
	switch {
	case len(test.order) == 1:
		name := test.order[0]
		if _, sent := object[name]; !sent && isObject {
			return quoted(name) + " is not sent", slices.Contains(required(r.at(at)), name)
		}
		if words := test.members[name].words(); words != "" {
			return quoted(name) + is + words, false
		}
	case len(test.order) == 0 && len(test.Required) == 1:
		return quoted(test.Required[0]) + is + "sent", false
	}
	return "", false
}

// A fork is an anyOf or a oneOf.
type fork struct {
	forms []*node
	knows []map[string]bool // the names that each form knows
	sets  bool              // the forms say nothing but which names are required
	tag   string            // the property by whose value the forms differ, "" if there is none
	tags  []*node           // what it is in each form
}

func newFork(n *node, keyword string) *fork {
	f := &fork{sets: true}
	for _, p := range n.parts {
		if p.keyword == keyword {
			knows := map[string]bool{}
			for _, name := range known([]*node{p.node}) {
				knows[name] = true
			}
			f.forms, f.knows = append(f.forms, p.node), append(f.knows, knows)
			f.sets = f.sets && p.onlyRequires()
		}
	}
	if len(f.forms) < 2 {
		return f
	}
	names := f.forms[0].leaf().order
	for _, name := range names[:min(len(names), maxListed)] {
		f.tags = nil
		for _, form := range f.forms {
			if p, ok := form.leaf().members[name]; ok && p.leaf().literals() != nil {
				f.tags = append(f.tags, p.leaf())
			}
		}
		if len(f.tags) == len(f.forms) {
			f.tag = name
			break
		}
	}
	return f
}

// onlyRequires reports whether a schema says nothing but which names are required.
func (n *node) onlyRequires() bool { return len(n.Required) > 0 && len(n.parts) == 0 }

// misfit is the cost of a value that is not of the kind that a form is for.
const misfit = 1 << 20

// cost says how far a finding speaks against the form of a choice at a place.
func (f *finding) cost(at []string) int {
	switch f.rule {
	case "type", "const", "enum", "format", "false":
		if len(f.at) == len(at) {
			return misfit
		}
		return 3
	case "required", "additionalProperties":
		return 2
	default:
		return 1
	}
}

// nearest tells what is wrong by the form of a choice with the fewest faults, if that can
// be told, otherwise by all that would have been right.
func (r *report) nearest(e *jsonschema.ValidationError, all finding, f *fork) []finding {
	at, value := e.InstanceLocation, ValueAt(r.args, e.InstanceLocation)
	object, isObject := value.(map[string]any)
	all.forms, all.sets = f.forms, isObject && f.sets
	if r.spend(len(f.forms)*(1+len(object)/16)) || all.sets {
		return []finding{all}
	}
	var best []finding
	least, ties, picked, open, tag := misfit, 0, 0, 0, append(slices.Clip(at), f.tag)
	for i, cause := range e.Causes[:min(len(e.Causes), len(f.forms))] {
		open += boolInt(!slices.Equal(f.forms[i].leaf().types(), []string{"null"}))
		found, cost := r.collect(cause, all), 0
		if j := slices.IndexFunc(found, func(g finding) bool { return f.tag != "" && slices.Equal(g.at, tag) }); j >= 0 {
			all.rule = found[j].rule // the tag is not that of this form
			continue
		}
		picked++
		for j := range found {
			cost = min(cost+found[j].cost(at), misfit)
		}
		if cost == 0 || cost == misfit {
			continue
		}
		cost *= 2
		for name := range object {
			cost += boolInt(!f.knows[i][name])
		}
		if cost == least {
			ties++
		} else if cost < least {
			best, least, ties = found, cost, 0
		}
	}
	if picked == 0 && len(e.Causes) > 0 {
		if all.at, all.forms, all.expected = tag, f.tags, choice(f.tags); all.rule != "required" {
			all.rule = "enum"
		}
		return []finding{all}
	}
	whole := !slices.ContainsFunc(best, func(f finding) bool { return len(f.at) != len(at) }) // about the value itself
	switch {
	case best == nil:
		return []finding{all}
	case whole && choice(f.forms) != "" && (ties > 0 || open > 1 && !isContainer(value)):
		if len(best) == 1 && best[0].count > 0 && facets[best[0].rule] {
			all.rule, all.count = best[0].rule, best[0].count
		}
		return []finding{all}
	}
	for i := range best {
		best[i].unsure = best[i].unsure || picked > 1
	}
	return best
}

// looked drops what the schema does look at: what it finds wrong there is told, and the
// library takes it for not looked at.
func (r *report) looked(found []finding) []finding {
	if !slices.ContainsFunc(found, func(f finding) bool { return f.rest }) {
		return found
	}
	wrong := map[string]bool{} // the places at which, or in which, something else is wrong
	for _, f := range found {
		for i := range min(len(f.at), maxSteps+1) {
			if !f.rest {
				wrong[strings.Join(f.at[:i], "\x00")] = true
			}
		}
	}
	return slices.DeleteFunc(found, func(f finding) bool {
		switch {
		case !f.rest:
			return false
		case f.rule == "items":
			return wrong[strings.Join(f.at, "\x00")] && slices.ContainsFunc(around(r.at(f.at)...), func(n *node) bool { return f.count < n.prefix })
		default:
			return wrong[strings.Join(f.parent(), "\x00")] && slices.Contains(known(r.at(f.parent())), last(f.at))
		}
	})
}
