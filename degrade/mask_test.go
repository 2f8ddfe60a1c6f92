package degrade_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
)

// TestAScrubberThatPanics: it costs the words of one part, and neither the others nor the
// process. Run tells parts outside of what guards a whole answer.
func TestAScrubberThatPanics(t *testing.T) {
	var told degrade.Status
	var err error
	masked := mask.New(&mask.Options{
		Logger: slog.New(slog.DiscardHandler), Reader: mask.Trusted,
		Scrub: func(string) string { panic(harness.Canary) },
	})
	_, _ = masked(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		told, err = degrade.Run(ctx, degrade.Optional("it", new(string), fail[string](errors.New("no map"))), degrade.Required("more", new(string), give("more")))
		return &mcp.CallToolResult{}, nil
	})(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}})
	require.NoError(t, err)
	require.True(t, told.Degraded)
	require.Equal(t, []string{"more"}, told.Metadata.ComponentsReturned)
	require.NotContains(t, told.Text(), harness.Canary)
	require.Contains(t, told.Text(), "Internal error")
}
