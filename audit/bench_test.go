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
)

// BenchmarkServer is what a call that succeeds pays for its records beside the disk: of a tool that writes and one that
// reads, on servers of few and of many tools. The handler does nothing, and the sink keeps nothing.
func BenchmarkServer(b *testing.B) {
	for _, tools := range []int{1, 100, 5000} {
		for _, reads := range []bool{false, true} {
			b.Run(fmt.Sprintf("tools=%d/reads=%t", tools, reads), func(b *testing.B) {
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
				session, err := server.Connect(b.Context(), transport, nil)
				require.NoError(b, err)
				_, err = mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(b.Context(), client, nil)
				require.NoError(b, err)
				req := &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{
					Name: fmt.Sprintf("t%04d", tools/2), Arguments: json.RawMessage(`{"city":"Berlin","pin":"1234"}`),
				}}
				b.ReportAllocs()
				for b.Loop() {
					_, err := around(b.Context(), "tools/call", req)
					require.NoError(b, err)
				}
			})
		}
	}
}
