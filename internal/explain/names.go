package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// The names that are compared with those that the schema knows: in one object, and in all
// objects together.
const (
	maxPairs    = 100
	maxCompared = 4000
)

// An object has names that are missing or refused, or fits none of several forms.
type object struct {
	at      []string
	n       *node
	missing []string
	refused []string
	choice  finding // that none of the forms fits
}

// A pair are a name that was sent and the one that was meant by it.
type pair struct {
	*object
	sent, meant string
	unsure      bool // another one is near, too, or it may be another word
}

// correctNames pairs unknown names with those that were probably meant, and renames them in the arguments. It
// reports whether there are such pairs. A name that is missing, or that a form asks for, is preferred to an
// optional one. A missing name and the unknown one that stands for it are one mistake.
func (r *report) correctNames(found []finding) bool {
	byPlace, objects, left := map[string]*object{}, []*object{}, maxCompared
	of := func(at []string, n *node) *object {
		key := strings.Join(at, "\x00")
		if byPlace[key] == nil {
			byPlace[key] = &object{at: at, n: n}
			objects = append(objects, byPlace[key])
		}
		return byPlace[key]
	}
	for _, f := range found {
		switch {
		case f.missing():
			o := of(f.parent(), f.n)
			o.missing = append(o.missing, last(f.at))
		case f.rule == "additionalProperties":
			o := of(f.parent(), f.n)
			o.refused = append(o.refused, last(f.at))
		case f.forms != nil && f.both == nil && isContainer(ValueAt(r.args, f.at)):
			of(f.at, f.n).choice = f
		}
	}
	var pairs []pair
	for _, o := range objects[:min(len(objects), maxPairs)] {
		sent, _ := ValueAt(r.args, o.at).(map[string]any)
		isSent := func(name string) bool { _, has := sent[name]; return has }
		wanted := slices.Clone(o.missing)
		for _, form := range o.choice.forms {
			wanted = append(wanted, required([]*node{form})...)
		}
		wanted = slices.DeleteFunc(wanted, isSent)
		free, unknown := known(append(r.schema.at(o.at), o.n)), []string(nil)
		for name := range sent { // where nothing is wanted, names that a pattern allows are not looked at
			if len(unknown) <= maxPairs && !slices.Contains(free, name) && (len(wanted) > 0 || slices.Contains(o.refused, name)) {
				unknown = append(unknown, name)
			}
		}
		slices.Sort(unknown)
		free = slices.DeleteFunc(free, isSent)
		if left -= len(unknown) * (len(unknown) + len(free) + len(wanted)); len(unknown) <= maxPairs && left >= 0 {
			pairs = append(pairs, o.pairs(unknown, wanted, free)...)
		}
	}
	for _, p := range pairs {
		r.misspelled(p)
	}
	// Inside first: the places are those of the names that were sent.
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(len(b.at), len(a.at)) })
	for _, p := range pairs {
		if object, ok := ValueAt(r.args, p.at).(map[string]any); ok {
			object[p.meant] = object[p.sent]
			delete(object, p.sent)
		}
	}
	return len(pairs) > 0
}

// pairs compares unknown names with those that are wanted, and then with optional ones. An optional one is taken
// only for a refused name that is near to no other.
func (o *object) pairs(unknown, wanted, free []string) (pairs []pair) {
	taken := map[string]bool{}
	for i, pool := range [][]string{wanted, free} {
		for _, name := range unknown {
			matches := near.Matches(name, pool)
			if only := near.Spelled(name, pool); only != "" { // whatever else is near
				matches = []string{only}
			}
			if len(matches) == 0 || taken[name] || taken[matches[0]] || i == 1 && (len(matches) > 1 || !slices.Contains(o.refused, name)) {
				continue
			}
			if back := near.Matches(matches[0], unknown); len(back) == 0 || back[0] != name {
				continue
			}
			taken[matches[0]], taken[name] = true, true
			unsure := len(matches) > 1 || !near.Misspelled(name, matches[0])
			pairs = append(pairs, pair{o, name, matches[0], unsure})
		}
	}
	return pairs
}

// misspelled adds the violation for a pair.
func (r *report) misspelled(p pair) {
	missing, refused, meant := slices.Contains(p.missing, p.meant), slices.Contains(p.refused, p.sent), quoted(p.meant)
	r.unsure = r.unsure || p.unsure || scrub.SecretName(p.sent) && !scrub.SecretName(p.meant) // it would be shown then
	if !missing && !refused {
		r.told[p.choice.key()] = true // also if it fits no form after that
	}
	if r.full() { // it would not be shown
		r.Total++
		return
	}
	v := fault.Violation{Rule: "required"}
	switch {
	case refused:
		v.Rule = "additionalProperties"
		v.Field, v.Pointer = r.place(append(slices.Clip(p.at), p.sent))
		v.Message, v.Suggestion = "Argument '"+v.Field+"' is unknown.", "Did you mean "+meant+"?"
		if missing {
			v.Message = "Argument '" + v.Field + "' is unknown, and " + meant + " is missing."
		}
	case missing:
		v.Field, v.Pointer = r.place(append(slices.Clip(p.at), p.meant))
		v.Message = "Argument '" + v.Field + "' is required."
	default:
		v = r.worded(p.choice)
	}
	if !refused {
		v.Suggestion = "You sent " + quoted(r.schema.shownName(p.sent)) + ": did you mean " + meant + "?"
	}
	r.add(v)
}
