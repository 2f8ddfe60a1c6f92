package validate_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// offers adds one of everything, and for each one that is hidden.
func offers(s *mcp.Server) {
	for _, name := range []string{"list_orders", "list_orders_" + harness.Canary} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, echo)
		s.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		s.AddResource(&mcp.Resource{Name: name, URI: "shop:///" + name}, read)
		s.AddResourceTemplate(&mcp.ResourceTemplate{Name: name, URITemplate: "shop:///" + name + "/{id}"}, read)
	}
}

// filter hides from the lists what has the canary in its name, as a filter per
// caller does.
func filter(next mcp.MethodHandler) mcp.MethodHandler {
	hidden := func(name string) bool { return strings.Contains(name, harness.Canary) }
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch r := res.(type) {
		case *mcp.ListToolsResult:
			cp := *r
			cp.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t *mcp.Tool) bool { return hidden(t.Name) })
			return &cp, nil
		case *mcp.ListPromptsResult:
			cp := *r
			cp.Prompts = slices.DeleteFunc(slices.Clone(r.Prompts), func(p *mcp.Prompt) bool { return hidden(p.Name) })
			return &cp, nil
		case *mcp.ListResourcesResult:
			cp := *r
			cp.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(r *mcp.Resource) bool { return hidden(r.Name) })
			return &cp, nil
		case *mcp.ListResourceTemplatesResult:
			cp := *r
			cp.ResourceTemplates = slices.DeleteFunc(slices.Clone(r.ResourceTemplates), func(t *mcp.ResourceTemplate) bool { return hidden(t.Name) })
			return &cp, nil
		}
		return res, err
	}
}

// ask misspells a name of everything and returns what was told of it.
func ask(t *testing.T, s *harness.Session) []*jsonrpc.Error {
	t.Helper()
	_, tool := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_order"})
	_, prompt := s.Client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "list_order"})
	_, resource := s.Client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "shop:///list_order"})
	var told []*jsonrpc.Error
	for _, err := range []error{tool, prompt, resource} {
		var wire *jsonrpc.Error
		require.ErrorAs(t, err, &wire)
		require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
		told = append(told, wire)
	}
	return told
}

func through(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return next(ctx, method, req)
	}
}

// elsewhere goes on in another goroutine, as a time limit does.
func elsewhere(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			res, err = next(ctx, method, req)
		}()
		<-done
		return res, err
	}
}

// forgetful does not pass on the context that it got.
func forgetful(next mcp.MethodHandler) mcp.MethodHandler {
	return func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return next(context.Background(), method, req)
	}
}

// TestSuggestions proves that names are suggested, and that no name is that a filter inside of the outermost
// middleware of ours hides, whatever else stands outside or between.
func TestSuggestions(t *testing.T) {
	quiet := &mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}
	hook := validate.New(&validate.Options{Names: func(_ context.Context, method string) []string {
		switch method {
		case middleware.MethodReadResource:
			return []string{"shop:///list_orders"}
		default:
			return []string{"list_orders"}
		}
	}})
	for name, c := range map[string]struct {
		chain     []mcp.Middleware
		suggested bool
	}{
		"filter inside":                  {[]mcp.Middleware{validate.New(nil), filter}, true},
		"filter inside the opener":       {[]mcp.Middleware{middleware.Render(nil), filter, validate.New(nil)}, true},
		"filter in Standard":             {[]mcp.Middleware{standard(quiet, filter)}, true},
		"filter deep in Standard":        {[]mcp.Middleware{standard(quiet, through, filter)}, true},
		"filter inside of Standard":      {[]mcp.Middleware{standard(quiet), filter}, true},
		"for some methods":               {[]mcp.Middleware{middleware.ForMethods(standard(quiet, filter), "tools/call", "prompts/get", "resources/read")}, true},
		"filter outside and inside":      {[]mcp.Middleware{filter, validate.New(nil), filter}, true},
		"any middleware outside":         {[]mcp.Middleware{through, standard(quiet, filter)}, true},
		"goroutine outside":              {[]mcp.Middleware{elsewhere, standard(quiet, filter)}, true},
		"goroutine between":              {[]mcp.Middleware{middleware.Render(nil), elsewhere, filter, validate.New(nil)}, true},
		"forgetful between":              {[]mcp.Middleware{middleware.Render(nil), forgetful, validate.New(nil), filter}, true},
		"forgetful outside":              {[]mcp.Middleware{forgetful, standard(quiet, filter)}, true},
		"hidden":                         {[]mcp.Middleware{validate.New(&validate.Options{Names: func(context.Context, string) []string { return nil }}), filter}, false},
		"names of the program's own":     {[]mcp.Middleware{filter, hook}, true},
		"filter outside, nothing to say": {[]mcp.Middleware{filter, validate.New(&validate.Options{Names: func(context.Context, string) []string { return nil }})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, era harness.Era) {
				s := serve(t, era, offers, c.chain...)
				plain := ask(t, serve(t, era, offers))
				for i, wire := range ask(t, s) {
					what := []string{"tool", "prompt", "resource"}[i]
					require.True(t, strings.HasPrefix(wire.Message, plain[i].Message), wire.Message)
					if !c.suggested {
						require.Equal(t, plain[i].Message, wire.Message)
						require.Equal(t, string(plain[i].Data), string(wire.Data))
						continue
					}
					require.Contains(t, wire.Message, ". Did you mean '", what)
					e, _ := middleware.FaultOf(nil, wire)
					require.Equal(t, fault.KindNotFound, e.Kind())
					require.Equal(t, what, e.Data().ResourceType)
					require.NotEmpty(t, e.Data().SimilarMatches)
					if what == "resource" {
						require.Contains(t, string(wire.Data), `"uri":"shop:///list_order"`)
					}
				}
				require.NotContains(t, s.Sent(), harness.Canary)
			})
		})
	}
}

