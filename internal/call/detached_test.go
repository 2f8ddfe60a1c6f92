package call_test

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestDetachedContext runs a middleware that loses the context of the call, so that
// those inside of it render an answer of their own: nothing may leave by that way.
func TestDetachedContext(t *testing.T) {
	detach := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.Background(), method, req)
		}
	}
	secret := errors.New("billing of " + harness.Canary + " failed")
	harness.Each(t, append(harness.Tools(), harness.ServerResource, harness.ServerPrompt), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(0)
		got := harness.Call(t, at, harness.Fail(secret),
			mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(nil), detach, mcprecover.New(nil))
		require.NotContains(t, string(got.Wire), harness.Canary)
		require.Contains(t, got.Text(), "Internal error: the server failed unexpectedly")
		require.Contains(t, got.Text(), "Reference: ")
		require.Equal(t, got.Fault().Reference(), log.Only(t)["reference"])
		require.Contains(t, log.Only(t)["error"], harness.Canary)
	})
}
