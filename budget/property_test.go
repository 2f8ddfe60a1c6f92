package budget_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// FuzzAnswers makes a schema and a value that fits it, and looks at the answer that is
// made of it: it is small enough, it fits the schema, text and structured content agree,
// and with what can be fetched it is the whole value. Where nothing can be left out, the
// whole value can be fetched.
func FuzzAnswers(f *testing.F) {
	seeds := uint64(30)
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		seeds = 100
	}
	for seed := range seeds {
		f.Add(seed, 300+int(seed*7)%900, seed%3 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, size int, estimate bool) {
		if size < 300 || size > 3000 {
			t.Skip("a size that New refuses or that cuts nothing of these answers")
		}
		g := &generator{rand.New(rand.NewPCG(seed, 1))}
		schema, value := g.object(3)
		whole, err := json.Marshal(value())
		require.NoError(t, err)
		if len(whole) > 100_000 {
			t.Skip("an answer so large that the other inputs would wait for it")
		}
		o := budget.Options{Size: size, Count: inBytes}
		most := size
		if estimate {
			o.Count, most = nil, 3*size
		}
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
			Middleware: []mcp.Middleware{budget.New(&o)},
			More: func(s *mcp.Server) {
				s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, OutputSchema: schema},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{StructuredContent: json.RawMessage(whole), Content: []mcp.Content{&mcp.TextContent{Text: string(whole)}}}, nil
					})
			},
		})
		resolved := resolve(t, schema)
		require.NoError(t, resolved.Validate(decoded(t, whole)), "the test is wrong")

		got := s.CallTool(t.Context(), "it", nil)
		if f := got.Fault(); f != nil {
			require.Equal(t, "ANSWER_TOO_LARGE", f.Code(), "%s", got.Text())
			cursor := f.Data().RecoverySteps[0].Parameters["cursor"].(string)
			texts, _ := fetch(t, s, cursor, most)
			require.Equal(t, string(whole), strings.Join(texts, ""))
			return
		}
		sum := 0
		for _, c := range got.Tool().Content {
			sum += len(c.(*mcp.TextContent).Text)
		}
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(got.Tool().StructuredContent))
		structured := bytes.TrimSpace(plain.Bytes())
		require.LessOrEqual(t, max(sum, len(structured)), most)
		require.NoError(t, resolved.Validate(decoded(t, structured)))
		require.JSONEq(t, string(structured), got.Text())

		var leftOut []budget.LeftOut
		raw, err := json.Marshal(got.Tool().Meta[budget.MetaKey])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &leftOut))
		for _, l := range leftOut {
			texts, notes := fetch(t, s, l.Cursor, most)
			before, after := at(t, decoded(t, whole), l.Path), at(t, decoded(t, []byte(got.Text())), l.Path)
			if l.Unit == "bytes" {
				shown := strings.TrimSuffix(after.(string), " ... [the rest is left out]")
				require.Equal(t, before, shown+strings.Join(texts, ""), l.Path)
				continue
			}
			items := after.([]any)
			require.Len(t, items, l.Shown)
			require.Len(t, before, l.Total)
			rest := joined(t, texts, notes)
			require.Equal(t, before.([]any)[l.Shown:], rest, l.Path)
		}
		if len(leftOut) == 0 {
			require.JSONEq(t, string(whole), string(structured))
		}
	})
}

func decoded(t testing.TB, raw []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &v), "%s", raw)
	return v
}

func resolve(t testing.TB, schema map[string]any) *jsonschema.Resolved {
	t.Helper()
	raw, err := json.Marshal(schema)
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

// fetch returns all pages from a cursor on, and what stands below each.
func fetch(t testing.TB, s *harness.Session, cursor string, most int) (texts, notes []string) {
	t.Helper()
	for range 10_000 {
		got := s.CallTool(t.Context(), "read_more", map[string]any{"cursor": cursor})
		require.Nil(t, got.Fault())
		content := got.Tool().Content
		require.Len(t, content, 2)
		note := content[1].(*mcp.TextContent).Text
		require.LessOrEqual(t, len(got.Text())+len(note), most)
		texts, notes = append(texts, got.Text()), append(notes, note)
		m := regexp.MustCompile(`"cursor":"([^"]+)"`).FindStringSubmatch(note)
		if m == nil {
			return texts, notes
		}
		cursor = m[1]
	}
	t.Fatal("the pages do not end")
	return nil, nil
}

// joined puts the pages of a list together: lists of whole items, and parts of the text
// of one.
func joined(t testing.TB, texts, notes []string) (items []any) {
	t.Helper()
	part := regexp.MustCompile(`^Bytes (\d+) to (\d+) of (\d+) of the JSON text of item`)
	var item bytes.Buffer
	for i, text := range texts {
		m := part.FindStringSubmatch(notes[i])
		if m == nil {
			items = append(items, decoded(t, []byte(text)).([]any)...)
			continue
		}
		item.WriteString(text)
		if m[2] == m[3] {
			items = append(items, decoded(t, item.Bytes()))
			item.Reset()
		}
	}
	require.Zero(t, item.Len())
	return items
}

// at returns what stands at a path such as a.b[0].c.
func at(t testing.TB, v any, path string) any {
	t.Helper()
	for _, part := range regexp.MustCompile(`[a-z0-9]+|\[\d+\]`).FindAllString(path, -1) {
		if index, ok := strings.CutPrefix(part, "["); ok {
			i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			require.NoError(t, err)
			v = v.([]any)[i]
			continue
		}
		v = v.(map[string]any)[part]
	}
	return v
}

// A generator makes schemas, each with a value that fits it.
type generator struct{ *rand.Rand }

func (g *generator) any(depth int) (schema map[string]any, value func() any) {
	kinds := 4
	if depth > 0 {
		kinds = 7
	}
	switch g.IntN(kinds) {
	case 0:
		return map[string]any{"type": "integer"}, func() any { return g.IntN(1_000_000) }
	case 1:
		return map[string]any{"type": "boolean"}, func() any { return g.IntN(2) == 0 }
	case 2:
		return map[string]any{"type": "string", "pattern": "^(x|[0-9]| )+!$"}, func() any { return strings.Repeat("x 7", g.IntN(200)) + " !" }
	case 3:
		schema, words := map[string]any{"type": "string"}, []string{"word. ", "größer ", "line\n", "\"quoted\" ", "<tag>& "}
		if g.IntN(3) == 0 {
			schema["minLength"] = 200
		}
		return schema, func() any {
			var b strings.Builder
			for n := 40 + g.IntN(400); n > 0; n-- {
				b.WriteString(words[g.IntN(len(words))])
			}
			return b.String()
		}
	case 4:
		return g.object(depth - 1)
	default:
		items, item := g.any(depth - 1)
		schema := map[string]any{"type": "array", "items": items}
		fewest := 0
		if g.IntN(3) == 0 {
			fewest = g.IntN(5)
			schema["minItems"] = fewest
		}
		return schema, func() any {
			list := make([]any, fewest+g.IntN(10))
			for i := range list {
				list[i] = item()
			}
			return list
		}
	}
}

func (g *generator) object(depth int) (schema map[string]any, value func() any) {
	properties, makes, names := map[string]any{}, map[string]func() any{}, []string{}
	for i := range 1 + g.IntN(4) {
		name := fmt.Sprint("p", i)
		properties[name], makes[name] = g.any(depth)
		names = append(names, name)
	}
	schema = map[string]any{"type": "object", "properties": properties, "required": names, "additionalProperties": false}
	return schema, func() any {
		o := map[string]any{}
		for _, name := range names {
			o[name] = makes[name]()
		}
		return o
	}
}
