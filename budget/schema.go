package budget

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// object is a JSON object of a schema.
type object = map[string]any

func asObject(schema any) object {
	if o, ok := schema.(object); ok {
		return o
	}
	raw, err := json.Marshal(schema)
	var o object
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// words are parts of the names of arguments that make an answer smaller.
var words = []string{
	"limit", "count", "max", "size", "page", "first", "top", "offset", "cursor",
	"field", "column", "select", "include", "exclude", "filter", "query", "depth",
	"range", "from", "to", "since", "until", "before", "after", "start", "end", "line", "day", "hour", "period", "last",
}

// smaller returns the arguments of an input schema that make an answer smaller, six at
// most.
func smaller(schema any) (names []string) {
	properties, _ := asObject(schema)["properties"].(object)
	for name := range properties {
		parts := strings.FieldsFunc(strings.ToLower(snake(name)), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
		if slices.ContainsFunc(parts, func(part string) bool {
			return slices.Contains(words, part) || slices.Contains(words, strings.TrimSuffix(part, "s"))
		}) {
			names = append(names, clean(name))
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 6)]
}

// snake writes pageSize as page_Size.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// maxTold bounds the memory of tools of which was said that they cannot be bounded.
const maxTold = 10_000

// check says once of a tool that its answers may be large and have no list.
func (b *budget) check(ctx context.Context, tool *mcp.Tool) {
	if tool.OutputSchema == nil || b.Tools[tool.Name] < 0 {
		return
	}
	b.mu.Lock()
	seen := b.told[tool.Name] || len(b.told) >= maxTold
	if !seen {
		if b.told == nil {
			b.told = map[string]bool{}
		}
		b.told[tool.Name] = true
	}
	b.mu.Unlock()
	if seen {
		return
	}
	s := survey{root: asObject(tool.OutputSchema)}
	if s.look(s.root, maxDepth); !s.array && s.open {
		b.say(ctx, "budget: the output schema of a tool has no array and no bound; an answer that is too large is refused, or loses the ends of its texts", tool.Name)
	}
}

// A survey is what a schema allows values to be.
type survey struct {
	root  object
	steps int
	array bool // it has an array, of which items can be left out
	open  bool // it has something that has no bound
}

// look looks at a schema and what is in it. What it does not know has no bound.
func (s *survey) look(schema any, depth int) {
	const most = 10_000
	o, ok := schema.(object)
	if s.steps++; depth == 0 || s.steps > most || !ok {
		s.open = s.open || schema != false
		return
	}
	if ref, ok := o["$ref"].(string); ok {
		s.look(s.resolve(ref), depth-1)
		return
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		all, _ := o[key].([]any)
		for _, one := range all {
			s.look(one, depth-1)
		}
		if len(all) > 0 && o["type"] == nil {
			return
		}
	}
	if o["enum"] != nil || o["const"] != nil {
		return
	}
	types := types(o)
	if len(types) == 0 {
		s.open = true
	}
	for _, t := range types {
		switch t {
		case "array":
			s.array = true
		case "string":
			s.open = s.open || o["maxLength"] == nil
		case "object":
			properties, _ := o["properties"].(object)
			for _, p := range properties {
				s.look(p, depth-1)
			}
			if more, ok := o["additionalProperties"]; !ok || more != false && !nothing(more) {
				s.open = s.open || o["maxProperties"] == nil
			}
		}
	}
}

// nothing reports whether a schema allows no value, as the SDK writes false.
func nothing(schema any) bool {
	o, ok := schema.(object)
	if !ok {
		return false
	}
	not, ok := o["not"].(object)
	return ok && len(not) == 0 && len(o) == 1
}

func types(o object) (all []string) {
	switch t := o["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				all = append(all, name)
			}
		}
	}
	return all
}

// resolve returns what a local reference names.
func (s *survey) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = s.root
	for part := range strings.SplitSeq(path, "/") {
		o, ok := at.(object)
		if !ok {
			return nil
		}
		at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}
