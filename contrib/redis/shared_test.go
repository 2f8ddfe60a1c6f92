package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/limit"
)

// Two servers with one Redis count the tokens of a limit together.
func TestTwoServersCountTogether(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		runs := 0
		server := func() mcp.MethodHandler {
			return limit.New(&limit.Options{Wait: -1, Shared: s, Limits: []limit.Limit{{Calls: 4, Per: time.Hour}}})(
				func(context.Context, string, mcp.Request) (mcp.Result, error) {
					runs++
					return &mcp.CallToolResult{}, nil
				})
		}
		servers := []mcp.MethodHandler{server(), server()}
		for i := range 10 {
			_, _ = servers[i%2](t.Context(), "tools/call", &mcp.CallToolRequest{
				Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ann"}},
				Params: &mcp.CallToolParamsRaw{Name: "it"},
			})
		}
		require.Equal(t, 4, runs)
	})
}
