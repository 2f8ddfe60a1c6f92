package retry_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/retry"
)

// Where nothing is counted a masked failure says what ends a loop.
func TestWhoIsNotCounted(t *testing.T) {
	nobody := &retry.Options{Owner: func(context.Context, mcp.Request) string { return "" }}
	for name, err := range map[string]error{"unknown": errCanary, "a service": errReset} {
		for tool, a := range map[string]*mcp.ToolAnnotations{"not annotated": nil, "reads": readOnly, "adds": additive} {
			t.Run(name+"/"+tool, func(t *testing.T) {
				s := annotated(t, a, nobody, harness.Fail(err))
				for range 5 {
					text := s.Call(t, "it").Text()
					suggestion := "\nSuggestion: Tell the user if it fails again.\n"
					if name == "a service" && tool == "reads" {
						suggestion = "\nSuggestion: Keep the arguments: they are not the cause. If it fails again, wait longer each time, and tell the user after 5 min.\n"
					}
					require.Contains(t, text, suggestion)
				}
				counted := annotated(t, a, nil, harness.Fail(err))
				require.NotContains(t, strings.ToLower(counted.Call(t, "it").Text()), "if it fails again")
			})
		}
	}
	worded := harness.Start(t, rawAt, harness.Setup{
		Handlers:   map[string]harness.Handler{"it": harness.Tell()},
		Middleware: chain(harness.NewLog(slog.LevelError+1), nobody),
	})
	require.Equal(t, harness.ToldText, worded.Call(t, "it").Text(), "the words of a tool stay as they are")
}
