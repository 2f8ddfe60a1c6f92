package validate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// TestGrowth: three times the arguments take about three times as long, with Tool and with
// what a handler's own checks say, each used alone and without a recovery.
func TestGrowth(t *testing.T) {
	const schema = `{"type":"object","properties":{"e":{"$ref":"#/$defs/e"},"l":{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"integer"},{"type":"object","required":["a"]}]}}},
		"additionalProperties":false,"$defs":{"e":{"oneOf":[{"properties":{"and":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["and"]},{"properties":{"and":{"type":"array","items":{"$ref":"#/$defs/e"}}},"required":["or"]}]}}}`
	fields := func(n int) error {
		list := make(fieldErrors, n)
		for i := range list {
			list[i] = aField{"min", "1", fmt.Sprintf("Input.Name%d", i), ""}
		}
		return validate.Arguments(list)
	}
	handler := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fields(len(req.Params.Arguments) / 10)
	}
	tool := validate.Tool(json.RawMessage(schema), handler)
	own := middleware.Tool(handler, validate.New(nil))
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
			took := func(n int) time.Duration {
				req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(c.args(n))}}
				best := time.Hour
				for range 6 {
					begin := time.Now()
					res, err := c.handler(t.Context(), req)
					best = min(best, time.Since(begin))
					require.NoError(t, err)
					require.True(t, res.IsError)
				}
				return best
			}
			n := 200
			small := took(n)
			for small < 5*time.Millisecond && n < 10_000 { // what is too short says nothing
				n *= 2
				small = took(n)
			}
			large := took(3 * n)
			t.Log(n, small, large)
			require.Less(t, large, 8*small+60*time.Millisecond, "three times of %d", n)
			require.Less(t, large, 4*time.Second)
		})
	}
}
