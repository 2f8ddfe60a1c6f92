package retry_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// benched are chains whose difference is what guidance costs.
func benched(h mcp.MethodHandler, opts *retry.Options) (without, with mcp.MethodHandler) {
	return mask.New(nil)(h), middleware.Chain(mask.New(nil), retry.New(opts))(h)
}

func ann(context.Context, mcp.Request) string { return "ann" }

func request(tool string, n int) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool, Arguments: fmt.Appendf(nil, `{"city":"Bonn","n":%d}`, n)}}
}

// badFails fails for the tool "bad".
func badFails(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
	if req.(*mcp.CallToolRequest).Params.Name == "bad" {
		return nil, errLimited
	}
	return goodResult, nil
}

var (
	goodResult mcp.Result = &mcp.CallToolResult{}
	errLimited            = fault.RateLimited("it", time.Second)
)

func TestGuidanceAllocatesNothing(t *testing.T) {
	without, with := benched(badFails, &retry.Options{Owner: ann})
	measure := func(h mcp.MethodHandler) float64 {
		req := request("good", 1)
		least := math.Inf(1)
		for range 5 { // what other tests left running may allocate meanwhile
			least = min(least, testing.AllocsPerRun(200, func() { _, _ = h(t.Context(), middleware.MethodCallTool, req) }))
		}
		return least
	}
	require.InDelta(t, measure(without), measure(with), 0)
	_, _ = with(t.Context(), middleware.MethodCallTool, request("bad", 1))
	require.InDelta(t, measure(without), measure(with), 0, "another tool is failing")
}