// TestSuggestionsAreSure: a list that fails suggests nothing.
func TestSuggestionsAreSure(t *testing.T) {
	for name, inner := range map[string]mcp.Middleware{
		"error":          replace("tools/list", func(mcp.Result, error) (mcp.Result, error) { return nil, errors.New("no") }),
		"panic":          replace("tools/list", func(mcp.Result, error) (mcp.Result, error) { panic("no") }),
		"panic in Names": nil,
	} {
		t.Run(name, func(t *testing.T) {
			options := &validate.Options{}
			if inner == nil {
				options.Names = func(context.Context, string) []string { panic(harness.Canary) }
			}
			chain := []mcp.Middleware{validate.New(options), filter}
			if inner != nil {
				chain = append(chain, inner)
			}
			s := serve(t, harness.Current, offers, chain...)
			require.Equal(t, `unknown tool "list_order"`, ask(t, s)[0].Message)
			require.NotContains(t, s.Sent(), harness.Canary)
		})
	}
}

func TestUnknownToolAsToolError(t *testing.T) {
	eras(t, func(t *testing.T, era harness.Era) {
		log := harness.NewLog(slog.LevelInfo)
		s := serve(t, era, offers, standard(&mcpchain.Options{
			Logger: log.Logger(), Validate: &validate.Options{UnknownToolAsToolError: true},
		}, filter))
		got := invoke(t, s, "list_order", ``)
		require.NoError(t, got.Err)
		require.True(t, got.Tool().IsError)
		require.Equal(t, `Not found: unknown tool "list_order". Did you mean 'list_orders'?`, got.Text())
		require.Equal(t, []string{"list_orders"}, got.Fault().Data().SimilarMatches)
		require.Equal(t, "not_found", log.Only(t)["outcome"])
		require.Equal(t, "Not found: unknown tool \"zebra\".\nSuggestion: Call one of the tools that this server lists.", invoke(t, s, "zebra", ``).Text())
	})
}

// TestHugeName: a name is not repeated whole.
func TestHugeName(t *testing.T) {
	s := serve(t, harness.Current, offers, validate.New(&validate.Options{UnknownToolAsToolError: true}))
	got := invoke(t, s, strings.Repeat("ä", 1<<20), ``)
	require.Equal(t, "Not found: unknown tool \""+strings.Repeat("ä", 64)+"...\".\nSuggestion: Call one of the tools that this server lists.", got.Text())
	require.Equal(t, strings.Repeat("ä", 64)+"...", got.Fault().Data().Identifier)
}

// TestHandlersOwnErrors: a protocol error that a handler made on purpose stays.
func TestHandlersOwnErrors(t *testing.T) {
	s := serve(t, harness.Current, func(s *mcp.Server) {
		offers(s)
		s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `unknown tool "list_order"`}
		})
	}, validate.New(nil), filter)
	require.Equal(t, `unknown tool "list_order"`, invoke(t, s, "it", ``).Text())
}
