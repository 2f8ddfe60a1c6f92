package scrub

import (
	"strings"

	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	maxShownName = 64  // runes of a name
	maxPath      = 200 // bytes of a path
	maxPointer   = 512 // bytes of a JSON Pointer
)

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// Place writes a place in arguments as a model does, items[1].sku, and as a JSON Pointer, which is "" where it would
// be too long. inList reports whether a step is an index, and shown returns a name as it may be shown, such as
// [ShownName].
func Place(at []string, inList func(step int) bool, shown func(name string) string) (field, pointer string) {
	var f, p strings.Builder
	for i, step := range at {
		if f.Len() > maxPath && p.Len() > maxPointer && i < len(at)-maxPath {
			continue // is left out
		}
		name := shown(step)
		switch {
		case inList(i):
			f.WriteString("[" + step + "]")
		case i == 0:
			f.WriteString(name)
		case plainName(name):
			f.WriteString("." + name)
		default:
			f.WriteString(`["` + name + `"]`)
		}
		if p.Len() <= maxPointer {
			p.WriteString("/" + pointerEscape.Replace(name))
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

// ShownName returns a name that a caller sent as it may be shown.
func ShownName(name string) string {
	if len(name) > 64*maxShownName {
		name = strings.ToValidUTF8(name[:64*maxShownName], "")
	}
	return words.Cut(Credentials(name), maxShownName)
}

func plainName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$@", r)
	}) < 0
}
