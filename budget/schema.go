package budget

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
)

// reducing are parts of the names of arguments that make an answer smaller.
var reducing = []string{
	"limit", "count", "max", "size", "page", "first", "top", "offset", "cursor",
	"field", "column", "select", "include", "exclude", "filter", "query", "depth",
	"range", "from", "to", "since", "until", "before", "after", "start", "end", "line", "day", "hour", "period", "last",
}

// parts finds the words of a name such as pageSize or page_size.
var parts = regexp.MustCompile(`[A-Z]?[^A-Z_.-]+`)

// smaller returns the arguments of an input schema that make an answer smaller, six at
// most.
func smaller(schema any) (names []string) {
	s := ask.JSONSchema(schema)
	if s == nil {
		return nil
	}
	for name := range s.Properties {
		if slices.ContainsFunc(parts.FindAllString(name, -1), func(part string) bool {
			part = strings.ToLower(part)
			return slices.Contains(reducing, part) || slices.Contains(reducing, strings.TrimSuffix(part, "s"))
		}) {
			names = append(names, forLine(name))
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 6)]
}

func argument(names []string) string {
	quoted := "'" + strings.Join(names, "', '") + "'"
	if len(names) == 1 {
		return "argument " + quoted
	}
	return "arguments " + quoted
}

// first reports whether there was no warning about a tool before. If too many tools are
// remembered, there are no more warnings: a tool that is not remembered would be warned
// about with each list.
func (b *budget) first(tool string) bool { return b.warned.Add(tool, true) }

// check warns, once for each tool, that its answers can be large but contain no array to
// cut.
func (b *budget) check(ctx context.Context, tool *mcp.Tool) {
	if tool.OutputSchema == nil || b.Tools[tool.Name] < 0 || !b.first(tool.Name) {
		return
	}
	var schema any
	if raw, err := json.Marshal(tool.OutputSchema); err != nil || json.Unmarshal(raw, &schema) != nil {
		return
	}
	if array, open := look(schema); open && !array {
		call.Warn(ctx, b.Logger, "budget: the output schema of a tool has no array and no bound; an answer that is too large is refused, or loses the ends of its texts",
			slog.String("tool", tool.Name))
	}
}

// look reports whether a schema contains an array, whose items can be left out, and whether
// it contains a string or an object without a bound.
func look(schema any) (array, open bool) {
	below, _ := schema.([]any)
	if s, ok := schema.(map[string]any); ok {
		is := func(kind string) bool {
			kinds, _ := s["type"].([]any)
			return s["type"] == kind || slices.Contains(kinds, any(kind))
		}
		has := func(keyword string) bool { _, ok := s[keyword]; return ok }
		array = is("array")
		open = is("string") && !has("maxLength") && !has("enum") && !has("const") ||
			is("object") && !has("maxProperties") && s["additionalProperties"] != false
		below = slices.Collect(maps.Values(s))
	}
	for _, one := range below {
		a, o := look(one)
		array, open = array || a, open || o
	}
	return array, open
}
