package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	maxName    = 64  // runes of a name or a received value
	maxPath    = 200 // bytes of a path
	maxPointer = 512 // bytes of a JSON Pointer
)

var escape, unescape = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// index returns the index that a step is, -1 when it is a name.
func index(step string) int {
	if step == "" || len(step) > 9 || strings.Trim(step, "0123456789") != "" {
		return -1
	}
	i, _ := strconv.Atoi(step)
	return i
}

// pointerTo writes the steps of a JSON Pointer, which steps reads.
func pointerTo(steps []string) string {
	var b words.Builder
	for _, step := range steps {
		b.WriteString("/" + escape.Replace(step))
	}
	return b.String()
}

func steps(pointer string) (steps []string) {
	for step := range strings.SplitSeq(pointer, "/") {
		steps = append(steps, unescape.Replace(step))
	}
	return steps[1:]
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
	if !s.names[name] {
		if len(name) > 64*maxName {
			name = strings.ToValidUTF8(name[:64*maxName], "")
		}
		name = scrub.Credentials(name)
	}
	return words.Cut(name, maxName)
}

func (r *report) place(at []string) (field, pointer string) { return r.schema.place(r.args, at) }

// place writes a place as a model does, items[1].sku, and as a JSON Pointer, which is ""
// where it would be too long.
func (s *Schema) place(args any, at []string) (field, pointer string) {
	var f, p words.Builder
	for i, step := range at {
		_, inList := args.([]any)
		args = member(args, step)
		if f.Len() > maxPath && p.Len() > maxPointer && i < len(at)-maxPath {
			continue // is left out
		}
		name := s.shownName(step)
		switch {
		case inList:
			f.WriteString("[" + step + "]")
		case i == 0:
			f.WriteString(name)
		case plainName(name):
			f.WriteString("." + name)
		default:
			f.WriteString(`["` + name + `"]`)
		}
		if p.Len() <= maxPointer {
			p.WriteString("/" + escape.Replace(name))
		}
	}
	if pointer = p.String(); len(pointer) > maxPointer {
		pointer = ""
	}
	if field = f.String(); len(field) > maxPath {
		half := maxPath/2 - 2
		field = strings.ToValidUTF8(field[:half], "") + "..." + strings.ToValidUTF8(field[len(field)-half:], "")
	}
	return field, pointer
}

// Place writes a place in arguments as a model does, items[1].sku, and as a JSON Pointer.
func Place(args any, at []string) (field, pointer string) { return (&Schema{}).place(args, at) }

func plainName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$@", r)
	}) < 0
}

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
