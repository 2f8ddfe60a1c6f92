package explain

import (
	"slices"

	"github.com/mcpchain/mcpchain/internal/near"
)

// suggestName says what an unknown name may have been meant for.
func (r *renderer) suggestName(f *finding) string {
	object := r.parentOf(f.at)
	if matches := near.Matches(f.name, f.names); len(matches) > 0 {
		if slices.Contains(matches, f.name) {
			return ""
		}
		if _, sent := r.doc.member(object, matches[0]); sent {
			return "Leave it out: " + quoted(schemaName(matches[0])) + " is there already."
		}
		return "Did you mean " + join(quotedNames(matches[:min(2, len(matches))]), "or") + "?"
	}
	switch {
	case r.listed[object]:
		return ""
	case len(f.names) == 0 && len(f.n.patterns) == 0:
		return "Leave it out: no names are accepted here."
	}
	if r.listed == nil {
		r.listed = map[int32]bool{}
	}
	r.listed[object] = true
	return knownNames(f.names, f.n.patterns)
}

// knownNames lists the names that an object may have.
func knownNames(known []string, patterns []patternProps) string {
	names := quotedNames(known)
	for i, p := range patterns {
		if i == maxNamed {
			break
		}
		names = append(names, "names that match "+line(p.text, maxName))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		if len(known) == 0 {
			return "Only " + names[0] + " are known here."
		}
		return "Only " + names[0] + " is known here."
	default:
		return "Known here are " + listed(names, "and") + "."
	}
}

func quotedNames(names []string) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = quoted(schemaName(name))
	}
	return texts
}

// parentOf finds the container that a value is in.
func (r *renderer) parentOf(at int32) int32 {
	for i := int32(0); ; {
		next := int32(none)
		for c := range r.doc.children(i) {
			if c == at {
				return i
			}
			if at < r.doc.values[c].next {
				next = c
				break
			}
		}
		if next == none {
			return i
		}
		i = next
	}
}
