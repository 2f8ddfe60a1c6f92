package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/budget"
	wrapped "github.com/mcpchain/mcpchain/contrib/mcpgo"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
)

// around makes a middleware.
func around(f func(ctx context.Context, req mcp.Request, next func(context.Context, mcp.Request) (mcp.Result, error)) (mcp.Result, error)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return f(ctx, req, func(ctx context.Context, req mcp.Request) (mcp.Result, error) { return next(ctx, method, req) })
		}
	}
}

type nextFunc = func(context.Context, mcp.Request) (mcp.Result, error)

// connected returns an initialized client of a server in this process.
func connected(t *testing.T, s *server.MCPServer) *client.Client {
	t.Helper()
	c, err := client.NewInProcessClient(s)
	require.NoError(t, err)
	theirs, _ := connectTheirs(t, c, err, "2025-11-25").(theirClient)
	return theirs.client
}

// TestChangedResults: what a middleware returned in the place of the result is sent.
func TestChangedResults(t *testing.T) {
	own := func() *mcpgo.CallToolResult {
		res := mcpgo.NewToolResultImage("a dot", "AAEC", "image/png")
		res.StructuredContent = map[string]any{"n": 1}
		return res
	}
	for name, mw := range map[string]mcp.Middleware{
		"copy": around(func(ctx context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
			res, err := next(ctx, req)
			return middleware.NextSteps(res.(*mcp.CallToolResult), fault.Step{Action: "Look", Tool: "look"}), err
		}),
		"in place": around(func(ctx context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
			res, err := next(ctx, req)
			tool := res.(*mcp.CallToolResult)
			tool.Content = append(tool.Content, &mcp.TextContent{Text: "Next: look"})
			return res, err
		}),
		"text in place": around(func(ctx context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
			res, err := next(ctx, req)
			res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text = "Next: look"
			return res, err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			before := own()
			res, err := wrapped.Tool(returns(before, nil), mw)(t.Context(), request(nil))
			require.NoError(t, err)
			require.NotSame(t, before, res)
			require.Equal(t, own(), before, "the handler's own is not written to")
			raw, err := json.Marshal(res)
			require.NoError(t, err)
			require.Contains(t, string(raw), "Next: ")
			require.Contains(t, string(raw), `"data":"AAEC"`)
			require.Contains(t, string(raw), `"structuredContent":{"n":1}`)
		})
	}

	shout := around(func(ctx context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
		res, err := next(ctx, req)
		switch r := res.(type) {
		case *mcp.GetPromptResult:
			cp := *r
			cp.Description = "changed"
			return &cp, err
		case *mcp.ReadResourceResult:
			return &mcp.ReadResourceResult{Contents: append(r.Contents, &mcp.ResourceContents{URI: "a://d", Blob: []byte{3}}, &mcp.ResourceContents{URI: "a://e", Text: "t"})}, err
		case *mcp.CompleteResult:
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"one"}}}, err
		}
		return res, err
	})
	prompt := mcpgo.NewGetPromptResult("d", []mcpgo.PromptMessage{mcpgo.NewPromptMessage(mcpgo.RoleUser, mcpgo.NewImageContent("AAEC", "image/png"))})
	got, err := wrapped.Prompt(func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) { return prompt, nil }, shout)(t.Context(), mcpgo.GetPromptRequest{})
	require.NoError(t, err)
	require.Equal(t, "changed", got.Description)
	require.Equal(t, prompt.Messages, got.Messages)
	read, err := wrapped.Resource(func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) { return nil, nil }, shout)(t.Context(), mcpgo.ReadResourceRequest{})
	require.NoError(t, err)
	require.Equal(t, []mcpgo.ResourceContents{mcpgo.BlobResourceContents{URI: "a://d", Blob: "Aw=="}, mcpgo.TextResourceContents{URI: "a://e", Text: "t"}}, read)
	values, err := wrapped.PromptCompletion(completion{}, shout).CompletePromptArgument(t.Context(), "p", mcpgo.CompleteArgument{}, mcpgo.CompleteContext{})
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, values.Values)
}

