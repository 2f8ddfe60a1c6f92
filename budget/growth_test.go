package budget_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/middleware"
)

// around stands around a handler that has one tool or resource, whose answer is res.
func around(o *budget.Options, schema any, res mcp.Result) mcp.MethodHandler {
	return budget.New(o)(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "it", InputSchema: map[string]any{"type": "object"}, OutputSchema: schema}}}, nil
		}
		return res, nil
	})
}

// session is one that may be asked for its tools.
var session = &mcp.ServerSession{}

func calling(tool string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: tool}}
}

func blocks(n int, block func(i int) mcp.Content) *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	for i := range n {
		res.Content = append(res.Content, block(i))
	}
	return res
}

func texts(text string) func(n int) *mcp.CallToolResult {
	return func(n int) *mcp.CallToolResult {
		return blocks(n, func(int) mcp.Content { return &mcp.TextContent{Text: text} })
	}
}

func structured(value func(n int) string) func(n int) *mcp.CallToolResult {
	return func(n int) *mcp.CallToolResult {
		raw := value(n)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: raw}}, StructuredContent: json.RawMessage(raw)}
	}
}

func list(n int, item func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(",["[min(1, max(0, 1-i))])
		b.WriteString(item(i))
	}
	return b.String() + "]"
}

// large makes answers of any size.
var large = map[string]struct {
	schema string
	answer func(n int) *mcp.CallToolResult
}{
	"texts":                {"", texts("a text.")},
	"texts without a byte": {"", texts("")},
	"texts that are JSON":  {"", texts(`{"a":1}`)},
	"texts that begin as JSON": {"", func(n int) *mcp.CallToolResult {
		res := texts("[[[[[[[[")(n)
		res.Content = append(res.Content, &mcp.TextContent{Text: strings.Repeat("[", 8*n)}, &mcp.TextContent{Text: strings.Repeat("[", 8*n)})
		return res
	}},
	"images": {"", func(n int) *mcp.CallToolResult {
		return blocks(n, func(int) mcp.Content { return &mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 9)} })
	}},
	"images that are too large": {"", func(n int) *mcp.CallToolResult {
		data := make([]byte, 5000)
		return blocks(n/100, func(int) mcp.Content { return &mcp.ImageContent{MIMEType: "image/png", Data: data} })
	}},
	"resources": {"", func(n int) *mcp.CallToolResult {
		return blocks(n, func(i int) mcp.Content {
			return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: fmt.Sprint("a://", i), Text: "some text"}}
		})
	}},
	"links": {"", func(n int) *mcp.CallToolResult {
		return blocks(n, func(i int) mcp.Content { return &mcp.ResourceLink{URI: fmt.Sprint("a://", i)} })
	}},
	"a long text": {"", func(n int) *mcp.CallToolResult { return texts(strings.Repeat("a", 8*n))(1) }},
	"a long text and many": {"", func(n int) *mcp.CallToolResult {
		res := texts("x")(n)
		res.Content = append(res.Content, &mcp.TextContent{Text: list(n, func(i int) string { return `{"a":1}` })})
		return res
	}},
	"a value beside many blocks": {"", func(n int) *mcp.CallToolResult {
		res := texts("")(n)
		res.Content = append(res.Content, blocks(n, func(int) mcp.Content { return &mcp.ImageContent{Data: make([]byte, 9)} }).Content...)
		res.StructuredContent = json.RawMessage(list(n, func(i int) string { return `{"a":1}` }))
		return res
	}},
	"items": {"", structured(func(n int) string { return list(n, func(int) string { return "1" }) })},
	"larger items": {"", structured(func(n int) string {
		return list(n/10, func(int) string { return `{"a":"` + strings.Repeat("x", 90) + `"}` })
	})},
	"items of which the schema wants all": {`{"minItems":500}`, structured(func(n int) string {
		return list(n/10, func(int) string { return `{"a":["` + strings.Repeat("x", 90) + `"]}` })
	})},
	"items that the schema does not allow": {`{"type":"string"}`, structured(func(n int) string {
		return list(n/10, func(int) string { return `["` + strings.Repeat("x", 90) + `"]` })
	})},
	"lists in a list": {"", structured(func(n int) string {
		return list(n/40, func(int) string { return list(40, func(int) string { return "123" }) })
	})},
	"lists in an object": {"", structured(func(n int) string {
		var b strings.Builder
		for i := range n / 40 {
			fmt.Fprintf(&b, `"k%d":%s,`, i, list(40, func(int) string { return "123" }))
		}
		return `{` + b.String() + `"a":1}`
	})},
	"names": {"", structured(func(n int) string { return `{` + strings.Repeat(`"a":1,`, n) + `"b":1}` })},
	"texts under names": {"", structured(func(n int) string {
		return `{` + strings.Repeat(`"a":"`+strings.Repeat("x", 200)+`",`, n/20) + `"b":1}`
	})},
	"a long name": {"", structured(func(n int) string {
		return `{"` + strings.Repeat("n", n) + `":` + list(n/50, func(int) string { return `{"a":["` + strings.Repeat("x", 90) + `"]}` }) + `}`
	})},
	"a long name with texts": {`{"additionalProperties":{"minItems":100}}`, structured(func(n int) string {
		return `{"` + strings.Repeat("n", n) + `":` + list(n/50, func(int) string { return `["` + strings.Repeat("x", 900) + `"]` }) + `}`
	})},
	"depth": {"", structured(func(n int) string {
		return strings.Repeat(`{"a":[`, 2000) + list(n, func(int) string { return "1" }) + strings.Repeat("]}", 2000)
	})},
	"depth everywhere": {"", structured(func(n int) string {
		return list(n/40, func(int) string {
			return strings.Repeat("[", 40) + `"` + strings.Repeat("x", 20) + `"` + strings.Repeat("]", 40)
		})
	})},
	"escapes":         {"", structured(func(n int) string { return `{"a":"` + strings.Repeat(`\u0000`, n) + `"}` })},
	"escaped quotes":  {"", structured(func(n int) string { return `{"a":"` + strings.Repeat(`\\\"`, n) + `"}` })},
	"spaces":          {"", structured(func(n int) string { return `{"a":[` + strings.Repeat("1 ,\n\t", n) + `1]}` })},
	"a text for JSON": {"", func(n int) *mcp.CallToolResult { return texts(list(n, func(int) string { return `{"a":1}` }))(1) }},
	"a failure": {"", func(n int) *mcp.CallToolResult {
		res := texts("it failed. ")(n)
		res.IsError = true
		return res
	}},
}

