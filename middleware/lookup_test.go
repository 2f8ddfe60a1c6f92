package middleware_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestLookup asks the server for its tools from outside of our middlewares and from
// between them: neither is recorded, and what stands inside can tell them from calls.
func TestLookup(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug)
	var told []bool
	inside := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			told = append(told, middleware.IsLookup(ctx))
			return next(ctx, method, req)
		}
	}
	asks := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == middleware.MethodCallTool {
				_, err := next(middleware.Lookup(ctx), "tools/list", &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}})
				require.NoError(t, err)
				require.False(t, middleware.IsLookup(ctx))
			}
			return next(ctx, method, req)
		}
	}
	record := correlate.New(&correlate.Options{Logger: log.Logger()})
	handler := middleware.Chain(asks, record, asks, inside)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.ListToolsResult{}, nil
	})
	_, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false}, told)
	require.Len(t, log.Records(), 1)
}
