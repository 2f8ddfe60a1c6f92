package budget

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/ask"
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