// TestChangedRequests: the handler gets what a middleware passed on, and otherwise the very
// arguments that came.
func TestChangedRequests(t *testing.T) {
	var got mcpgo.CallToolRequest
	h := func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		got = req
		return mcpgo.NewToolResultText("fine"), nil
	}
	_, err := wrapped.Tool(h)(t.Context(), request(map[string]any{"n": 1}))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": 1}, got.Params.Arguments)

	_, err = wrapped.Tool(h, around(func(ctx context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
		r := *req.(*mcp.CallToolRequest)
		params := *r.Params
		params.Name, params.Arguments = "other", json.RawMessage(`{"n":2}`)
		r.Params = &params
		return next(ctx, &r)
	}))(t.Context(), request(map[string]any{"n": 1}))
	require.NoError(t, err)
	require.Equal(t, "other", got.Params.Name)
	require.Equal(t, 2, got.GetInt("n", 0))
	require.JSONEq(t, `{"n":2}`, string(got.Params.RawArguments))

	for want, mw := range map[string]mcp.Middleware{
		"mcpgo: a middleware replaced the context": around(func(_ context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
			return next(context.Background(), req)
		}),
		"mcpgo: a middleware gave a *mcp.ServerRequest": around(func(ctx context.Context, _ mcp.Request, next nextFunc) (mcp.Result, error) {
			return next(ctx, &mcp.GetPromptRequest{})
		}),
		"mcpgo: a middleware gave a *mcp.GetPromptResult": around(func(context.Context, mcp.Request, nextFunc) (mcp.Result, error) {
			return &mcp.GetPromptResult{}, nil
		}),
		"mcpgo: this call has no server to ask": func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
				return next(ctx, "tools/list", &mcp.ListToolsRequest{})
			}
		},
	} {
		_, err := wrapped.Tool(h, mw)(t.Context(), request(nil))
		require.ErrorContains(t, err, want)
	}
}

// TestNilEntries: a middleware that answers with nil in a list ends one call and no more.
func TestNilEntries(t *testing.T) {
	answer := func(res mcp.Result) mcp.Middleware {
		return around(func(context.Context, mcp.Request, nextFunc) (mcp.Result, error) { return res, nil })
	}
	_, err := wrapped.Tool(returns(nil, nil), answer(&mcp.CallToolResult{Content: []mcp.Content{(*mcp.TextContent)(nil)}}))(t.Context(), request(nil))
	require.EqualError(t, err, "mcpgo: a middleware put nil into a result")
	_, err = wrapped.Prompt(func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) { return nil, nil },
		answer(&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}}))(t.Context(), mcpgo.GetPromptRequest{})
	require.EqualError(t, err, "mcpgo: a middleware put nil into a result")
	_, err = wrapped.Resource(func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) { return nil, nil },
		answer(&mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}))(t.Context(), mcpgo.ReadResourceRequest{})
	require.EqualError(t, err, "mcpgo: a middleware put nil into a result")
	erase := around(func(ctx context.Context, req mcp.Request, next nextFunc) (mcp.Result, error) {
		res, err := next(ctx, req)
		switch r := res.(type) {
		case *mcp.CallToolResult:
			r.Content[0] = nil
		case *mcp.ReadResourceResult:
			r.Contents[0] = nil
		}
		return res, err
	})
	_, err = wrapped.Tool(returns(mcpgo.NewToolResultText("x"), nil), erase)(t.Context(), request(nil))
	require.EqualError(t, err, "mcpgo: a middleware put nil into a result")
	_, err = wrapped.Resource(func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{Text: "x"}}, nil
	}, erase)(t.Context(), mcpgo.ReadResourceRequest{})
	require.EqualError(t, err, "mcpgo: a middleware put nil into a result")
}

