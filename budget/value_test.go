package budget_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// cut returns what becomes of an answer.
func cut(t *testing.T, schema string, res *mcp.CallToolResult) (*mcp.CallToolResult, []budget.LeftOut, *fault.Error) {
	t.Helper()
	h := around(&budget.Options{Size: 1000, Count: inBytes}, json.RawMessage(schema), res)
	out, err := h(t.Context(), middleware.MethodCallTool, calling("it"))
	if f, failed := middleware.FaultOf(out, err); failed {
		return nil, nil, f
	}
	got := out.(*mcp.CallToolResult)
	leftOut, _ := got.Meta[budget.MetaKey].([]budget.LeftOut)
	return got, leftOut, nil
}

// TestWhichTextIsJSON: a list or an object that is most of the answer loses items, and stays
// JSON. Whatever else begins like one is a text.
func TestWhichTextIsJSON(t *testing.T) {
	item := func(int) string { return `{"a":1}` }
	array, short := list(400, item), list(10, item)
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	for name, c := range map[string]struct {
		content []mcp.Content
		unit    string
		total   int
		path    string
	}{
		"a list":                        {[]mcp.Content{text(array)}, "items", 400, ""},
		"an object":                     {[]mcp.Content{text(`{"l":` + array + `}`)}, "items", 400, "l"},
		"with spaces around it":         {[]mcp.Content{text(" \n" + array + "\t")}, "items", 400, ""},
		"beside a text":                 {[]mcp.Content{text("It is:"), text(array)}, "items", 400, ""},
		"beside a picture":              {[]mcp.Content{&mcp.ImageContent{Data: make([]byte, 90)}, text(array)}, "items", 400, ""},
		"half of it":                    {[]mcp.Content{text(array), text(strings.Repeat("x", len(array)))}, "items", 400, ""},
		"the second half of it":         {[]mcp.Content{text(strings.Repeat("x", len(array))), text(array)}, "items", 400, ""},
		"less than half of it":          {[]mcp.Content{text(short), text(strings.Repeat("x", 3000))}, "blocks", 2, ""},
		"nearly half of it":             {[]mcp.Content{text(array), text(strings.Repeat("x", len(array)+1))}, "blocks", 2, ""},
		"the second of two":             {[]mcp.Content{text(short), text(array)}, "items", 400, ""},
		"a string":                      {[]mcp.Content{text(`"` + strings.Repeat("x", 3000) + `"`)}, "bytes", 3002, ""},
		"a number":                      {[]mcp.Content{text(strings.Repeat("1", 3000))}, "bytes", 3000, ""},
		"a list that does not end":      {[]mcp.Content{text(array[:len(array)-1])}, "bytes", len(array) - 1, ""},
		"a list and more":               {[]mcp.Content{text(array + ".")}, "bytes", len(array) + 1, ""},
		"spaces":                        {[]mcp.Content{text(strings.Repeat(" ", 3000))}, "bytes", 3000, ""},
		"a list that is no text":        {[]mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Text: array}}}, "blocks", 1, ""},
		"a nil beside it":               {[]mcp.Content{(*mcp.TextContent)(nil), text(array)}, "items", 400, ""},
		"a list with a text in the way": {[]mcp.Content{text("[" + strings.Repeat("x", len(array))), text(array)}, "blocks", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, leftOut, f := cut(t, `{}`, &mcp.CallToolResult{Content: c.content})
			require.Nil(t, f)
			require.NotEmpty(t, leftOut)
			l := leftOut[len(leftOut)-1]
			require.Equal(t, c.unit, l.Unit)
			require.Equal(t, c.total, l.Total)
			require.Equal(t, c.path, l.Path)
			if c.unit == "items" {
				require.True(t, json.Valid([]byte(got.Content[0].(*mcp.TextContent).Text)))
			}
		})
	}
	// Where the structured content fits, it is left alone whatever the texts are.
	got, leftOut, f := cut(t, `{}`, &mcp.CallToolResult{Content: []mcp.Content{text(array)}, StructuredContent: json.RawMessage(short)})
	require.Nil(t, f)
	require.Equal(t, "bytes", leftOut[0].Unit)
	require.JSONEq(t, short, string(got.StructuredContent.(json.RawMessage)))
}

// TestWhatTheSchemaNeverAllows is cut nowhere: a value that does not fit the schema as it came,
// and one that the schema wants whole.
func TestWhatTheSchemaNeverAllows(t *testing.T) {
	raw := list(300, func(int) string { return `"1234567"` })
	res := &mcp.CallToolResult{StructuredContent: json.RawMessage(raw), Content: []mcp.Content{&mcp.TextContent{Text: raw}}}
	for _, schema := range []string{`{"type":"object"}`, `{"minItems":300}`, `{"not":{}}`, `{"maxItems":3}`} {
		_, _, f := cut(t, schema, res)
		require.NotNil(t, f, schema)
		require.Equal(t, "ANSWER_TOO_LARGE", f.Code(), schema)
	}
	_, leftOut, f := cut(t, `{"minItems":7}`, res)
	require.Nil(t, f)
	require.Equal(t, 300, leftOut[0].Total)

	// It fits one item, and the schema wants three: the fewest that it allows are shown.
	long := list(300, func(int) string { return `"` + strings.Repeat("x", 400) + `"` })
	_, leftOut, f = cut(t, `{"minItems":3}`, &mcp.CallToolResult{StructuredContent: json.RawMessage(long), Content: []mcp.Content{&mcp.TextContent{Text: long}}})
	require.Nil(t, f)
	require.Equal(t, 3, leftOut[0].Shown)
}

