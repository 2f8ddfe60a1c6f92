package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
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

// chains are middlewares that change nothing.
func chains() map[string][]mcp.Middleware {
	var tr harness.Trace
	user := tr.Middleware("user")
	ours := layer(&call.Settings{})
	return map[string][]mcp.Middleware{
		"none": nil, "nil": {nil}, "user": {user}, "ours": {ours}, "both": {ours, user, ours},
	}
}

func TestWrappedHandlersPassTheSuccessAsItIs(t *testing.T) {
	tool, resource, prompt := &mcp.CallToolResult{}, &mcp.ReadResourceResult{}, &mcp.GetPromptResult{}
	for name, mw := range chains() {
		t.Run(name, func(t *testing.T) {
			req := toolRequest("t")
			res, err := middleware.Tool(func(_ context.Context, got *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				require.Same(t, req, got)
				return tool, nil
			}, mw...)(t.Context(), req)
			require.NoError(t, err)
			require.Same(t, tool, res)

			read, err := middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return resource, nil
			}, mw...)(t.Context(), resourceRequest("r"))
			require.NoError(t, err)
			require.Same(t, resource, read)

			got, err := middleware.Prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return prompt, nil
			}, mw...)(t.Context(), promptRequest("p"))
			require.NoError(t, err)
			require.Same(t, prompt, got)
		})
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

// TestAddToolChangesNothing compares, byte for byte, the answers of typed tools
// that the SDK's AddTool and ours added.
func TestAddToolChangesNothing(t *testing.T) {
	type out struct {
		Word string `json:"word"`
		N    int    `json:"n,omitempty"`
	}
	words := []mcp.Content{&mcp.TextContent{Text: "in words"}}

	same(t, "no result", func() (*mcp.CallToolResult, out, error) { return nil, out{"a", 1}, nil })
	same(t, "no result, zero output", func() (*mcp.CallToolResult, out, error) { return nil, out{}, nil })
	same(t, "empty result", func() (*mcp.CallToolResult, out, error) { return &mcp.CallToolResult{}, out{"a", 1}, nil })
	same(t, "empty content", func() (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, out{"a", 1}, nil
	})
	same(t, "content", func() (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{Content: words}, out{"a", 1}, nil
	})
	same(t, "meta", func() (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{Meta: mcp.Meta{"k": 1}}, out{"a", 1}, nil
	})
	same(t, "pointer", func() (*mcp.CallToolResult, *out, error) { return nil, &out{"a", 1}, nil })
	same(t, "nil pointer", func() (*mcp.CallToolResult, *out, error) { return nil, nil, nil })
	same(t, "map", func() (*mcp.CallToolResult, map[string]any, error) { return nil, map[string]any{"a": 1}, nil })
	same(t, "nil map", func() (*mcp.CallToolResult, map[string]any, error) { return nil, nil, nil })
	same(t, "slice", func() (*mcp.CallToolResult, []string, error) { return nil, []string{"a"}, nil })
	same(t, "slice and content", func() (*mcp.CallToolResult, []string, error) {
		return &mcp.CallToolResult{Content: words}, []string{"a"}, nil
	})
	same(t, "nil slice", func() (*mcp.CallToolResult, []string, error) { return nil, nil, nil })
	same(t, "string", func() (*mcp.CallToolResult, string, error) { return nil, "<a&b>\u2028", nil })
	same(t, "any: nothing", func() (*mcp.CallToolResult, any, error) { return nil, nil, nil })
	same(t, "any: struct", func() (*mcp.CallToolResult, any, error) { return nil, out{"a", 1}, nil })
	same(t, "any: typed nil", func() (*mcp.CallToolResult, any, error) { return nil, (*out)(nil), nil })
	same(t, "any: raw", func() (*mcp.CallToolResult, any, error) { return nil, json.RawMessage(`{"a": 1}`), nil })
	same(t, "any: content", func() (*mcp.CallToolResult, any, error) { return &mcp.CallToolResult{Content: words}, nil, nil })
	same(t, "any: the result's own structured content", func() (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: words, StructuredContent: map[string]any{"a": 1}}, nil, nil
	})
	same(t, "any: nothing but the result's own structured content", func() (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{StructuredContent: []int{1}}, nil, nil
	})
	same(t, "error", func() (*mcp.CallToolResult, out, error) { return nil, out{}, errors.New("it broke") })
	same(t, "error and result", func() (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{Content: words}, out{"a", 1}, errors.New("it broke")
	})
	same(t, "fault", func() (*mcp.CallToolResult, out, error) { return nil, out{}, fault.NotFound("file", "a") })
	same(t, "protocol error", func() (*mcp.CallToolResult, out, error) {
		return nil, out{}, &jsonrpc.Error{Code: -32021, Message: "m", Data: json.RawMessage(`{"a": 1}`)}
	})
	same(t, "wrapped protocol error", func() (*mcp.CallToolResult, out, error) {
		return nil, out{}, fmt.Errorf("wrapped: %w", &jsonrpc.Error{Code: -32021, Message: "m"})
	})
	same(t, "an error of its own", func() (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{IsError: true, Content: words}, out{"a", 1}, nil
	})
	same(t, "an error of its own, any", func() (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true, Content: words}, nil, nil
	})
	same(t, "an error of its own, with the original", func() (*mcp.CallToolResult, any, error) {
		res := &mcp.CallToolResult{Content: words}
		res.SetError(errSecret)
		return res, nil, nil
	})
	same(t, "an image as an error, with the original", func() (*mcp.CallToolResult, any, error) {
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}
		res.SetError(errSecret)
		return res, nil, nil
	})
	same(t, "output that cannot be written", func() (*mcp.CallToolResult, any, error) { return nil, func() {}, nil })
	same(t, "input requests", func() (*mcp.CallToolResult, out, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ask": &mcp.ElicitParams{Message: "how many?"}}}, out{}, nil
	})
	same(t, "input requests without a result", func() (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ask": &mcp.ElicitParams{Message: "how many?"}}, RequestState: "s"}, nil, nil
	})
}

// same compares a typed tool with and without middlewares that change nothing. A
// handler that was given input responses returns a success.
func same[Out any](t *testing.T, name string, h func() (*mcp.CallToolResult, Out, error)) {
	t.Helper()
	handler := func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, Out, error) {
		if req.Params.InputResponses != nil {
			var out Out
			return nil, out, nil
		}
		return h()
	}
	var tr harness.Trace
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		t.Run(name+"/"+string(era), func(t *testing.T) {
			t.Helper()
			var wire [3]string
			for i, mw := range [][]mcp.Middleware{nil, {tr.Middleware("user")}, {tr.Middleware("outer"), tr.Middleware("inner")}} {
				s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
					More: func(server *mcp.Server) {
						if i == 0 {
							mcp.AddTool(server, &mcp.Tool{Name: "it"}, handler)
						} else {
							middleware.AddTool(server, &mcp.Tool{Name: "it"}, handler, mw...)
						}
					},
					Client: &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
					}},
				})
				s.CallTool(t.Context(), "it", nil)
				wire[i] = s.Sent()
			}
			require.Equal(t, wire[0], wire[1])
			require.Equal(t, wire[0], wire[2])
		})
	}
}
