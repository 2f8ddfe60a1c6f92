package client_test

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry/client"
)

// A write whose answer was lost is sent again under the key that the client made, if
// the server's list says that it keeps keys, and takes effect once.
func TestAWriteIsRepeatedUnderAKey(t *testing.T) {
	owner := func(context.Context, mcp.Request) string { return "ann" }
	for name, tc := range map[string]struct {
		options *replay.Options // nil: the server keeps no keys
		listed  bool
		calls   int
		kept    bool
	}{
		"kept":               {&replay.Options{Owner: owner}, true, 2, true},
		"never listed":       {&replay.Options{Owner: owner}, false, 1, false},
		"nothing is kept":    {nil, true, 1, false},
		"not for the tool":   {&replay.Options{Owner: owner, Tools: func(string) bool { return false }}, true, 1, false},
		"nobody knows whose": {&replay.Options{Owner: func(context.Context, mcp.Request) string { return "" }}, true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				effects, calls := 0, 0
				var keys []any
				tool := &mcp.Tool{Name: "pay"}
				server := func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						return &mcp.ListToolsResult{Tools: []*mcp.Tool{tool}}, nil
					}
					effects++
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil
				}
				if tc.options != nil {
					server = replay.New(tc.options)(server)
				}
				wire := func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						return server(ctx, method, &mcp.ListToolsRequest{Params: req.GetParams().(*mcp.ListToolsParams)})
					}
					calls++
					params := req.GetParams().(*mcp.CallToolParams)
					keys = append(keys, params.Meta["io.github.mcpchain/idempotency_key"])
					res, err := server(ctx, method, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay", Meta: params.Meta}})
					if calls == 1 {
						return nil, syscall.ECONNRESET // the answer is lost
					}
					return res, err
				}
				c := client.New(&client.Options{})(wire)
				if tc.listed {
					_, err := c(t.Context(), "tools/list", &mcp.ClientRequest[mcp.Params]{Params: &mcp.ListToolsParams{}})
					require.NoError(t, err)
				}
				params := &mcp.CallToolParams{Name: "pay"}
				res, err := c(t.Context(), middleware.MethodCallTool, &mcp.ClientRequest[mcp.Params]{Params: params})
				require.Equal(t, tc.calls, calls)
				require.Equal(t, 1, effects)
				require.Empty(t, params.Meta, "the caller's")
				require.Empty(t, tool.Meta, "the server's")
				if !tc.kept {
					require.Error(t, err)
					require.Nil(t, keys[0])
					return
				}
				require.NoError(t, err)
				require.Equal(t, true, res.(*mcp.CallToolResult).Meta["io.github.mcpchain/replayed"])
				require.NotEmpty(t, keys[0])
				require.Equal(t, keys[0], keys[1])
			})
		})
	}
}
