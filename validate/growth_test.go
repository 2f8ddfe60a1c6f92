package validate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// TestGrowth: three times the arguments take about three times the memory, which stands for
// time, with Tool and with what a handler's own checks say, each used alone and without a
// recovery.
func TestGrowth(t *testing.T) {
	const schema = `{"type":"object","properties":{"e":{"$ref":"#/$defs/e"},"l":{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"integer"},{"type":"object","required":["a"]}]}}},
		"additionalProperties":false,"$defs":{"e":{"oneOf":[{"properties":{"and":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["and"]},{"properties":{"and":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["or"]}]}}}`
	fields := func(n int) error {
		list := make(fieldErrors, n)
		for i := range list {
			list[i] = aField{[]string{"min", "gtfield"}[i%2], "Other", fmt.Sprintf("Input.Name%d", i), ""}
		}
		return validate.Arguments(list)
	}
	handler := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fields(len(req.Params.Arguments) / 10)
	}
	tool := validate.Tool(json.RawMessage(schema), handler)
	own := middleware.Tool(handler, validate.New(knowing()))
	for name, c := range map[string]struct {
		handler mcp.ToolHandler
		args    func(n int) string
	}{
		"equal names": {tool, func(n int) string { return `{"a":1` + strings.Repeat(`,"a":1`, n) + `}` }},
		"deep":        {tool, func(n int) string { return `{"e":` + strings.Repeat(`{"and":[`, n) + strings.Repeat(`]}`, n) + `}` }},
		"deep and wide": {tool, func(n int) string {
			return `{"e":` + strings.Repeat(`{"and":[`, 12) + strings.Repeat(`{},`, n) + `{}` + strings.Repeat(`]}`, 12) + `}`
		}},
		"long list":  {tool, func(n int) string { return `{"l":[` + strings.Repeat(`[],`, n) + `1]}` }},
		"own checks": {own, func(n int) string { return `{"x":"` + strings.Repeat("x", n) + `"}` }},
		"own checks of many names": {own, func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `"name_%d":1,`, i)
			}
			return `{` + b.String() + `"x":1}`
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) int {
				req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(c.args(n))}}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				res, err := c.handler(t.Context(), req)
				runtime.ReadMemStats(&after)
				require.NoError(t, err)
				require.True(t, res.IsError)
				return int(after.TotalAlloc - before.TotalAlloc)
			}
			cost(1) // compiles
			for _, n := range []int{300, 3000} {
				small, large := cost(n), cost(3*n)
				t.Log(n, small>>10, large>>10)
				require.Less(t, large, 4*small+1<<20, "three times of %d", n)
			}
		})
	}
}
