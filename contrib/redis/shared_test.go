package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/retry"
)

// Two servers with one Redis count failed calls, and the tokens of a limit, together.
func TestTwoServersCountTogether(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		for name, tc := range map[string]struct {
			guard func() mcp.Middleware
			runs  int
		}{
			"retry": {func() mcp.Middleware { return retry.New(&retry.Options{Store: s}) }, 6},
			"limit": {func() mcp.Middleware {
				return limit.New(&limit.Options{Wait: -1, Shared: s, Limits: []limit.Limit{{Calls: 4, Per: time.Hour}}})
			}, 4},
		} {
			t.Run(name, func(t *testing.T) {
				runs := 0
				handler := func(context.Context, string, mcp.Request) (mcp.Result, error) {
					runs++
					return nil, errors.New("broken")
				}
				servers := []mcp.MethodHandler{tc.guard()(handler), tc.guard()(handler)}
				for i := range 10 {
					_, _ = servers[i%2](t.Context(), "tools/call", &mcp.CallToolRequest{
						Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ann"}},
						Params: &mcp.CallToolParamsRaw{Name: "it"},
					})
				}
				require.Equal(t, tc.runs, runs)
			})
		}
	})
}
