package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// BenchmarkServer is what a call that succeeds pays for its records beside the disk: of a tool that writes and one that
// reads, on servers of few and of many tools. The handler does nothing, and the sink keeps nothing.
func BenchmarkServer(b *testing.B) {
	for _, tools := range []int{1, 100, 5000} {
		for _, reads := range []bool{false, true} {
			b.Run(fmt.Sprintf("tools=%d/reads=%t", tools, reads), func(b *testing.B) {
				call := auditedCall(b, tools, reads)
				b.ReportAllocs()
				for b.Loop() {
					call()
				}
			})
		}
	}
}

// auditedCall returns a call of a tool of a server of so many.
func auditedCall(tb testing.TB, tools int, reads bool) func() {
	tb.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"pin":{"type":"string","format":"password"}}}`)
	for i := range tools {
		server.AddTool(&mcp.Tool{Name: fmt.Sprintf("t%04d", i), InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	var around mcp.MethodHandler
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		around = audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil), Logger: slog.New(slog.DiscardHandler)})(next)
		return next
	})
	client, transport := mcp.NewInMemoryTransports()
	session, err := server.Connect(tb.Context(), transport, nil)
	require.NoError(tb, err)
	_, err = mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(tb.Context(), client, nil)
	require.NoError(tb, err)
	req := &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{
		Name: fmt.Sprintf("t%04d", tools/2), Arguments: json.RawMessage(`{"city":"Berlin","pin":"1234"}`),
	}}
	return func() {
		_, err := around(tb.Context(), "tools/call", req)
		require.NoError(tb, err)
	}
}

// TestAllocations of a call with its records, that of the handler included.
func TestAllocations(t *testing.T) {
	if harness.Racing {
		t.Skip("a pool forgets at random")
	}
	require.LessOrEqual(t, testing.AllocsPerRun(500, auditedCall(t, 10, false)), 75.0, "begin and end")
	require.LessOrEqual(t, testing.AllocsPerRun(500, auditedCall(t, 10, true)), 61.0, "one record")
}
