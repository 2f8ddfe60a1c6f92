package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const maxName = 64 // runes of a name or a received value

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// index returns the index that a step is, -1 when it is a name.
func index(step string) int {
	if step == "" || len(step) > 9 || strings.Trim(step, "0123456789") != "" {
		return -1
	}
	i, _ := strconv.Atoi(step)
	return i
}

// pointerTo writes the steps of a JSON Pointer.
func pointerTo(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteString("/" + escape.Replace(step))
	}
	return b.String()
}

func sortedNames[V any](object map[string]V) []string {
	names := slices.AppendSeq(make([]string, 0, len(object)), maps.Keys(object))
	slices.Sort(names)
	return names
}

func last[T any](list []T) T { return list[len(list)-1] }

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// member returns what a step leads to, nil if there is nothing.
func member(v any, step string) any {
	switch c := v.(type) {
	case map[string]any:
		return c[step]
	case []any:
		if i := index(step); i >= 0 && i < len(c) {
			return c[i]
		}
	}
	return nil
}

// ValueAt returns the value at a place in arguments, nil if there is none.
func ValueAt(v any, at []string) any {
	for _, step := range at {
		v = member(v, step)
	}
	return v
}

// left stands for a value that is left out.
var left any = new(struct{ _ int })

// change returns v with another value at a place, or v itself if there is no such place. What
// lies around it is copied: what was sent stays as it is.
func change(v any, at []string, to any) any {
	if len(at) == 0 {
		return to
	}
	inner := change(member(v, at[0]), at[1:], to)
	switch c := v.(type) {
	case map[string]any:
		c = maps.Clone(c)
		if c[at[0]] = inner; inner == left {
			delete(c, at[0])
		}
		return c
	case []any:
		if i := index(at[0]); i >= 0 && i < len(c) {
			c = slices.Clone(c)
			c[i] = inner
			return c
		}
	}
	return v
}

// shownName returns a name as it is shown. One that the schema has is public.
func (s *Schema) shownName(name string) string {
	if s.names[name] {
		return words.Cut(name, maxName)
	}
	return scrub.ShownName(name)
}

func (r *report) place(at []string) (field, pointer string) { return r.schema.place(r.args, at) }

// place writes a place as [scrub.Place] does.
func (s *Schema) place(args any, at []string) (field, pointer string) {
	lists := make([]bool, len(at))
	for i, step := range at {
		_, lists[i] = args.([]any)
		args = member(args, step)
	}
	return scrub.Place(at, func(i int) bool { return lists[i] }, s.shownName)
}

// Place writes a place in arguments as a model does, items[1].sku, and as a JSON Pointer.
func Place(args any, at []string) (field, pointer string) { return (&Schema{}).place(args, at) }

// Hides reports whether the value at a place, or one around it, must not be shown, by the
// schema or by its name. What lies too deep for that to be found out is hidden, and so is that for which
// there are too many schemas.
func (s *Schema) Hides(at []string) bool {
	if len(at) > maxSteps || slices.ContainsFunc(at, scrub.SecretName) {
		return true
	}
	left := len(at)
	for nodes := range s.along(at) {
		if left--; len(nodes) >= maxKnown || left >= 0 && len(around(nodes...)) == maxKnown || slices.ContainsFunc(nodes, func(n *node) bool { return n.hidden }) {
			return true
		}
	}
	return false
}

// Known returns the names that the schema declares for the object at a place.
func (s *Schema) Known(at []string) []string { return known(s.at(at)) }
