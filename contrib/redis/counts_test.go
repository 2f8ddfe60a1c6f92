package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/retry"
)

// TestRoundTripsOfCounts counts those of calls whose tokens and failures several servers count together.
func TestRoundTripsOfCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		hook := new(counting)
		p.client.AddHook(hook)
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		var fails error
		during := func() {}
		handler := func(context.Context, string, mcp.Request) (mcp.Result, error) {
			during()
			if fails != nil {
				return nil, fails
			}
			return &mcp.CallToolResult{}, nil
		}
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
		guided := retry.New(&retry.Options{Store: s})(handler)
		for i := range 40 { // each node of a cluster learns the scripts
			fails = errors.New("broken")
			call(limited, fmt.Sprint("warm", i), "it")
			call(guided, fmt.Sprint("warm", i), "it")
		}
		fails = nil
		for range 2 {
			require.Equal(t, 1, call(limited, "ann", "it"), "three limits")
		}
		require.Equal(t, 1, call(limited, "ann", "it"), "of which one is used up")

		const look = 1 // before the handler runs
		require.Equal(t, look, call(guided, "bob", "it"))
		fails = errors.New("broken")
		for range 5 {
			require.Equal(t, look+1, call(guided, "ann", "it"), "a failure")
		}
		other := retry.New(&retry.Options{Store: s})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, fails })
		during = func() { // another server writes what this one has read
			during = func() {}
			require.Equal(t, look+1, call(other, "ann", "it"))
			hook.take()
		}
		require.Equal(t, 2, call(guided, "ann", "it"), "it is told what stands there, and writes again")
		during = func() { t.Error("it runs") }
		require.Equal(t, look+1, call(guided, "ann", "it"), "a refusal: the failures of both servers count, and the caller has changed nothing")
		during = func() {}
		require.Equal(t, look+1, call(guided, "cat", "it"))
		fails = nil
		require.Equal(t, look+1, call(guided, "cat", "it"), "a success, after which the failure is forgotten")
		require.Equal(t, look, call(guided, "cat", "it"))
		require.Equal(t, look+2, call(guided, "ann", "other"), "a change of one who is refused is noted")
	})
}
