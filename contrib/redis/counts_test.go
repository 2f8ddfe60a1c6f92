package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/limit"
)

// TestRoundTripsOfCounts counts those of calls whose tokens several servers count together.
func TestRoundTripsOfCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		hook := new(counting)
		p.client.AddHook(hook)
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		handler := func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
		call := func(server mcp.MethodHandler, user, tool string) int {
			hook.take()
			_, _ = server(t.Context(), "tools/call", &mcp.CallToolRequest{
				Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}},
				Params: &mcp.CallToolParamsRaw{Name: tool, Arguments: []byte(`{"a":1}`)},
			})
			return hook.take()
		}
		limited := limit.New(&limit.Options{Wait: -1, Shared: s, Limits: []limit.Limit{
			{Calls: 2, Per: time.Hour}, {Scope: limit.PerTool, Calls: 1000}, {Scope: limit.ForAll, Calls: 1000},
		}})(handler)
		for i := range 40 { // each node of a cluster learns the scripts
			call(limited, fmt.Sprint("warm", i), "it")
		}
		for range 2 {
			require.Equal(t, 1, call(limited, "ann", "it"), "three limits")
		}
		require.Equal(t, 1, call(limited, "ann", "it"), "of which one is used up")
	})
}
