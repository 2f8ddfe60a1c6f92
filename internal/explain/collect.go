package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// A finding is one thing that is wrong.
type finding struct {
	rule     string
	at       []string // to the value, or to the name that is missing or unknown
	n        *node
	when     []string // the conditions that it depends on
	sent     string   // a name that was sent for the last one of at
	unknown  bool     // that name is refused
	absent   bool     // what was meant is required
	expected string   // in the place of what n says
	got      string   // in the place of the value
	count    int
	forms    []*node // of a choice
	both     []int   // the forms that fit both
	sets     bool    // the forms differ in the names that they require
	rest     bool    // nothing that was valid has looked at it
	unsure   bool    // another form may have been meant
	ranks    []int
	field    string // and pointer: of the name that was sent
	pointer  string
}

func (f *finding) missing() bool {
	switch f.rule {
	case "required", "dependentRequired", "dependencies":
		return f.sent == ""
	default:
		return false
	}
}

func (f *finding) location() string {
	if f.n == nil {
		return f.rule
	}
	return f.n.Location
}

// place orders what is wrong with one value.
func (f *finding) place() int { return -boolInt(f.sent != "") }

var unheardOf = &node{Schema: &jsonschema.Schema{}, anyOf: &fork{}, oneOf: &fork{}}

// collect flattens the tree of errors, in the same order each time. Where there are too
// many it stops. The places in e begin with the one of the error around it.
func (r *report) collect(e *jsonschema.ValidationError, around []string, when []string) (found []finding) {
	n, at := r.schema.nodes[e.SchemaURL], e.InstanceLocation
	if n == nil {
		n = unheardOf
	}
	own, moot := r.conditions(n, at)
	if moot {
		return nil // that what it depends on is missing is told
	}
	for _, text := range own {
		if !slices.Contains(when, text) {
			when = append(slices.Clip(when), text)
		}
	}
	if r.spend(1 + len(at)/16) {
		return nil
	}
	one := finding{at: at, n: n, when: when, rule: strings.Join(e.ErrorKind.KeywordPath(), "/")}
	named := func(names []string, rule string, when ...string) {
		for i, name := range names {
			if r.spend(1 + len(at)/16) {
				return
			}
			f := one
			f.rule, f.at, f.when, f.count = rule, append(slices.Clip(at), name), slices.Concat(when, one.when), i
			found = append(found, f)
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range r.inOrder(e.Causes, len(around)) {
			found = append(found, r.collect(cause, at, when)...)
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
		named(k.Missing, "required")
		return found
	case *kind.DependentRequired:
		named(k.Missing, "dependentRequired", quoted(k.Prop)+" is sent")
		return found
	case *kind.Dependency:
		named(k.Missing, "dependencies", quoted(k.Prop)+" is sent")
		return found
	case *kind.AdditionalProperties:
		named(first(k.Properties, &r.More, strings.Compare), "additionalProperties")
		return found
	case misnamed:
		one.n = n.child("propertyNames")
		one.expected = one.n.words()
		named(first(k.names, &r.More, strings.Compare), "propertyNames")
		return found
	case *kind.FalseSchema:
		one.rule = "false"
		switch n.keyword {
		case "unevaluatedProperties", "additionalProperties":
			one.rule, one.n = "additionalProperties", n.up
		case "items", "unevaluatedItems":
			one.rule, one.n, one.at = "items", n.up, at[:len(at)-1]
			one.count = index(at[len(at)-1])
		}
		one.rest = strings.HasPrefix(n.keyword, "unevaluated")
	case *kind.AdditionalItems:
		one.rule, one.count = "items", len(asSchemas(n.Items))
	case *kind.Not:
		one.rule = "not"
	case repeated:
		one.expected = "a list without repeated items"
		var texts []string
		for _, pair := range k.pairs[:min(len(k.pairs), maxRepeated)] {
			i, j := append(slices.Clip(at), itoa(pair[0])), append(slices.Clip(at), itoa(pair[1]))
			texts = append(texts, r.field(i)+" and "+r.field(j)+" alike")
		}
		if len(k.pairs) > maxRepeated {
			texts = append(texts, "more")
		}
		one.got = "one with " + join(texts, "and")
	case *kind.Contains:
		one.contained(0, 1, 0)
	case *kind.MinContains:
		one.contained(len(k.Got), k.Want, 0)
	case *kind.MaxContains:
		one.contained(len(k.Got), 0, k.Want)
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
		x, y := a.InstanceLocation, b.InstanceLocation
		for i := common; i < min(len(x), len(y)); i++ {
			if x[i] != y[i] {
				return compareSteps(x[i], y[i])
			}
		}
		return cmp.Compare(len(x), len(y))
	})
}

// first returns the first MaxCounted of a list in order, and reports whether there are
// more: the library goes through objects in any order.
func first[T any](list []T, more *bool, compare func(a, b T) int) []T {
	if !slices.IsSortedFunc(list, compare) {
		kept := make([]T, 0, min(len(list), 2*MaxCounted))
		for i, one := range list {
			if i < cap(kept) || compare(one, kept[MaxCounted-1]) < 0 {
				kept = append(kept, one)
			}
			if len(kept) == 2*MaxCounted {
				slices.SortStableFunc(kept, compare)
				kept = kept[:MaxCounted]
			}
		}
		slices.SortStableFunc(kept, compare)
		*more, list = *more || len(list) > MaxCounted, kept
	}
	*more = *more || len(list) > MaxCounted
	return list[:min(len(list), MaxCounted)]
}

func (f *finding) contained(got, least, most int) {
	limit, verb := "at least "+many(least, "item"), "are "
	if most > 0 || least == 0 {
		limit = "at most " + many(most, "item")
	}
	if max(least, most) == 1 {
		verb = "is "
	}
	what := "what is asked for"
	if sub := f.n.child("contains"); sub != nil && sub.words() != "" {
		what = sub.words()
	}
	f.expected, f.got = "a list with "+limit+" that "+verb+what, "one with "+itoa(got)+" of them"
	if got == 0 {
		f.got = "one without any"
	}
}

// child returns the only schema that a keyword of n holds.
func (n *node) child(keyword string) *node {
	for _, sub := range slices.Concat(n.inner, n.same) {
		if sub.up == n && sub.keyword == keyword {
			return sub
		}
	}
	return nil
}

func (n *node) property(name string) *node {
	for _, sub := range n.inner {
		if sub.up == n && sub.keyword == "properties" && sub.name == name {
			return sub
		}
	}
	return nil
}

// conditions says in words when a schema applies that is written in a conditional one.
// It is moot when what the condition asks for is required, and missing.
func (r *report) conditions(n *node, at []string) (texts []string, moot bool) {
	for depth := len(at); n.up != nil && depth >= 0; n = n.up {
		r.left -= boolInt(depth&15 == 0)
		text := ""
		switch n.keyword {
		case "then", "else":
			if text, moot = r.condition(n.up, at[:depth], n.keyword == "then"); moot {
				return nil, true
			}
		case "dependentSchemas":
			text = quoted(n.name) + " is sent"
		}
		if text != "" {
			texts = append(texts, text)
		}
		if n.inside && n.keyword != "propertyNames" {
			depth--
		}
	}
	slices.Reverse(texts)
	return texts, false
}

func (r *report) condition(n *node, at []string, holds bool) (text string, moot bool) {
	not := " is not "
	if holds {
		not = " is "
	}
	object, _ := ValueAt(r.args, at).(map[string]any)
	switch {
	case len(n.If.Properties) == 1:
		for name, p := range n.If.Properties {
			if _, sent := object[name]; !sent && object != nil {
				return quoted(name) + " is not sent", slices.Contains(required(r.at(at)), name)
			}
			if words := r.schema.nodes[p.Location].words(); words != "" {
				return quoted(name) + not + words, false
			}
		}
	case len(n.If.Properties) == 0 && len(n.If.Required) == 1:
		return quoted(n.If.Required[0]) + not + "sent", false
	}
	return "", false
}

// misfit is the cost of a value that is not of the kind that a form is for.
const misfit = 1 << 20

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
func (r *report) nearest(e *jsonschema.ValidationError, choices finding, f *fork) []finding {
	at, forms := e.InstanceLocation, f.forms
	choices.forms = forms
	object, isObject := ValueAt(r.args, at).(map[string]any)
	if r.spend(len(forms) * (1 + len(object)/16)) {
		return []finding{choices}
	}
	if isObject && f.sets {
		choices.sets = true
		return []finding{choices}
	}
	chosen := func(int) bool { return true }
	if name := f.tag; isObject && name != "" {
		value, has := object[name]
		fits := func(tag *node) bool {
			return slices.ContainsFunc(tag.literals(), func(l any) bool { return same(l, value) })
		}
		optional := slices.ContainsFunc(forms, func(n *node) bool { return !slices.Contains(n.leaf().Required, name) })
		switch {
		case has && slices.ContainsFunc(f.tags, fits):
			chosen = func(i int) bool { return fits(f.tags[i]) }
		case has || !optional:
			choices.at, choices.rule, choices.forms = append(slices.Clip(at), name), "enum", f.tags
			if !has {
				choices.rule = "required"
			}
			choices.expected = choice(f.tags)
			return []finding{choices}
		}
	}
	var best []finding
	least, ties, open, picked := misfit, 0, 0, 0
	for i, cause := range e.Causes {
		if i >= len(forms) || !chosen(i) {
			continue
		}
		if picked++; !slices.Equal(forms[i].leaf().types(), []string{"null"}) {
			open++
		}
		found, cost := r.collect(cause, at, choices.when), 0
		for j := range found {
			cost = min(cost+found[j].cost(at), misfit)
		}
		if cost == 0 || cost >= misfit {
			continue
		}
		if cost *= 2; isObject {
			cost += strangeNames(object, forms[i])
		}
		switch {
		case cost < least:
			best, least, ties = found, cost, 0
		case cost == least:
			ties++
		}
	}
	words := choice(forms)
	outside := best != nil && !slices.ContainsFunc(best, func(f finding) bool { return len(f.at) != len(at) })
	switch {
	case best == nil:
		return []finding{choices}
	case outside && words != "" && (ties > 0 || open > 1 && !isContainer(ValueAt(r.args, at))):
		if len(best) == 1 && best[0].count > 0 && facets[best[0].rule] {
			choices.rule, choices.count = best[0].rule, best[0].count
		}
		return []finding{choices}
	}
	for i := range best {
		best[i].unsure = best[i].unsure || picked > 1
	}
	return best
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// strangeNames counts the names that a form does not know.
func strangeNames(object map[string]any, form *node) (count int) {
	for name := range object {
		count += boolInt(!form.knows[name])
	}
	return count
}

// A fork is an anyOf or a oneOf.
type fork struct {
	forms []*node
	sets  bool    // the forms say nothing but which names are required
	tag   string  // the property by whose value the forms differ, "" if there is none
	tags  []*node // what it is in each form
}

func (s *Schema) fork(forms []*jsonschema.Schema) *fork {
	f := &fork{}
	for _, form := range forms {
		f.forms = append(f.forms, s.nodes[form.Location])
	}
	f.sets = onlyRequire(f.forms)
	if len(forms) < 2 {
		return f
	}
	names := f.forms[0].leaf().order
	for _, name := range names[:min(len(names), maxListed)] {
		f.tags = nil
		for _, form := range f.forms {
			if sub := form.leaf().property(name); sub != nil && sub.leaf().literals() != nil {
				f.tags = append(f.tags, sub.leaf())
			}
		}
		if len(f.tags) == len(forms) {
			f.tag = name
			return f
		}
	}
	return f
}

// onlyRequire reports whether the forms of a choice say nothing but which names are required.
func onlyRequire(forms []*node) bool {
	return !slices.ContainsFunc(forms, func(n *node) bool {
		return len(n.Required) == 0 || len(n.same)+len(n.inner) > 0
	})
}

// leaf follows a reference that stands alone.
func (n *node) leaf() *node {
	for range 8 {
		if n.Ref == nil || n.Types != nil || n.Enum != nil || n.Const != nil || len(n.same) == 0 {
			break
		}
		n = n.same[0]
	}
	return n
}

// merged makes one finding of the items that a list has too many of. It drops what the
// schema does look at: what it finds wrong there is told, and the library takes it for
// not looked at.
func (r *report) merged(found []finding) []finding {
	lists := map[string]int{}
	inside := map[string]bool{} // the places at which, or in which, something else is wrong
	if slices.ContainsFunc(found, func(f finding) bool { return f.rest }) {
		for _, f := range found {
			for i := range f.at {
				if !f.rest && i <= maxSteps {
					inside[strings.Join(f.at[:i], "\x00")] = true
				}
			}
		}
	}
	merged := found[:0]
	for _, f := range found {
		switch {
		case f.rule == "items":
			key := strings.Join(f.at, "\x00")
			own := 0 // items that have schemas of their own
			around(r.at(f.at), func(n *node) bool {
				own = max(own, len(n.prefix))
				return true
			})
			if f.rest && inside[key] && f.count < own {
				continue
			}
			if i, ok := lists[key]; ok {
				merged[i].count = min(merged[i].count, f.count)
				continue
			}
			lists[key] = len(merged)
		case f.rest:
			parent := f.at[:len(f.at)-1]
			if inside[strings.Join(parent, "\x00")] && slices.Contains(known(r.at(parent)), last(f.at)) {
				continue
			}
		}
		merged = append(merged, f)
	}
	return merged
}

// maxPairs bounds the names that are compared with those that the schema knows.
const (
	maxPairs    = 100
	maxCompared = 4000 // in all objects together
)

// pair finds for unknown names those that were probably meant. A name that is missing and
// the one that stands for it are one mistake.
func (r *report) pair(found []finding) (names []finding) { //nolint:gocognit // one pass over all names
	type object struct {
		f       *finding
		at      []string
		missing []string
		refused map[string]bool
	}
	objects := map[string]*object{}
	var order []*object
	for i := range found {
		f := &found[i]
		if f.rule != "additionalProperties" && !f.missing() || len(order) > maxPairs {
			continue
		}
		parent := f.at[:len(f.at)-1]
		o := objects[strings.Join(parent, "\x00")]
		if o == nil {
			o = &object{f: f, at: parent, refused: map[string]bool{}}
			objects[strings.Join(parent, "\x00")] = o
			order = append(order, o)
		}
		if name := last(f.at); f.missing() {
			o.missing = append(o.missing, name)
		} else {
			o.refused[name] = true
		}
	}
	compared := 0
	for _, o := range order {
		sent, _ := ValueAt(r.args, o.at).(map[string]any)
		all := known(append(r.at(o.at), o.f.n))
		var unknown, free []string
		for name := range sent {
			if (o.refused[name] || len(o.missing) > 0) && len(unknown) <= maxPairs && !slices.Contains(all, name) {
				unknown = append(unknown, name)
			}
		}
		for _, name := range all {
			if _, has := sent[name]; !has && !slices.Contains(o.missing, name) {
				free = append(free, name)
			}
		}
		compared += len(unknown) * (len(unknown) + len(free) + len(o.missing))
		if slices.Sort(unknown); len(unknown) > maxPairs || compared > maxCompared {
			continue
		}
		taken := map[string]bool{}
		match := func(pool []string, absent bool) {
			for _, name := range unknown {
				matches := near.Matches(name, pool)
				if len(matches) == 0 || taken[name] || taken[matches[0]] || !absent && (len(matches) > 1 || !o.refused[name]) {
					continue
				}
				if back := near.Matches(matches[0], unknown); len(back) == 0 || back[0] != name {
					continue
				}
				taken[matches[0]], taken[name] = true, true
				f := finding{
					rule: "required", at: append(slices.Clip(o.at), matches[0]), n: o.f.n, sent: name,
					unknown: o.refused[name], absent: absent, unsure: len(matches) > 1 || scrub.SecretName(name),
				}
				if f.unknown {
					f.rule = "additionalProperties"
					sent := append(slices.Clip(o.at), name)
					f.field, f.pointer = r.field(sent), r.schema.pointer(sent)
				}
				names = append(names, f)
			}
		}
		match(o.missing, true) // what is missing was meant rather than what may be left out
		match(free, false)
	}
	return names
}

// rename gives the arguments the names that were meant, inside first: the places are those
// of the names that were sent.
func (r *report) rename(names []finding) {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b finding) int { return cmp.Compare(len(b.at), len(a.at)) })
	for _, f := range names {
		if object, ok := ValueAt(r.args, f.at[:len(f.at)-1]).(map[string]any); ok {
			value := object[f.sent]
			delete(object, f.sent)
			object[last(f.at)] = value
		}
	}
}
