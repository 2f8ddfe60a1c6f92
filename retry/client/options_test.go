package client

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
)

// calling makes a call of a tool that reads, which fails.
func calling(o *Options) (calls int) {
	handler := New(o)(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == call.MethodListTools {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "it", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}}, nil
		}
		calls++
		return nil, &jsonrpc.Error{Code: 503, Message: "busy"}
	})
	session := new(mcp.ClientSession)
	_, _ = handler(context.Background(), call.MethodListTools, &mcp.ClientRequest[mcp.Params]{Session: session, Params: &mcp.ListToolsParams{}})
	_, _ = handler(context.Background(), call.MethodCallTool, &mcp.ClientRequest[mcp.Params]{Session: session, Params: &mcp.CallToolParams{Name: "it"}})
	return calls
}

func TestCallbacksThatPanic(t *testing.T) {
	boom := func(string) bool { panic("own") }
	for name, tc := range map[string]struct {
		o     Options
		calls int
	}{
		"Repeatable": {Options{Repeatable: boom}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, tc.calls, calling(&tc.o))
			})
		})
	}
}
