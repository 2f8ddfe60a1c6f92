package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/near"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// The names that are compared with those that the schema knows: in one object, and in all
// objects together.
const (
	maxPairs    = 100
	maxCompared = 4000
)

// An object has names that are missing or refused; the finding is the first about one of them.
type object struct {
	finding
	missing, refused []string
}

// pair finds for unknown names those that were probably meant: one that is missing rather than
// one that may be left out. A name that is missing and the one that stands for it are one mistake.
func (r *report) pair(found []finding) (names []finding) {
	byPlace, objects, left := map[string]*object{}, []*object{}, maxCompared
	for _, f := range found {
		if f.rule != "additionalProperties" && !f.missing() {
			continue
		}
		key := strings.Join(f.parent(), "\x00")
		o := byPlace[key]
		if o == nil {
			o = &object{finding: f}
			byPlace[key], objects = o, append(objects, o)
		}
		if f.missing() {
			o.missing = append(o.missing, last(f.at))
		} else {
			o.refused = append(o.refused, last(f.at))
		}
	}
	for _, o := range objects[:min(len(objects), maxPairs)] {
		sent, _ := ValueAt(r.args, o.parent()).(map[string]any)
		free, unknown := known(append(r.at(o.parent()), o.n)), []string(nil)
		for name := range sent { // where nothing is missing, names that a pattern allows are not looked at
			if len(unknown) <= maxPairs && !slices.Contains(free, name) && (len(o.missing) > 0 || slices.Contains(o.refused, name)) {
				unknown = append(unknown, name)
			}
		}
		slices.Sort(unknown)
		free = slices.DeleteFunc(free, func(name string) bool {
			_, has := sent[name]
			return has || slices.Contains(o.missing, name)
		})
		if left -= len(unknown) * (len(unknown) + len(free) + len(o.missing)); len(unknown) <= maxPairs && left >= 0 {
			names = append(names, r.match(o, unknown, free)...)
		}
	}
	return names
}

func (r *report) match(o *object, unknown, free []string) (names []finding) {
	taken := map[string]bool{}
	for _, pool := range [][]string{o.missing, free} {
		for _, name := range unknown {
			matches, refused := near.Matches(name, pool), slices.Contains(o.refused, name)
			absent := len(matches) > 0 && slices.Contains(o.missing, matches[0])
			if len(matches) == 0 || taken[name] || taken[matches[0]] || !absent && (len(matches) > 1 || !refused) {
				continue
			}
			if back := near.Matches(matches[0], unknown); len(back) == 0 || back[0] != name {
				continue
			}
			taken[matches[0]], taken[name] = true, true
			f := finding{
				rule: "required", at: append(slices.Clip(o.parent()), matches[0]), n: o.n, sent: name,
				absent: absent, unsure: len(matches) > 1 || scrub.SecretName(name),
			}
			if refused {
				f.rule = "additionalProperties"
				f.field, f.pointer = r.place(append(slices.Clip(o.parent()), name))
			}
			names = append(names, f)
		}
	}
	return names
}

// rename gives the arguments the names that were meant, inside first: the places are those
// of the names that were sent.
func (r *report) rename(names []finding) {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b finding) int { return cmp.Compare(len(b.at), len(a.at)) })
	for _, f := range names {
		if object, ok := ValueAt(r.args, f.parent()).(map[string]any); ok {
			value := object[f.sent]
			delete(object, f.sent)
			object[last(f.at)] = value
		}
	}
}
