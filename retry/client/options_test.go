package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/wire"
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

// A call that carries on from a number that its caller gave counts from there; a number
// that is not under our key is somebody else's.
func TestWhoseNumberItIs(t *testing.T) {
	for key, want := range map[string][]any{wire.AttemptKey: {2, 3, 4}, "attempt": {nil, 2, 3}} {
		synctest.Test(t, func(t *testing.T) {
			var got []any
			handler := New(nil)(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
				got = append(got, req.GetParams().GetMeta()[wire.AttemptKey])
				return nil, fault.RateLimited("it", time.Second)
			})
			_, err := handler(t.Context(), call.MethodReadResource, &mcp.ClientRequest[mcp.Params]{Params: &mcp.ReadResourceParams{URI: "x:y", Meta: mcp.Meta{key: 2}}})
			require.ErrorIs(t, err, fault.KindRateLimited)
			require.Equal(t, want, got)
		})
	}
}
