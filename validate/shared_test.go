package validate

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// listing connects a client to a server with a tool "it" whose list is answered by list.
func listing(t *testing.T, opts *Options, list mcp.Middleware) (call func(ctx context.Context, user string) string, end func()) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, struct{ N int }) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.Meta["user"] != nil {
				r.Extra = &mcp.RequestExtra{Header: http.Header{"User": {r.Params.Meta["user"].(string)}}}
			}
			return next(ctx, method, req)
		}
	}, New(opts), func(next mcp.MethodHandler) mcp.MethodHandler {
		list := list(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return list(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	})
	here, there := mcp.NewInMemoryTransports()
	server, err := s.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), there, nil)
	require.NoError(t, err)
	call = func(ctx context.Context, user string) string {
		params := &mcp.CallToolParams{Name: "it", Arguments: map[string]any{"N": "x"}}
		if user != "" {
			params.Meta = mcp.Meta{"user": user}
		}
		res, err := client.CallTool(ctx, params)
		if err != nil {
			return err.Error()
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	return call, func() {
		_ = client.Close() // after a call that was given up it may have an error
		_ = server.Wait()
	}
}

// TestLookupsAreNotSharedBetweenUsers has two users of one session, as behind a gateway, of whom
// one may not list the tool.
func TestLookupsAreNotSharedBetweenUsers(t *testing.T) {
	for name, opts := range map[string]*Options{"failed": nil, "raw": {RawTools: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				call, end := listing(t, opts, func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						<-open
						if req.GetExtra().Header.Get("User") == "bob" {
							return &mcp.ListToolsResult{}, nil
						}
						return next(ctx, method, req)
					}
				})
				texts := map[string]string{}
				var mu sync.Mutex
				var calls sync.WaitGroup
				for _, user := range []string{"ann", "bob"} {
					calls.Go(func() {
						text := call(t.Context(), user)
						mu.Lock()
						texts[user] = text
						mu.Unlock()
					})
					synctest.Wait() // ann asks first
				}
				close(open)
				calls.Wait()
				end()
				require.Contains(t, texts["ann"], "'N'")
				require.NotContains(t, texts["bob"], "'N'")
			})
		})
	}
}

// TestNoRequest: a request that somebody made by hand may be nil.
func TestNoRequest(t *testing.T) {
	h := New(&Options{RawTools: true})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{}, nil
	})
	for _, req := range []mcp.Request{nil, (*mcp.CallToolRequest)(nil), &mcp.CallToolRequest{}} {
		_, err := h(t.Context(), "tools/call", req)
		require.NoError(t, err)
	}
}
