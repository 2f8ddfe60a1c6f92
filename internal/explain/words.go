package explain

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

const (
	maxName     = 64  // runes of a name or a received value
	maxPath     = 200 // bytes of a path
	maxPointer  = 512 // bytes of a JSON Pointer
	maxPhrase   = 400 // runes of what is expected
	maxAdvice   = 240 // runes of a description that is repeated
	maxListed   = 20  // values or names that are listed
	maxSize     = 300 // bytes of them
	maxBranches = 5   // forms that are listed
	maxExample  = 1000
)

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func itoa(n int) string { return strconv.Itoa(n) }

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

func last(at []string) string { return at[len(at)-1] }

// ValueAt returns the value at a place in arguments, nil if there is none.
func ValueAt(v any, at []string) any {
	for _, step := range at {
		switch c := v.(type) {
		case map[string]any:
			v = c[step]
		case []any:
			i := index(step)
			if i < 0 || i >= len(c) {
				return nil
			}
			v = c[i]
		default:
			return nil
		}
	}
	return v
}

// change returns v with another value at a place. What lies around it is copied.
func change(v any, at []string, by func(any) any) any {
	if len(at) == 0 {
		return by(v)
	}
	switch c := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(c))
		maps.Copy(object, c)
		if object[at[0]] = change(c[at[0]], at[1:], by); object[at[0]] == left {
			delete(object, at[0])
		}
		return object
	case []any:
		if i := index(at[0]); i >= 0 && i < len(c) {
			list := append([]any(nil), c...)
			list[i] = change(c[i], at[1:], by)
			return list
		}
	}
	return v
}

// left stands for a value that is left out.
var left any = new(struct{ _ int })

// shownName returns a name as it is shown. One that the schema has is public.
func (s *Schema) shownName(name string) string {
	if !s.names[name] {
		if len(name) > 64*maxName {
			name = strings.ToValidUTF8(name[:64*maxName], "")
		}
		name = scrub.Credentials(name)
	}
	return line(name, maxName)
}

func (r *report) field(at []string) string { return r.schema.field(r.args, at) }

// field writes a place as a model does: items[1].sku.
func (s *Schema) field(args any, at []string) string {
	var b strings.Builder
	v := args
	for i, step := range at {
		list, isList := v.([]any)
		if isList {
			b.WriteString("[" + step + "]")
			if i := index(step); i >= 0 && i < len(list) {
				v = list[i]
			}
			continue
		}
		object, _ := v.(map[string]any)
		v = object[step]
		switch name := s.shownName(step); {
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
	r := &report{schema: s}
	if pointer == "" {
		return r.secret(nil)
	}
	at := strings.Split(pointer, "/")[1:]
	for i := range at {
		at[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(at[i])
	}
	return r.secret(at)
}

func quoted(text string) string { return "'" + line(text, maxName) + "'" }

func allQuoted(names []string) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = quoted(name)
	}
	return texts
}

// line makes a text fit into one line of at most limit runes.
func line(text string, limit int) string {
	if len(text) <= limit && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > limit {
			return b.String() + "..."
		}
		b.WriteRune(safe.Rune(r))
	}
	return b.String()
}

// cut shortens a text to at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, limit-3)], "") + "..."
}

func join(texts []string, word string) string {
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " " + word + " " + texts[n-1]
	}
	return strings.Join(texts, "")
}

// listed writes a, b, c and so on, of a list that may be long.
func listed(texts []string, word string) string {
	size := 0
	for i, text := range texts {
		if size += len(text) + 2; i > 0 && (i == maxListed || size > maxSize) && len(texts)-i > 1 {
			return strings.Join(texts[:i], ", ") + " " + word + " " + itoa(len(texts)-i) + " others"
		}
	}
	return join(texts, word)
}

// many writes 1 item, 2 items.
func many(n int, thing string) string {
	switch stem, y := strings.CutSuffix(thing, "y"); {
	case n == 1:
		return "1 " + thing
	case y:
		return itoa(n) + " " + stem + "ies"
	default:
		return itoa(n) + " " + thing + "s"
	}
}

// counts writes " of 2 to 5 items", "" without limits.
func counts(least, most *int, thing string) string {
	low := least != nil && *least > 0
	switch {
	case low && most != nil && *least == *most:
		return " of exactly " + many(*least, thing)
	case low && most != nil:
		return " of " + itoa(*least) + " to " + many(*most, thing)
	case low:
		return " of at least " + many(*least, thing)
	case most != nil:
		return " of at most " + many(*most, thing)
	default:
		return ""
	}
}

// ended returns a text with a full stop where it has no end yet.
func ended(text string) string {
	if r, _ := utf8.DecodeLastRuneInString(text); strings.ContainsRune(".!?。！？…", r) {
		return text
	}
	return text + "."
}

// same reports whether two values are the same by JSON Schema, as far as scalars go.
func same(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, areNumbers := b.(json.Number)
	if isNumber && areNumbers {
		return number(rat(x)) == number(rat(y))
	}
	return !isContainer(a) && !isContainer(b) && a == b
}
