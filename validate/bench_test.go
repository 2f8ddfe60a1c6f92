package validate_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

var (
	good     = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}
	goodCall = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(`{"a":1}`)}}
)

func succeed(context.Context, string, mcp.Request) (mcp.Result, error) { return good, nil }

// TestSuccessCostsNothing: beside the Call, which the first middleware of any chain
// opens, nothing is allocated.
func TestSuccessCostsNothing(t *testing.T) {
	if harness.Racing {
		t.Skip("a pool forgets at random")
	}
	alone := middleware.Render(nil)(succeed)
	with := middleware.Chain(middleware.Render(nil), validate.New(nil))(succeed)
	allocs := func(h mcp.MethodHandler) float64 {
		return testing.AllocsPerRun(1000, func() { _, _ = h(context.Background(), middleware.MethodCallTool, goodCall) })
	}
	require.Equal(t, int(allocs(alone)), int(allocs(with)))
}