// TestLists: a middleware that asks what the server offers gets what the caller would get, page
// by page, without what a filter hides.
func TestLists(t *testing.T) {
	var names []string
	ask := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			cursor := ""
			for page := 0; page == 0 || cursor != ""; page++ {
				res, err := next(ctx, "tools/list", &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{Cursor: cursor}})
				if err != nil {
					return nil, err
				}
				tools := res.(*mcp.ListToolsResult)
				for _, tool := range tools.Tools {
					names = append(names, tool.Name)
				}
				cursor = tools.NextCursor
			}
			prompts, err := next(ctx, "prompts/list", &mcp.ListPromptsRequest{Params: &mcp.ListPromptsParams{}})
			if err != nil {
				return nil, err
			}
			names = append(names, prompts.(*mcp.ListPromptsResult).Prompts[0].Name)
			resources, err := next(ctx, "resources/list", &mcp.ListResourcesRequest{Params: &mcp.ListResourcesParams{}})
			if err != nil {
				return nil, err
			}
			names = append(names, resources.(*mcp.ListResourcesResult).Resources[0].URI)
			templates, err := next(ctx, "resources/templates/list", &mcp.ListResourceTemplatesRequest{Params: &mcp.ListResourceTemplatesParams{}})
			if err != nil {
				return nil, err
			}
			names = append(names, templates.(*mcp.ListResourceTemplatesResult).ResourceTemplates[0].URITemplate)
			if _, err := next(ctx, "ping", &mcp.ListToolsRequest{}); err == nil {
				return nil, errors.New("there was an answer to a ping")
			}
			_, err = next(ctx, "tools/list", &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{Cursor: "no cursor"}})
			if err == nil {
				return nil, errors.New("there was an answer to a broken cursor")
			}
			return next(ctx, method, req)
		}
	}
	s := server.NewMCPServer("s", "1", wrapped.Server(ask), server.WithPaginationLimit(1), server.WithToolFilter(func(_ context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
		return slices.DeleteFunc(tools, func(tool mcpgo.Tool) bool { return tool.Name == "hidden" })
	}))
	for _, name := range []string{"a", "b", "hidden"} {
		s.AddTool(mcpgo.NewTool(name), returns(mcpgo.NewToolResultText("fine"), nil))
	}
	s.AddPrompt(mcpgo.NewPrompt("greet"), nil)
	s.AddResource(mcpgo.NewResource("a://b", "b"), nil)
	s.AddResourceTemplate(mcpgo.NewResourceTemplate("b://{id}", "b"), nil)
	var req mcpgo.CallToolRequest
	req.Params.Name = "a"
	res, err := connected(t, s).CallTool(t.Context(), req)
	require.NoError(t, err)
	require.False(t, res.IsError)
	require.Equal(t, []string{"a", "b", "greet", "a://b", "b://{id}"}, names)
}

// TestWithoutMiddlewares: nothing is changed, failures and a missing result included.
func TestWithoutMiddlewares(t *testing.T) {
	failure := errors.New("raw")
	_, err := wrapped.Tool(returns(nil, failure))(t.Context(), request(nil))
	require.Equal(t, failure, err)
	res, err := wrapped.Tool(returns(nil, nil))(t.Context(), request(nil))
	require.NoError(t, err)
	require.Nil(t, res)
	own := mcpgo.NewToolResultError("closed")
	res, err = wrapped.Tool(returns(own, nil))(t.Context(), request(nil))
	require.NoError(t, err)
	require.Same(t, own, res)
}

func TestNilHandlers(t *testing.T) {
	for want, misuse := range map[string]func(){
		"Tool":               func() { wrapped.Tool(nil) },
		"Resource":           func() { wrapped.Resource[server.ResourceHandlerFunc](nil) },
		"Prompt":             func() { wrapped.Prompt(nil) },
		"PromptCompletion":   func() { wrapped.PromptCompletion(nil) },
		"ResourceCompletion": func() { wrapped.ResourceCompletion(nil) },
	} {
		require.PanicsWithValue(t, "mcpgo."+want+": the handler is nil; give the handler that is wrapped", misuse)
	}
}

