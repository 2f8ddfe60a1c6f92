package whole_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/replay"
)

// What a caller with a key is told is what a repetition with the key does: a kept
// failure of unknown effect comes again, and is no fresh try.
func TestAKeyInTheAdvice(t *testing.T) {
	refused := fault.New(fault.KindServiceUnavailable, "busy").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
	rerun := replay.New(&replay.Options{Rerun: func(string) bool { return true }})
	for name, tc := range map[string]struct {
		replay mcp.Middleware
		fails  error
		says   string
		runs   int
	}{
		"kept":            {replay.New(nil), syscall.ECONNRESET, "Connection failed", 1},
		"had no effect":   {replay.New(nil), refused, "Nothing was changed by this call", 2},
		"is run again":    {rerun, syscall.ECONNRESET, "With the same idempotency key it takes effect only once", 2},
		"no key is known": {nil, syscall.ECONNRESET, "Connection failed", 2},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, harness.Setup{
				Handlers:   map[string]harness.Handler{"add": func(context.Context, mcp.Request) (mcp.Result, error) { runs++; return nil, tc.fails }},
				Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Replay: tc.replay})},
			})
			for range 2 {
				res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "add", Arguments: map[string]any{"word": "x"}, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "k"},
				})
				require.NoError(t, err)
				require.Contains(t, res.Content[0].(*mcp.TextContent).Text, tc.says)
			}
			require.Equal(t, tc.runs, runs)
		})
	}
}
