package budget

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// words are parts of the names of arguments that make an answer smaller.
var words = []string{
	"limit", "count", "max", "size", "page", "first", "top", "offset", "cursor",
	"field", "column", "select", "include", "exclude", "filter", "query", "depth",
	"range", "from", "to", "since", "until", "before", "after", "start", "end", "line", "day", "hour", "period", "last",
}

// smaller returns the arguments of an input schema that make an answer smaller, six at
// most.
func smaller(schema any) (names []string) {
	s := call.JSONSchema(schema)
	if s == nil {
		return nil
	}
	for name := range s.Properties {
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

func argument(names []string) string {
	quoted := "'" + strings.Join(names, "', '") + "'"
	if len(names) == 1 {
		return "argument " + quoted
	}
	return "arguments " + quoted
}

// maxTold bounds the memory of tools of which something was said.
const maxTold = 10_000

// first reports whether nothing was said of a tool before.
func (b *budget) first(tool string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told[tool] || len(b.told) >= maxTold {
		return false
	}
	b.told[tool] = true
	return true
}

// check says once of a tool that its answers may be large and have no list.
func (b *budget) check(ctx context.Context, tool *mcp.Tool) {
	if tool.OutputSchema == nil || b.Tools[tool.Name] < 0 || !b.first(tool.Name) {
		return
	}
	s := survey{root: call.JSONSchema(tool.OutputSchema)}
	if s.look(s.root, maxDepth); !s.array && s.open {
		call.Warn(ctx, b.Logger, "budget: the output schema of a tool has no array and no bound; an answer that is too large is refused, or loses the ends of its texts",
			slog.String("tool", tool.Name))
	}
}

// A survey is what a schema allows values to be.
type survey struct {
	root  *jsonschema.Schema
	steps int
	array bool // it has an array, of which items can be left out
	open  bool // it has something that has no bound
}

// look looks at a schema and what is in it. What it does not know has no bound.
func (s *survey) look(schema *jsonschema.Schema, depth int) {
	const most = 10_000
	if s.steps++; schema == nil || depth == 0 || s.steps > most {
		s.open = true
		return
	}
	if name, ok := strings.CutPrefix(schema.Ref, "#/$defs/"); ok {
		s.look(s.root.Defs[name], depth-1)
		return
	}
	choices := slices.Concat(schema.AllOf, schema.AnyOf, schema.OneOf)
	for _, choice := range choices {
		s.look(choice, depth-1)
	}
	types := schema.Types
	if schema.Type != "" {
		types = []string{schema.Type}
	}
	switch {
	case schema.Enum != nil, schema.Const != nil, nothing(schema):
		return
	case len(types) == 0 && len(choices) == 0:
		s.open = true
	}
	for _, t := range types {
		switch t {
		case "array":
			s.array = true
		case "string":
			s.open = s.open || schema.MaxLength == nil
		case "object":
			for _, property := range schema.Properties {
				s.look(property, depth-1)
			}
			s.open = s.open || schema.MaxProperties == nil && !nothing(schema.AdditionalProperties)
		}
	}
}

// nothing reports whether a schema is false, as the SDK writes it.
func nothing(schema *jsonschema.Schema) bool {
	return reflect.DeepEqual(schema, &jsonschema.Schema{Not: &jsonschema.Schema{}})
}