// TestServerAndHandler: a chain around the server and one around a handler act as one, which
// records a failure once. Handlers know the reference of their call.
func TestServerAndHandler(t *testing.T) {
	chain, log := standard(mcpchain.Options{})
	s := server.NewMCPServer("s", "1", wrapped.Server(chain))
	var inside string
	s.AddTool(mcpgo.NewTool("it"), wrapped.Tool(func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		inside = correlate.ID(ctx)
		return nil, errors.New(canary)
	}, chain))
	var req mcpgo.CallToolRequest
	req.Params.Name = "it"
	res, err := connected(t, s).CallTool(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "ref-1", inside)
	require.Equal(t, "ref-1", faultOf(t, res).Reference())
	require.Equal(t, 1, strings.Count(log.String(), `"reference":"ref-1"`), log.String())
}

// TestElicitation: a request to visit an URL keeps its code and data.
func TestElicitation(t *testing.T) {
	chain, _ := standard(mcpchain.Options{})
	asks := mcpgo.URLElicitationRequiredError{Elicitations: []mcpgo.ElicitationParams{{Mode: "url", URL: "https://example.com/x", ElicitationID: "e1", Message: "log in"}}}
	for _, err := range []error{asks, &asks} {
		_, got := wrapped.Tool(returns(nil, err), chain)(t.Context(), request(nil))
		require.Equal(t, err, got)
	}
	deliberate := &jsonrpc.Error{Code: -32021, Message: "no capability"}
	_, got := wrapped.Tool(returns(nil, deliberate), chain)(t.Context(), request(nil))
	require.ErrorContains(t, got, "no capability")
}

// TestReplay: an answer that is kept is whole, although the handler's value is gone.
func TestReplay(t *testing.T) {
	chain, _ := standard(mcpchain.Options{Replay: replay.New(&replay.Options{
		Owner: func(context.Context, mcp.Request) string { return "alice" },
	})})
	calls := 0
	h := wrapped.Tool(func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		calls++
		return mcpgo.NewToolResultImage("a dot", "AAEC", "image/png"), nil
	}, chain)
	keyed := request(nil)
	keyed.Params.Meta = &mcpgo.Meta{AdditionalFields: map[string]any{"io.modelcontextprotocol/idempotencyKey": "0123456789abcdef"}}
	first, err := h(t.Context(), keyed)
	require.NoError(t, err)
	require.False(t, first.IsError)
	again, err := h(t.Context(), keyed)
	require.NoError(t, err)
	require.Equal(t, 1, calls)
	require.Equal(t, first.Content, again.Content)
}

// TestBudget: a tool that a middleware answers itself can be called once it is added.
func TestBudget(t *testing.T) {
	chain, _ := standard(mcpchain.Options{Budget: budget.New(&budget.Options{Size: 400, Count: func(text string) int { return len(text) }})})
	s := server.NewMCPServer("s", "1", wrapped.Server(chain))
	s.AddTool(mcpgo.NewTool("it"), returns(mcpgo.NewToolResultText(strings.Repeat("One sentence. ", 30)+"END"), nil))
	s.AddTool(mcpgo.NewTool("read_more", mcpgo.WithString("cursor", mcpgo.Required())), wrapped.ByMiddleware)
	c := connected(t, s)
	var req mcpgo.CallToolRequest
	req.Params.Name = "it"
	res, err := c.CallTool(t.Context(), req)
	require.NoError(t, err)
	raw, err := json.Marshal(res)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "END")
	_, rest, found := strings.Cut(string(raw), `{\"cursor\":\"`)
	require.True(t, found, string(raw))
	cursor, _, _ := strings.Cut(rest, `\"`)
	req.Params.Name, req.Params.Arguments = "read_more", map[string]any{"cursor": cursor}
	res, err = c.CallTool(t.Context(), req)
	require.NoError(t, err)
	require.False(t, res.IsError)
	require.Contains(t, res.Content[0].(mcpgo.TextContent).Text, "END")
}

