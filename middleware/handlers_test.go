package middleware_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestWrappersOfEveryKind panics in handlers that a client of the current era calls. Nothing
// but the failure of the one call may be seen of it.
func TestWrappersOfEveryKind(t *testing.T) {
	mw := []middleware.Middleware{mcprecover.New(nil), mask.New(nil)}
	panics := func() { panic(harness.Canary) }
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{
		CompletionHandler: middleware.Wrap(func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			panics()
			return nil, nil
		}, mw...),
		SubscribeHandler: middleware.Wrap(func(_ context.Context, req *mcp.SubscribeRequest) error {
			if req.Params.URI == "ok:///x" {
				return nil
			}
			panic(harness.Canary)
		}, mw...),
		UnsubscribeHandler: middleware.Wrap(func(context.Context, *mcp.UnsubscribeRequest) error { panic(harness.Canary) }, mw...),
	})
	for _, uri := range []string{"ok:///x", "bad:///x"} {
		server.AddResource(&mcp.Resource{Name: uri, URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	}
	server.AddTool(&mcp.Tool{Name: "ask", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
			return nil, err
		})
	require.NoError(t, mcp.AddReceivingCustomMethod(server, "acme/search",
		middleware.Custom("acme/search", func(context.Context, *mcp.ServerSession, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			panic(harness.Canary)
		}, mw...)))
	a, b := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), b, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
		ElicitationHandler: middleware.Wrap(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			panic(harness.Canary)
		}, mw...),
		CreateMessageHandler: middleware.Wrap(func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			panic(harness.Canary)
		}, mw...),
	})
	session, err := client.Connect(t.Context(), a, &mcp.ClientSessionOptions{})
	require.NoError(t, err)
	defer session.Close()

	masked := func(err error) {
		t.Helper()
		require.Error(t, err)
		require.NotContains(t, err.Error(), harness.Canary)
		f, ok := middleware.FaultOf(nil, err)
		require.True(t, ok)
		require.NotContains(t, f.Error(), harness.Canary)
	}
	_, err = session.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: mcp.CompleteParamsArgument{Name: "x"}})
	masked(err)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
	if err == nil {
		require.True(t, res.IsError)
	} else {
		require.NotContains(t, err.Error(), harness.Canary)
	}
}

// The handlers that have only an error to return are called as they are by older clients.
func TestWrappersOfSubscriptions(t *testing.T) {
	mw := []middleware.Middleware{mcprecover.New(nil), mask.New(nil)}
	subscribe := middleware.Wrap(func(_ context.Context, req *mcp.SubscribeRequest) error {
		if req.Params.URI == "ok:///x" {
			return nil
		}
		panic(harness.Canary)
	}, mw...)
	require.NoError(t, subscribe(t.Context(), &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: "ok:///x"}}))
	err := subscribe(t.Context(), &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: "bad:///x"}})
	require.ErrorContains(t, err, "Internal error")
	require.NotContains(t, err.Error(), harness.Canary)

	sample := middleware.Wrap(func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		panic(harness.Canary)
	}, mw...)
	_, err = sample(t.Context(), &mcp.CreateMessageRequest{Params: &mcp.CreateMessageParams{}})
	require.ErrorContains(t, err, "the client failed unexpectedly", "said of the side that failed")

	require.PanicsWithValue(t, "middleware.Tool: h is nil; give the handler that is wrapped", func() { middleware.Tool(nil) })
	require.PanicsWithValue(t, "middleware.Wrap: h is nil; give the handler that is wrapped", func() {
		middleware.Wrap[func(context.Context, *mcp.SubscribeRequest) error](nil)
	})
}
