package replay_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

// TestStatusTool asks what became of calls, over real connections.
func TestStatusTool(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		opts := &replay.Options{Store: store.NewMemory(nil)}
		begun, goOn := make(chan struct{}), make(chan struct{})
		start := func() *harness.Session {
			return harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
				Handlers: map[string]harness.Handler{
					"pay": harness.Succeed(),
					"slow": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
						close(begun)
						<-goOn
						return harness.Success(req), nil
					},
					"lost": harness.Fail(context.Canceled),
				},
				Middleware: []mcp.Middleware{replay.New(opts)},
				More:       func(server *mcp.Server) { replay.AddStatusTool(server, opts) },
			})
		}
		s, other := start(), start()
		call := func(tool string) {
			_, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Meta: mcp.Meta{specKey: "k"}})
			require.Equal(t, tool == "lost", err != nil)
		}
		status := func(s *harness.Session, tool, key string) string {
			t.Helper()
			res := s.CallTool(t.Context(), "call_status", map[string]any{"tool": tool, "key": key}).Tool()
			require.NotNil(t, res)
			require.False(t, res.IsError, "%v", res.Content)
			raw, err := json.Marshal(res.StructuredContent)
			require.NoError(t, err)
			var out struct{ Status, Advice string }
			require.NoError(t, json.Unmarshal(raw, &out))
			require.NotEmpty(t, out.Advice)
			return out.Status
		}
		require.Equal(t, "not_found", status(s, "pay", "k"))
		call("pay")
		require.Equal(t, "done", status(s, "pay", "k"))
		require.Equal(t, "not_found", status(s, "pay", "other"))
		require.Equal(t, "not_found", status(other, "pay", "k"), "of another caller")
		call("lost")
		require.Equal(t, "unknown_end", status(s, "lost", "k"))
		done := make(chan struct{})
		go func() { defer close(done); call("slow") }()
		<-begun
		require.Equal(t, "running", status(s, "slow", "k"))
		close(goOn)
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("the call does not end")
		}
		require.Equal(t, "done", status(s, "slow", "k"))
		require.True(t, s.CallTool(t.Context(), "call_status", map[string]any{"tool": "pay", "key": "\n"}).Tool().IsError)
	}
}