// TestRetryServer: a handler is run again when the tool that the server lists only reads.
func TestRetryServer(t *testing.T) {
	chain, _ := standard(mcpchain.Options{RetryServer: retry.Server(&retry.ServerOptions{InitialInterval: time.Millisecond})})
	s := server.NewMCPServer("s", "1", wrapped.Server(chain))
	var mu sync.Mutex
	calls := map[string]int{}
	h := func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if calls[req.Params.Name]++; calls[req.Params.Name] == 1 {
			return nil, fault.New(fault.KindServerError, "the archive failed")
		}
		return mcpgo.NewToolResultText("fine"), nil
	}
	s.AddTool(mcpgo.NewTool("read", mcpgo.WithReadOnlyHintAnnotation(true)), h)
	s.AddTool(mcpgo.NewTool("write"), h)
	c := connected(t, s)
	var req mcpgo.CallToolRequest
	req.Params.Name = "read"
	res, err := c.CallTool(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "fine", textOf(t, res))
	req.Params.Name = "write"
	res, err = c.CallTool(t.Context(), req)
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.Equal(t, map[string]int{"read": 2, "write": 1}, calls)
}

// TestDeadline: a handler that does not end is left behind, and may return later.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain, _ := standard(mcpchain.Options{Deadline: deadline.New(&deadline.Options{Limit: time.Second})})
		release := make(chan struct{})
		res, err := wrapped.Tool(func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			<-release
			return mcpgo.NewToolResultText("late"), nil
		}, chain)(t.Context(), request(nil))
		require.NoError(t, err)
		require.Equal(t, fault.KindTimeout, faultOf(t, res).Kind())
		close(release)
		synctest.Wait()
	})
}

// TestLimit: callers are named by a function that reads mcp-go's session.
func TestLimit(t *testing.T) {
	chain, _ := standard(mcpchain.Options{Limit: limit.New(&limit.Options{
		Limits: []limit.Limit{{Calls: 1, Per: time.Hour}}, Wait: -1,
		Owner: func(ctx context.Context, _ mcp.Request) string {
			return server.ClientSessionFromContext(ctx).SessionID()
		},
	})})
	s := server.NewMCPServer("s", "1", wrapped.Server(chain))
	s.AddTool(mcpgo.NewTool("it"), returns(mcpgo.NewToolResultText("fine"), nil))
	var req mcpgo.CallToolRequest
	req.Params.Name = "it"
	for range 2 {
		c := connected(t, s)
		res, err := c.CallTool(t.Context(), req)
		require.NoError(t, err)
		require.False(t, res.IsError)
		res, err = c.CallTool(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, fault.KindRateLimited, faultOf(t, res).Kind())
	}
}

// TestConcurrently shares one chain and one result between many calls.
func TestConcurrently(t *testing.T) {
	chain := mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s := server.NewMCPServer("s", "1", wrapped.Server(chain))
	own := mcpgo.NewToolResultStructured(map[string]any{"n": 1}, "one")
	own.Meta = mcpgo.NewMetaFromMap(map[string]any{"k": "v"})
	s.AddTool(mcpgo.NewTool("fine"), returns(own, nil))
	s.AddTool(mcpgo.NewTool("secret"), returns(nil, errors.New(canary)))
	c := connected(t, s)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			var req mcpgo.CallToolRequest
			req.Params.Name = []string{"fine", "secret"}[i%2]
			res, err := c.CallTool(t.Context(), req)
			if err != nil || res.IsError != (i%2 == 1) {
				t.Errorf("%v %v", res, err)
			}
		})
	}
	wg.Wait()
}

func BenchmarkTool(b *testing.B) {
	chain := mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)})
	text, structured := mcpgo.NewToolResultText("fine"), mcpgo.NewToolResultStructured(map[string]any{"n": 1}, "one")
	image := mcpgo.NewToolResultImage("a dot", strings.Repeat("AAEC", 1<<16), "image/png")
	req := request(nil)
	req.Params.RawArguments = json.RawMessage(`{"n":1}`)
	for name, h := range map[string]server.ToolHandlerFunc{
		"text": returns(text, nil), "structured": returns(structured, nil), "image 256 KiB": returns(image, nil),
		"hidden": returns(nil, errors.New(canary)),
	} {
		for around, h := range map[string]server.ToolHandlerFunc{"no chain": wrapped.Tool(h), "Standard": wrapped.Tool(h, chain), "bare": h} {
			b.Run(name+"/"+around, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = h(b.Context(), req)
				}
			})
		}
	}
	b.Run("marshal/text", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(text)
		}
	})
	b.Run("marshal/image", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(image)
		}
	})
}