// TestEachCutIsWorthIt: what cannot be shorter is tried once, and something else is cut instead.
func TestEachCutIsWorthIt(t *testing.T) {
	const some = -1
	item := func(text string) func(int) string { return func(int) string { return text } }
	solid := item(`{` + strings.Repeat(`"a":1,`, 66) + `"b":2}`) // 400 bytes, nothing of which can be left out
	for name, c := range map[string]struct {
		schema, value string
		want          []budget.LeftOut // none: too large
	}{
		"a list that has to stay is tried once": {
			`{"properties":{"a":{"minItems":50}}}`,
			`{"a":` + list(60, item(`"1234567890"`)) + `,"b":` + list(50, item(`"12345678"`)) + `}`,
			[]budget.LeftOut{{Path: "a", Unit: "items", Shown: 50, Total: 60}, {Path: "b", Unit: "items", Shown: some, Total: 50}},
		},
		"the first item stays, its text is cut": {
			`{}`, list(3, item(`"`+strings.Repeat("x", 2000)+`"`)),
			[]budget.LeftOut{{Unit: "items", Shown: 1, Total: 3}, {Path: "[0]", Unit: "bytes", Shown: some, Total: 2000}},
		},
		"the first item goes": {
			`{}`, `{"a":` + list(1, solid) + `,"b":` + list(1, solid) + `,"c":` + list(1, solid) + `}`,
			[]budget.LeftOut{{Path: "a", Unit: "items", Shown: 0, Total: 1}},
		},
		"the first item of another list goes": {
			`{"properties":{"a":{"minItems":1},"b":{"minItems":0}}}`, `{"a":` + list(1, item(`{"k":`+solid(0)+`}`)) + `,"b":` + list(1, solid) + `,"c":` + list(1, solid) + `}`,
			[]budget.LeftOut{{Path: "b", Unit: "items", Shown: 0, Total: 1}},
		},
		"a list that has to stay, whose text was cut": {
			`{"properties":{"a":{"minItems":1}}}`,
			`{"a":["` + strings.Repeat("x", 2000) + `"],"b":[` + strings.Repeat("1", 80) + `],"c":"` + strings.Repeat("c", 140) + `","d":"` + strings.Repeat("d", 140) + `","e":"` +
				strings.Repeat("e", 140) + `","f":"` + strings.Repeat("f", 140) + `","g":"` + strings.Repeat("g", 80) + `"}`,
			[]budget.LeftOut{{Path: "a[0]", Unit: "bytes", Shown: some, Total: 2000}, {Path: "b", Unit: "items", Shown: 0, Total: 1}},
		},
		"no list that has to stay is emptied": {`{"minItems":3}`, list(3, solid), nil},
		"a text is cut once": {
			`{}`, `{"s":"` + strings.Repeat("x", 2000) + `","a":"` + strings.Repeat("a", 140) + `","b":"` + strings.Repeat("b", 140) + `","c":"` + strings.Repeat("c", 140) + `","d":"` +
				strings.Repeat("d", 140) + `","e":"` + strings.Repeat("e", 70) + `","l":[` + strings.Repeat("1", 120) + `]}`,
			[]budget.LeftOut{{Path: "s", Unit: "bytes", Shown: some, Total: 2000}, {Path: "l", Unit: "items", Shown: 0, Total: 1}},
		},
		"a value against its schema, beside what is too large": {`{"type":"object"}`, list(78, item(`"1234567"`)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			res := &mcp.CallToolResult{StructuredContent: json.RawMessage(c.value), Content: []mcp.Content{&mcp.TextContent{Text: c.value}, &mcp.ImageContent{Data: make([]byte, 900)}}}
			if len(c.want) > 0 {
				res.Content = res.Content[:1]
			}
			got, leftOut, f := cut(t, c.schema, res)
			if c.want == nil {
				require.NotNil(t, f)
				require.Equal(t, "ANSWER_TOO_LARGE", f.Code())
				return
			}
			require.Nil(t, f)
			require.Len(t, leftOut, len(c.want))
			for i := range leftOut {
				leftOut[i].Cursor = ""
				if c.want[i].Shown == some {
					leftOut[i].Shown = some
				}
			}
			require.Equal(t, c.want, leftOut)
			require.LessOrEqual(t, len(got.StructuredContent.(json.RawMessage)), 1000)
		})
	}
}
