package middleware_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestWrappingNoHandlerPanics(t *testing.T) {
	for want, misuse := range map[string]func(){
		"middleware.Tool: h is nil; give the handler that is wrapped":     func() { middleware.Tool(nil) },
		"middleware.Resource: h is nil; give the handler that is wrapped": func() { middleware.Resource(nil) },
		"middleware.Prompt: h is nil; give the handler that is wrapped":   func() { middleware.Prompt(nil) },
	} {
		require.PanicsWithValue(t, want, misuse)
	}
}

func TestWrappedHandlersPassTheFailureOfUsersMiddlewaresAsItIs(t *testing.T) {
	var tr harness.Trace
	tool, resource, prompt := &mcp.CallToolResult{}, &mcp.ReadResourceResult{}, &mcp.GetPromptResult{}
	res, err := middleware.Tool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return tool, errSecret
	}, tr.Middleware("user"))(t.Context(), toolRequest("t"))
	require.Equal(t, errSecret, err)
	require.Same(t, tool, res)
	read, err := middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return resource, errSecret
	})(t.Context(), resourceRequest("r"))
	require.Equal(t, errSecret, err)
	require.Same(t, resource, read)
	got, err := middleware.Prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return prompt, errSecret
	})(t.Context(), promptRequest("p"))
	require.Equal(t, errSecret, err)
	require.Same(t, prompt, got)
}

// TestTypedNil proves that middlewares see a nil result as nil, whatever its type.
func TestTypedNil(t *testing.T) {
	var seen []mcp.Result
	look := harness.Look(func(_ context.Context, res mcp.Result, _ error) { seen = append(seen, res) })
	for _, fails := range []error{nil, errSecret} {
		res, err := middleware.Tool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, fails }, look)(t.Context(), toolRequest("t"))
		require.Nil(t, res)
		require.Equal(t, fails, err)
		read, err := middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, fails }, look)(t.Context(), resourceRequest("r"))
		require.Nil(t, read)
		require.Equal(t, fails, err)
		got, err := middleware.Prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, fails }, look)(t.Context(), promptRequest("p"))
		require.Nil(t, got)
		require.Equal(t, fails, err)
	}
	require.Len(t, seen, 6)
	for _, res := range seen {
		require.True(t, res == nil, "%T", res) //nolint:testifylint // a typed nil would pass require.Nil
	}

	// A middleware's own typed nil comes back as the handler's nil.
	typedNil := func(mcp.MethodHandler) mcp.MethodHandler { return returns((*mcp.CallToolResult)(nil), nil) }
	res, err := middleware.Tool(unreachable, typedNil)(t.Context(), toolRequest("t"))
	require.NoError(t, err)
	require.Nil(t, res)
}

func unreachable(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	panic("the handler was called")
}

func TestMiddlewareThatAnswersWithAnotherType(t *testing.T) {
	wrong := func(res mcp.Result, err error) mcp.Middleware {
		return func(mcp.MethodHandler) mcp.MethodHandler { return returns(res, err) }
	}
	res, err := middleware.Tool(unreachable, wrong(&mcp.GetPromptResult{}, nil))(t.Context(), toolRequest("t"))
	require.Nil(t, res)
	require.EqualError(t, err, "middleware: a middleware answered with a *mcp.GetPromptResult in the place of a *mcp.CallToolResult")

	read, err := middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil },
		wrong(&mcp.CallToolResult{}, nil))(t.Context(), resourceRequest("r"))
	require.Nil(t, read)
	require.EqualError(t, err, "middleware: a middleware answered with a *mcp.CallToolResult in the place of a *mcp.ReadResourceResult")

	got, err := middleware.Prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil },
		wrong(&mcp.CallToolResult{}, nil))(t.Context(), promptRequest("p"))
	require.Nil(t, got)
	require.EqualError(t, err, "middleware: a middleware answered with a *mcp.CallToolResult in the place of a *mcp.GetPromptResult")

	// With an error, the error is what counts.
	res, err = middleware.Tool(unreachable, wrong(&mcp.GetPromptResult{}, errSecret))(t.Context(), toolRequest("t"))
	require.Nil(t, res)
	require.Equal(t, errSecret, err)
}

func TestMiddlewareThatCallsAnotherMethod(t *testing.T) {
	calls := func(method string, req mcp.Request) mcp.Middleware {
		return func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) { return next(ctx, method, req) }
		}
	}
	list := calls(call.MethodListTools, &mcp.ListToolsRequest{})
	_, err := middleware.Tool(unreachable, list)(t.Context(), toolRequest("t"))
	require.EqualError(t, err, `middleware: a wrapped handler of "tools/call" cannot answer "tools/list"`)
	_, err = middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { panic("called") }, list)(t.Context(), resourceRequest("r"))
	require.EqualError(t, err, `middleware: a wrapped handler of "resources/read" cannot answer "tools/list"`)
	_, err = middleware.Prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { panic("called") }, list)(t.Context(), promptRequest("p"))
	require.EqualError(t, err, `middleware: a wrapped handler of "prompts/get" cannot answer "tools/list"`)
	_, err = middleware.Tool(unreachable, calls(middleware.MethodCallTool, nil))(t.Context(), toolRequest("t"))
	require.Error(t, err)
	_, err = middleware.Tool(unreachable, calls(middleware.MethodCallTool, promptRequest("p")))(t.Context(), toolRequest("t"))
	require.Error(t, err)
}

type contextKey struct{}

// replace returns a middleware that gives the handler another context.
func replace(with func(context.Context) context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(with(ctx), method, req)
		}
	}
}

func TestMiddlewareThatReplacesTheContext(t *testing.T) {
	value := replace(func(ctx context.Context) context.Context { return context.WithValue(ctx, contextKey{}, "value") })
	ours := layer(&call.Settings{})

	var got any
	tool := func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = ctx.Value(contextKey{})
		return &mcp.CallToolResult{}, nil
	}
	_, err := middleware.Tool(tool, value, ours)(t.Context(), toolRequest("t"))
	require.NoError(t, err)
	require.Equal(t, "value", got)
	_, err = middleware.Tool(tool, ours, value)(t.Context(), toolRequest("t"))
	require.NoError(t, err)
	require.Equal(t, "value", got)
}

// TestLostContextDoesNotUnmask proves that a middleware that loses the context
// between two middlewares costs the connection of their records, and not the secret.
func TestLostContextDoesNotUnmask(t *testing.T) {
	background := replace(func(context.Context) context.Context { return context.Background() })
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(0)
		outer := correlate.New(&correlate.Options{Logger: log.Logger()})
		got := harness.Call(t, at, harness.Fail(errSecret), outer, background, masking(log))
		require.NotContains(t, string(got.Wire), harness.Canary)
		require.Contains(t, got.Text(), "Internal error: ")
		require.Contains(t, log.String(), harness.Canary)
		require.Contains(t, log.String(), got.Reference())
	})
}