// growsNoFasterThanItsInput runs what make prepares for n and for 4n: four times as much may take
// about four times the time and the memory.
func growsNoFasterThanItsInput(t *testing.T, n int, prepare func(n int) (run func())) {
	t.Helper()
	cost := func(n int) (time.Duration, uint64) {
		run := prepare(n)
		var before, after runtime.MemStats
		best := time.Hour
		for range 2 {
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			run()
			best = min(best, time.Since(began))
			runtime.ReadMemStats(&after)
		}
		return best, after.TotalAlloc - before.TotalAlloc
	}
	for try := 1; ; try++ {
		took, bytes := cost(n)
		more, moreBytes := cost(4 * n)
		require.Less(t, moreBytes, 5*bytes+1<<20)
		// A busy machine adds milliseconds, and what grows with the square of its input adds seconds.
		if more < 8*took+100*time.Millisecond {
			return
		}
		require.Less(t, try, 5, "%v for n, %v for 4n", took, more)
	}
}

// TestAnswersCostWhatTheyAreLong, whatever they are made of, and what is kept of them too.
func TestAnswersCostWhatTheyAreLong(t *testing.T) {
	req := calling("it")
	for name, c := range large {
		for count, o := range map[string]budget.Options{
			"estimate": {Size: 1000, MaxKept: 1 << 30},
			"words":    {Size: 1000, Count: func(text string) int { return len(text)/4 + strings.Count(text, " ") }},
		} {
			t.Run(name+"/"+count, func(t *testing.T) {
				var schema any = map[string]any{}
				if c.schema != "" {
					schema = json.RawMessage(c.schema)
				}
				growsNoFasterThanItsInput(t, 6_000, func(n int) func() {
					h := around(&o, schema, c.answer(n))
					return func() { _, _ = h(t.Context(), middleware.MethodCallTool, req) }
				})
			})
		}
	}
}

// TestFiveMegabytesAreNotDecoded: what is left out is read once, as bytes. Only what is shown is decoded, to
// check it against the schema.
func TestFiveMegabytesAreNotDecoded(t *testing.T) {
	item := `{"id":123,"name":"somebody","tags":["a","b"],"text":"` + strings.Repeat("x", 60) + `"}`
	value := func(bytes int) string {
		return `{"results":` + list(bytes/len(item), func(int) string { return item }) + `}`
	}
	allocs := func(schema any, res *mcp.CallToolResult) float64 {
		h := around(&budget.Options{MaxKept: 1 << 30}, schema, res)
		req := calling("it")
		return testing.AllocsPerRun(3, func() { _, _ = h(t.Context(), middleware.MethodCallTool, req) })
	}
	require.Less(t, allocs(nil, structured(func(int) string { return value(5 << 20) })(0)), 200.0)
	require.Less(t, allocs(nil, texts(value(5<<20))(1)), 200.0)
	schema := map[string]any{"type": "object"}
	few, many := allocs(schema, structured(func(int) string { return value(100 << 10) })(0)), allocs(schema, structured(func(int) string { return value(5 << 20) })(0))
	require.Less(t, many, few+100, "fifty times as many items")

	encoded := 0
	res := texts("{}")(1)
	res.StructuredContent = encodes{&encoded, value(1 << 20)}
	_ = allocs(nil, res)
	require.Equal(t, 4, encoded, "once a call")
}

// encodes is a value that counts how often it is encoded.
type encodes struct {
	times *int
	raw   string
}

func (e encodes) MarshalJSON() ([]byte, error) {
	*e.times++
	return []byte(e.raw), nil
}
