package middleware_test

import (
	"context"
	"encoding/json"
	"net"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestAddTo adds to a failure, and to nothing else.
func TestAddTo(t *testing.T) {
	region := func(f *fault.Error) *fault.Error { return f.With("region", "eu-1") }
	require.False(t, middleware.AddTo(t.Context(), nil, errSecret, region), "there is no call")
	for _, c := range []struct {
		name string
		err  error
		add  func(*fault.Error) *fault.Error
		want bool
	}{
		{"a failure", errSecret, region, true},
		{"a failure and nothing to add", errSecret, nil, false},
		{"a success", nil, region, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told *fault.Error
			adds := func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					require.Equal(t, c.want, middleware.AddTo(ctx, res, err, c.add))
					told, _ = middleware.FaultOf(res, err)
					return res, err
				}
			}
			handler := middleware.Chain(layer(&call.Settings{}), adds)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
				return &mcp.CallToolResult{}, c.err
			})
			res, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}})
			if !c.want {
				require.Equal(t, c.err, err)
				return
			}
			require.NoError(t, err)
			f, failed := middleware.FaultOf(res, nil)
			require.Equal(t, c.err != nil, failed)
			if c.want {
				require.Equal(t, "eu-1", f.Data().Details["region"])
				require.NotNil(t, told)
			}
		})
	}
}

// TestWhatIsAddedIsScrubbed holds for errors of every origin, also for those whose text is all ours.
func TestWhatIsAddedIsScrubbed(t *testing.T) {
	const secret = "canary-9f3a77"
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, err := range map[string]error{
		"unknown": errSecret, "classified": refused, "worded": fault.New("broken", "it is broken"), "panic": nil,
	} {
		t.Run(name, func(t *testing.T) {
			adds := func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error {
						return f.With("note", "password="+secret).Suggest("Use password="+secret).Step("token="+secret, "", nil)
					})
					return res, err
				}
			}
			handler := middleware.Chain(mask.New(nil), adds, mcprecover.New(nil))(func(context.Context, string, mcp.Request) (mcp.Result, error) {
				if err == nil {
					panic("boom")
				}
				return nil, err
			})
			res, failed := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}})
			require.NoError(t, failed)
			sent, failed := json.Marshal(res)
			require.NoError(t, failed)
			require.Contains(t, string(sent), `"note"`)
			require.NotContains(t, string(sent), secret)
		})
	}
}
