package middleware_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

func promptRequest(name string) *mcp.GetPromptRequest {
	return &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: name}}
}

func resourceRequest(uri string) *mcp.ReadResourceRequest {
	return &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: uri}}
}

func TestSelection(t *testing.T) {
	var tr harness.Trace
	a := tr.Middleware("a")
	forTools := middleware.ForTools(a, "search", "fetch")
	forMethods := middleware.ForMethods(a, middleware.MethodReadResource, middleware.MethodGetPrompt)
	when := middleware.When(a, func(_ string, req mcp.Request) bool { return call.Target(req) == "search" })
	for _, c := range []struct {
		name    string
		mw      mcp.Middleware
		method  string
		req     mcp.Request
		applies bool
	}{
		{"tool named", forTools, middleware.MethodCallTool, toolRequest("search"), true},
		{"tool named second", forTools, middleware.MethodCallTool, toolRequest("fetch"), true},
		{"tool not named", forTools, middleware.MethodCallTool, toolRequest("delete"), false},
		{"case matters", forTools, middleware.MethodCallTool, toolRequest("Search"), false},
		{"prompt of the same name", forTools, middleware.MethodGetPrompt, promptRequest("search"), false},
		{"resource of the same name", forTools, middleware.MethodReadResource, resourceRequest("search"), false},
		{"tool without parameters", forTools, middleware.MethodCallTool, &mcp.CallToolRequest{}, false},
		{"nil tool request", forTools, middleware.MethodCallTool, (*mcp.CallToolRequest)(nil), false},
		{"nil request", forTools, middleware.MethodCallTool, nil, false},
		{"method named", forMethods, middleware.MethodReadResource, resourceRequest("x"), true},
		{"method named second", forMethods, middleware.MethodGetPrompt, promptRequest("x"), true},
		{"method not named", forMethods, middleware.MethodCallTool, toolRequest("x"), false},
		{"match", when, middleware.MethodGetPrompt, promptRequest("search"), true},
		{"no match", when, middleware.MethodGetPrompt, promptRequest("x"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.mw(returns(nil, nil))(t.Context(), c.method, c.req)
			require.NoError(t, err)
			want := ""
			if c.applies {
				want = ">a <a"
			}
			require.Equal(t, want, tr.Take())
		})
	}
}

func TestSelectionOfNoMiddlewareChangesNothing(t *testing.T) {
	never := func(string, mcp.Request) bool { panic("is not asked") }
	for _, mw := range []mcp.Middleware{
		middleware.ForTools(nil, "t"), middleware.ForMethods(nil, middleware.MethodCallTool), middleware.When(nil, never),
	} {
		want := &mcp.CallToolResult{}
		res, err := invoke(mw, returns(want, nil))
		require.NoError(t, err)
		require.Same(t, want, res)
	}
}

func TestSelectionPanicsOnMisuse(t *testing.T) {
	var tr harness.Trace
	a := tr.Middleware("a")
	for want, misuse := range map[string]func(){
		"middleware.ForTools: names is empty; name at least one, or use the middleware as it is": func() {
			middleware.ForTools(a)
		},
		"middleware.ForMethods: methods is empty; name at least one, or use the middleware as it is": func() {
			middleware.ForMethods(a)
		},
		"middleware.When: match is nil; give a function that selects calls": func() {
			middleware.When(a, nil)
		},
	} {
		require.PanicsWithValue(t, want, misuse)
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		req  mcp.Request
		want string
	}{
		{toolRequest("a"), "a"},
		{promptRequest("b"), "b"},
		{resourceRequest("c:d"), "c:d"},
		{&mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: "e"}}, "e"},
		{&mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}}, ""},
		{&mcp.CallToolRequest{}, ""},
		{&mcp.SubscribeRequest{}, ""},
		{(*mcp.CallToolRequest)(nil), ""},
		{(*mcp.SubscribeRequest)(nil), ""},
		{nil, ""},
	} {
		require.Equalf(t, c.want, call.Target(c.req), "%T", c.req)
	}
}

// TestForToolsWarnsOfToolsThatAreNotListed lists in pages of one tool.
func TestForToolsWarnsOfToolsThatAreNotListed(t *testing.T) {
	for name, c := range map[string]struct {
		named []string
		want  string // what the log has, "" for nothing
	}{
		"all are listed":    {[]string{"one", "three"}, ""},
		"one is misspelled": {[]string{"one", "thre"}, `tools=[thre]`},
		"none is listed":    {[]string{"b", "a"}, `tools="[a b]"`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&out, nil))
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
			for _, tool := range []string{"one", "two", "three"} {
				mcp.AddTool(server, &mcp.Tool{Name: tool}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
					return nil, nil, nil
				})
			}
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger}, middleware.ForTools(mask.New(nil), c.named...)))
			ours, theirs := mcp.NewInMemoryTransports()
			_, err := server.Connect(t.Context(), theirs, nil)
			require.NoError(t, err)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), ours, nil)
			require.NoError(t, err)
			defer session.Close()

			first, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.NotContains(t, out.String(), "does not list", "a later page may have the rest")
			require.NotEmpty(t, first.NextCursor)
			for range 2 {
				for _, err := range session.Tools(t.Context(), nil) {
					require.NoError(t, err)
				}
			}
			if c.want == "" {
				require.NotContains(t, out.String(), "does not list")
				return
			}
			require.Equal(t, 1, strings.Count(out.String(), "does not list"), out.String())
			require.Contains(t, out.String(), c.want)
		})
	}
}
