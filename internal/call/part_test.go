package call_test

import (
	"context"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/wire"
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

// TestAPartHasNoReferenceOfItsOwn: the success of a call has one, also where it is made of parts that may be kept.
func TestAPartHasNoReferenceOfItsOwn(t *testing.T) {
	inCall(t, func(_ context.Context, c *call.Call) {
		part := c.Below(c, "1", toolRequest("it"))
		part.ReferAtEnd()
		res, err := part.Finish(&mcp.CallToolResult{}, nil)
		require.NoError(t, err)
		require.Empty(t, res.GetMeta())

		c.ReferAtEnd()
		res, err = c.Finish(&mcp.CallToolResult{}, nil)
		require.NoError(t, err)
		require.Equal(t, c.ID(), res.GetMeta()[wire.ReferenceKey])
	})
}
