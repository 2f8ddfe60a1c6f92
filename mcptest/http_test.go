package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mcptest"
)

// overHTTP is a handler with a server, as programs serve it.
func overHTTP(server *mcp.Server, opts *mcp.StreamableHTTPOptions) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
}

func TestStartHTTP(t *testing.T) {
	type options = mcp.StreamableHTTPOptions
	for _, c := range []struct {
		version string
		opts    *options
		want    string // the version that is spoken
	}{
		{"", nil, mcptest.Older}, {mcptest.Older, nil, mcptest.Older},
		{mcptest.Older, &options{JSONResponse: true}, mcptest.Older},
		{"", &options{Stateless: true}, mcptest.Current},
		{mcptest.Current, &options{Stateless: true}, mcptest.Current}, {mcptest.Older, &options{Stateless: true}, mcptest.Older},
		{mcptest.Current, &options{Stateless: true, JSONResponse: true}, mcptest.Current},
	} {
		t.Run(fmt.Sprintf("%q %+v", c.version, c.opts), func(t *testing.T) {
			s := mcptest.StartHTTP(t, overHTTP(newServer(), c.opts), &mcptest.Options{Version: c.version})
			require.Equal(t, c.want, s.InitializeResult().ProtocolVersion)
			res, err := s.Call("pay", map[string]any{"amount": 5})
			require.NoError(t, err)
			require.Equal(t, "paid", mcptest.Text(res, err))
			require.Contains(t, string(s.Sent()), `"paid"`)
			require.Contains(t, string(s.Sent()), "HTTP/1.1 200 OK\n", "what stands around messages left as well")
			require.Contains(t, string(s.Received()), `"amount":5`)
			res, err = s.Call("pay", map[string]any{"amount": 5, "to": "ada"})
			mcptest.Expect{Kind: fault.KindConflict, Steps: []string{"get_lock"}}.Check(t, res, err)
			mcptest.ExecutableSteps(t, s, mcptest.Failure(t, res, err))
			mcptest.NoLeak(t, s, "hunter2", "10.0.0.7")
			mcptest.Legal(t, s)
		})
	}
	got := newFake().run(func(t testing.TB) {
		mcptest.StartHTTP(t, overHTTP(newServer(), nil), &mcptest.Options{Version: mcptest.Current})
	})
	require.Equal(t, "mcptest.StartHTTP: the server speaks 2025-11-25, want 2026-07-28; "+
		"set StreamableHTTPOptions.Stateless, without which the SDK serves no 2026-07-28", got)
}

// TestHTTPFinds holds that the assertions look at what leaves over HTTP, too: at messages
// in streams and in bodies, and at headers.
func TestHTTPFinds(t *testing.T) {
	for _, opts := range []*mcp.StreamableHTTPOptions{nil, {Stateless: true}, {JSONResponse: true}} {
		got := newFake().run(func(t testing.TB) {
			server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
			server.AddTool(&mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return nil, errors.New("dial hunter2")
				})
			server.AddTool(&mcp.Tool{Name: "refuse", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return nil, &jsonrpc.Error{Code: -32100, Message: "no"}
				})
			handler := overHTTP(server, opts)
			s := mcptest.StartHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Served-By", "db-7.internal")
				handler.ServeHTTP(w, r)
			}), nil)
			_, _ = s.Call("pay", nil)
			_, _ = s.Call("refuse", nil)
			mcptest.NoLeak(t, s, "hunter2", "db-7.internal")
			mcptest.Legal(t, s)
		})
		require.Contains(t, got, `mcptest.NoLeak: the secret "hunter2" left the server`)
		require.Contains(t, got, `mcptest.NoLeak: the secret "db-7.internal" left the server`)
		require.Contains(t, got, "mcptest.Legal: the answer to tools/call pay: the code is 0")
		require.Contains(t, got, "mcptest.Legal: the answer to tools/call refuse: the code -32100 is reserved")
	}
}

// TestStartHTTPReportsARequestThatDoesNotEnd has a handler that goes on when its client
// has gone.
func TestStartHTTPReportsARequestThatDoesNotEnd(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	reports(t, func(patience time.Duration) string {
		fake := newFake()
		got := fake.run(func(tb testing.TB) {
			handler := overHTTP(newServer(), &mcp.StreamableHTTPOptions{Stateless: true})
			s := mcptest.StartHTTP(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "tools/call" {
					<-release
					return
				}
				handler.ServeHTTP(w, r)
			}), &mcptest.Options{Patience: patience})
			res, err := s.Call("pay", map[string]any{"amount": 5})
			_ = mcptest.Failure(tb, res, err)
		})
		require.True(t, fake.fatal)
		return got
	}, "mcptest.Failure: the call was not answered: ", "mcptest.StartHTTP: a request is not answered PATIENCE after the end of the test")
}
