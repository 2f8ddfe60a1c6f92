package explain

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
)

// decide asks the validator of the SDK, of which a walk has shown that it will not take long. A panic is a refusal.
func (s *Schema) decide(v any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the validator panicked")
		}
	}()
	return s.valid.Validate(decoded(v))
}

// decoded returns a value as the SDK decodes it, with its numbers as float64.
func decoded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = decoded(member)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = decoded(item)
		}
		return list
	case json.Number:
		return float(v)
	default:
		return v
	}
}

// unknown returns the finding for a mistake that only the validator found. It has the keyword that its error names,
// and the place, as far as that is one in the arguments.
func (s *Schema) unknown(err error) finding {
	f, n, placed := finding{rule: "schema", n: s.root, unknown: true}, s.root, true
	for inner := errors.Unwrap(err); inner != nil; err, inner = inner, errors.Unwrap(inner) {
		name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(err.Error(), inner.Error()), "validating "), ": ")
		i := slices.IndexFunc(n.parts, func(p part) bool { return p.pointer == name || p.ID != "" && p.ID == name })
		if i < 0 {
			continue
		}
		p := n.parts[i]
		n = p.node
		if !walked[p.keyword] {
			f.rule = p.keyword
			return f
		}
		if placed = placed && (!p.inside || p.keyword == "properties"); placed {
			f.n = n
		}
		if placed && p.inside {
			f.at = append(f.at, p.name)
		}
	}
	keyword, _, _ := strings.Cut(err.Error(), ":")
	switch {
	case n.DependencyStrings != nil && strings.HasPrefix(keyword, "dependentRequired"):
		f.rule = "dependencies"
	case strings.HasPrefix(keyword, "dependentRequired"):
		f.rule = "dependentRequired"
	case strings.IndexFunc(keyword, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 && len(keyword) < maxName:
		f.rule = keyword
	}
	return f
}
