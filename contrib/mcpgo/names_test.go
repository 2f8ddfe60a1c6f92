package mcpgo_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	wrapped "github.com/mcpchain/mcpchain/contrib/mcpgo"
)

// TestNearNames: only names that the caller may list are suggested, the hooks of the program stay,
// and what exists is called.
func TestNearNames(t *testing.T) {
	hooks, seen := &server.Hooks{}, 0
	hooks.AddOnRequestInitialization(func(context.Context, any, any) error { seen++; return nil })
	s := server.NewMCPServer("s", "1", server.WithHooks(hooks), server.WithToolCapabilities(true), server.WithPaginationLimit(2), wrapped.Server(),
		server.WithToolFilter(func(_ context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
			return slices.DeleteFunc(tools, func(tool mcpgo.Tool) bool { return tool.Name == "delete_all" })
		}))
	for _, name := range []string{"a", "b", "c", "delete_all", "list_orders", "search"} {
		s.AddTool(mcpgo.NewTool(name), returns(mcpgo.NewToolResultText("fine"), nil))
	}
	ask := func(method, name string) string {
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]any{"name": name}})
		require.NoError(t, err)
		answer, err := json.Marshal(s.HandleMessage(t.Context(), raw))
		require.NoError(t, err)
		return string(answer)
	}
	require.Contains(t, ask("tools/call", "serch"), "Not found: tool 'serch' does not exist. Did you mean 'search'?")
	require.Contains(t, ask("tools/call", "list_ordesr"), "Did you mean 'list_orders'?", "on another page")
	require.Contains(t, ask("tools/call", "search"), "fine")
	for _, name := range []string{"delete_al", "zzzzzzzz", "", strings.Repeat("search", 10_000)} {
		require.NotContains(t, ask("tools/call", name), "Did you mean", name)
	}
	require.NotContains(t, ask("tools/call", "x\"tools/call\""), "Did you mean")
	require.NotContains(t, ask("prompts/get", "serch"), "Did you mean")
	require.Greater(t, seen, 6)
}
