package explain

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// A path leads from the arguments to one value in them.
type path struct {
	segments []segment
	secret   bool // what it leads to must not be shown
}

type segment struct {
	name  string // fit to be shown
	index int    // of an item, -1 for a name
}

// A name is a name as it is shown.
type name struct {
	shown  string
	secret bool // what it names must not be shown
}

// nameOf returns a name that the caller sent as it is shown. One that the schema
// knows is public.
func (r *renderer) nameOf(sent string) name {
	if known, ok := r.known[sent]; ok {
		return known
	}
	return name{strangerName(sent), scrub.SecretName(sent)}
}

// pathTo returns the path to the value at, with the names that were meant.
func (r *renderer) pathTo(at int32, meant []renamed) path {
	p := path{secret: r.hidden[0]}
	for i := int32(0); i != at; {
		index := 0
		next := int32(none)
		for c := range r.doc.children(i) {
			if at < r.doc.values[c].next {
				next = c
				break
			}
			index++
		}
		if next == none { // a member whose name came again
			for c := i + 1; c <= at; c = r.doc.values[c].next {
				next = c
			}
		}
		s := segment{index: index}
		if r.doc.values[i].kind == kindObject {
			sent := r.nameOf(r.doc.values[next].name)
			p.secret = p.secret || sent.secret
			s = segment{sent.shown, none}
			if m := slices.IndexFunc(meant, func(m renamed) bool { return m.at == next }); m >= 0 {
				s.name = schemaName(meant[m].name)
				p.secret = p.secret || scrub.SecretName(meant[m].name)
			}
		}
		p.segments = append(p.segments, s)
		p.secret = p.secret || r.hidden[next]
		i = next
	}
	return p
}

// parent returns the path without its last segment.
func (p path) parent() path {
	return path{p.segments[:max(0, len(p.segments)-1)], p.secret}
}

// child returns the path to a member that the schema names.
func (p path) child(member string) path {
	return path{append(slices.Clip(p.segments), segment{schemaName(member), none}), p.secret}
}

func (p path) item(i int) path {
	return path{append(slices.Clip(p.segments), segment{"", i}), p.secret}
}

// String writes the path as a model does: items[1].sku.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p.segments {
		switch {
		case s.index >= 0:
			b.WriteString("[" + itoa(s.index) + "]")
		case i == 0:
			b.WriteString(s.name)
		case simpleName(s.name):
			b.WriteString("." + s.name)
		default:
			b.WriteString(`["` + s.name + `"]`)
		}
	}
	return middle(b.String())
}

// middle takes out the middle of a path that is too long.
func middle(text string) string {
	if len(text) <= maxPath {
		return text
	}
	half := maxPath/2 - 2
	head, tail := text[:half], text[len(text)-half:]
	return strings.ToValidUTF8(head, "") + "..." + strings.ToValidUTF8(tail, "")
}

func simpleName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isWord(c) && c != '-' && c != '$' && c != '@' && c < 0x80 {
			return false
		}
	}
	return name != ""
}

// pointer writes the path as a JSON Pointer, "" when it would be too long.
func (p path) pointer() string {
	var b strings.Builder
	for _, s := range p.segments {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(itoa(s.index))
		} else {
			b.WriteString(pointerToken(s.name))
		}
	}
	if b.Len() > maxPointer {
		return ""
	}
	return b.String()
}
