package recover_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestGoLosesNothing panics in a goroutine whose channel nobody reads.
func TestGoLosesNothing(t *testing.T) {
	log := harness.NewLog(0)
	got := harness.Call(t, rawAt, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		mcprecover.Go(ctx, func(context.Context) error { panic("lost") })
		return harness.Success(req), nil
	}, correlate.New(&correlate.Options{Logger: log.Logger()}))
	require.NotContains(t, string(got.Wire), "lost")
	harness.Eventually(t, func() bool { return len(log.Records()) == 1 })
	record := log.Only(t)
	require.Equal(t, "panic: lost", record["error"])
	require.NotEmpty(t, record["reference"])
	require.Contains(t, record["stack"], "TestGoLosesNothing")
}
