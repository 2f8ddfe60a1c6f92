//go:build unix

package proxy

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/wire"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// mending returns a change of options with a middleware that has other arguments sent.
func mending(args string) func(*Options, *mcpchain.Options) {
	return func(o *Options, chain *mcpchain.Options) {
		o.Mend = true
		o.Chain = mcpchain.Standard(chain, func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == call.MethodCallTool {
					call.FromContext(ctx).NoteMended([]byte(args), []wire.Change{{Argument: "n", Kind: "text_to_number"}})
				}
				return next(ctx, method, req)
			}
		})
	}
}

// Of the line of a mended call its arguments change, and of its answer the _meta, and nothing else.
func TestTheLinesOfAMendedCall(t *testing.T) {
	const mended = `"io.github.mcpchain/mended":[{"argument":"n","change":"text_to_number"}]`
	answer := ""
	got := &received{}
	run := newRun(func(m *rpc.Message) (string, error) {
		got.mu.Lock()
		defer got.mu.Unlock()
		got.b.Write(append(m.Line, '\n'))
		switch m.Method {
		case "initialize":
			return ok(m, begun), nil
		case "tools/call":
			return answer, nil
		}
		return ok(m, twoTools), nil
	})
	c := initialized(t, runs(run), mending(`{"n":5}`))
	for i, one := range []struct{ answers, want string }{
		{`"result":{"odd":1.0,"content": [{"type":"hologram"}]}`, `"result":{"odd":1.0,"content":[{"type":"hologram"}],"_meta":{` + mended + `}}`},
		{`"result":{"_meta":{"its":1e2},"content":[]}`, `"result":{"_meta":{"its":1e2,` + mended + `},"content":[]}`},
		{`"result":{"_meta":5,"content":[]}`, `"result":{"_meta":{` + mended + `},"content":[]}`},
	} {
		answer = `{"jsonrpc":"2.0", ` + one.answers + `,"id":7,"unknown":"kept"}`
		c.send(`{"jsonrpc":"2.0", "id":7,"method":"tools/call","params":{"new":[1.0],"arguments": {"n": "5"} ,"name":"look","_meta":{"progressToken":"t","x":1e2}},"more":true}`)
		require.Equal(t, `{"jsonrpc":"2.0", `+one.want+`,"id":7,"unknown":"kept"}`, strings.ReplaceAll(c.answer("7"), `: [`, `:[`), i)
		require.Equal(t, i+1, strings.Count(got.String(), `{"jsonrpc":"2.0", "id":7,"method":"tools/call","params":{"new":[1.0],"arguments": {"n":5} ,"name":"look","_meta":{"progressToken":"t","x":1e2}},"more":true}`), got)
	}
	answer = `{"jsonrpc":"2.0","id":8,"result":{"isError":true,"content":[{"type":"text","text":"no such row"}]}}`
	failed := c.call("8", "look", `{"n":"5"}`)
	require.Equal(t, "no such row", textOf(t, failed))
	require.Contains(t, failed, mended)
}

// A server that does not list its tools does not hold up for long what is sent all the same.
func TestMendingWaitsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRun(func(m *rpc.Message) (string, error) {
			switch m.Method {
			case "initialize":
				return ok(m, begun), nil
			case "tools/call":
				return ok(m, `{"content":[]}`), nil
			}
			return "", nil
		})
		waited := time.Duration(0)
		c := initialized(t, runs(run), func(o *Options, _ *mcpchain.Options) {
			o.Mend = true
			o.Chain = mcpchain.Standard(nil, func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == call.MethodCallTool {
						began := time.Now()
						_, err := call.FromContext(ctx).Server().Tool(next)
						require.Error(t, err)
						waited = time.Since(began)
					}
					return next(ctx, method, req)
				}
			})
		})
		defer c.in.Close()
		require.Contains(t, c.call("1", "look", `{}`), `"content":[]`)
		require.Equal(t, lookupWait, waited)
	})
}
