package explain

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	maxName    = 64  // runes of a name or a received value
	maxPath    = 200 // bytes of a path
	maxPointer = 512 // bytes of a JSON Pointer
)

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// index returns the index that a step is, -1 when it is a name.
func index(step string) int {
	i := 0
	for _, c := range []byte(step) {
		if c < '0' || c > '9' || len(step) > 9 {
			return -1
		}
		i = 10*i + int(c-'0')
	}
	return i - boolInt(step == "")
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

// change puts another value at a place in v, or in the place of it.
func change(v any, at []string, to any) any {
	if len(at) == 0 {
		return to
	}
	switch c := ValueAt(v, at[:len(at)-1]).(type) {
	case map[string]any:
		if c[last(at)] = to; to == left {
			delete(c, last(at))
		}
	case []any:
		c[index(last(at))] = to
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

func (r *report) field(at []string) string { return r.schema.field(r.args, at) }

// field writes a place as a model does: items[1].sku.
func (s *Schema) field(args any, at []string) string {
	var b strings.Builder
	v := args
	for i, step := range at {
		_, inList := v.([]any)
		v = member(v, step)
		name := s.shownName(step)
		switch {
		case inList:
			b.WriteString("[" + step + "]")
		case i == 0:
			b.WriteString(name)
		case plainName(name):
			b.WriteString("." + name)
		default:
			b.WriteString(`["` + name + `"]`)
		}
	}
	text := b.String()
	if len(text) > maxPath {
		half := maxPath/2 - 2
		return strings.ToValidUTF8(text[:half], "") + "..." + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	return text
}

// Place writes a place in arguments as a model does, items[1].sku, and as a JSON Pointer.
func Place(args any, at []string) (field, pointer string) {
	s := &Schema{}
	return s.field(args, at), s.pointer(at)
}

func plainName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$@", r)
	}) < 0
}

// pointer writes a place as a JSON Pointer, "" when it would be too long.
func (s *Schema) pointer(at []string) string {
	var b strings.Builder
	for _, step := range at {
		if b.WriteString("/" + escape.Replace(s.shownName(step))); b.Len() > maxPointer {
			return ""
		}
	}
	return b.String()
}

// secret reports whether the value at a place, or one around it, must not be shown. What
// lies too deep for that to be found out is hidden.
func (r *report) secret(at []string) bool {
	if len(at) > maxSteps || slices.ContainsFunc(at, scrub.SecretName) {
		return true
	}
	r.at(at)
	return slices.ContainsFunc(r.trail[:len(at)+1], func(nodes []*node) bool {
		return slices.ContainsFunc(nodes, func(n *node) bool { return n.hidden })
	})
}

// Hides reports whether the value to which a JSON Pointer leads, or one around it, must
// not be shown, by the schema or by its name.
func (s *Schema) Hides(pointer string) bool {
	at := strings.Split(pointer, "/")[1:]
	for i := range at {
		at[i] = unescape.Replace(at[i])
	}
	return (&report{schema: s}).secret(at)
}

// Known returns the names that the schema declares for the object at a place.
func (s *Schema) Known(at []string) []string { return known((&report{schema: s}).at(at)) }
