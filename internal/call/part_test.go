package call_test

import (
	"context"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestPart(t *testing.T) {
	ask := func() []int {
		var seen []int
		h := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			c := call.FromContext(ctx)
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					n := c.NextPart()
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, n)
				})
			}
			wg.Wait()
			return harness.Success(req), nil
		}
		harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, h, middleware.Render(nil))
		return seen
	}
	for range 2 { // each call counts anew
		require.ElementsMatch(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, ask())
	}
}
