package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	wrapped "github.com/mcpchain/mcpchain/contrib/mcpgo"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

// TestMain is the server over stdio as well.
func TestMain(m *testing.M) {
	if os.Getenv("MCPGO_TEST_SERVER") != "" {
		if err := server.ServeStdio(shop()); err != nil && !errors.Is(err, context.Canceled) {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// completion completes prompts, and panics for resources.
type completion struct{}

func (completion) CompletePromptArgument(_ context.Context, name string, _ mcpgo.CompleteArgument, _ mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	if name == "nothing" {
		return nil, nil
	}
	return &mcpgo.Completion{Values: []string{"red", "green"}, Total: 2}, nil
}

func (completion) CompleteResourceArgument(context.Context, string, mcpgo.CompleteArgument, mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	panic(canary)
}

// shop is a whole server.
func shop() *server.MCPServer {
	chain := mcpchain.Standard(&mcpchain.Options{Validate: &validate.Options{RawTools: true}})
	s := server.NewMCPServer("shop", "1.0.0", wrapped.Server(chain), server.WithCompletions(),
		server.WithPromptCompletionProvider(wrapped.PromptCompletion(completion{}, chain)),
		server.WithResourceCompletionProvider(wrapped.ResourceCompletion(completion{}, chain)))
	add := func(name string, h server.ToolHandlerFunc, opts ...mcpgo.ToolOption) {
		s.AddTool(mcpgo.NewTool(name, opts...), h)
	}
	add("fine", returns(mcpgo.NewToolResultStructured(map[string]any{"n": 1}, "one"), nil))
	add("image", returns(mcpgo.NewToolResultImage("a dot", "AAEC", "image/png"), nil))
	add("secret", returns(nil, errors.New("pq: password="+canary)))
	add("worded", returns(nil, fault.NotFound("order", "17").Because(errors.New(canary))), mcpgo.WithReadOnlyHintAnnotation(true))
	add("nothing", returns(nil, nil))
	add("panic", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) { panic(canary) })
	add("count", func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		n, err := req.RequireInt("n")
		if err != nil {
			return nil, err
		}
		unit := req.GetString("unit", "none")
		return mcpgo.NewToolResultText(unit[:min(n, len(unit))]), nil
	}, mcpgo.WithNumber("n", mcpgo.Required()), mcpgo.WithString("unit", mcpgo.Enum("day", "week"), mcpgo.DefaultString("week")))
	resource := func(uri string, h server.ResourceHandlerFunc) { s.AddResource(mcpgo.NewResource(uri, uri), h) }
	resource("a://fine", func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		return []mcpgo.ResourceContents{mcpgo.BlobResourceContents{URI: "a://fine", Blob: "AAEC"}}, nil
	})
	resource("a://empty", func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) { return nil, nil })
	resource("a://panic", func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) { panic(canary) })
	s.AddResourceTemplate(mcpgo.NewResourceTemplate("b://{id}", "b"), func(_ context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		if _, ok := req.Params.Arguments["id"]; !ok {
			return nil, errors.New("no variables")
		}
		return nil, fault.NotFound("thing", "7").Because(errors.New(canary))
	})
	s.AddPrompt(mcpgo.NewPrompt("greet", mcpgo.WithArgument("name", mcpgo.RequiredArgument())),
		func(_ context.Context, req mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			if req.Params.Arguments["name"] == "" {
				return nil, errors.New(canary)
			}
			return mcpgo.NewGetPromptResult("", []mcpgo.PromptMessage{mcpgo.NewPromptMessage(mcpgo.RoleUser, mcpgo.NewTextContent("hi"))}), nil
		})
	s.AddPrompt(mcpgo.NewPrompt("strict", mcpgo.WithArgument("topic", mcpgo.RequiredArgument())), wrapped.Prompt(func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
		return mcpgo.NewGetPromptResult("", nil), nil
	}, validate.New(&validate.Options{StrictPrompts: true})))
	s.AddPrompt(mcpgo.NewPrompt("panic"), func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) { panic(canary) })
	s.AddPrompt(mcpgo.NewPrompt("nothing"), func(context.Context, mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) { return nil, nil })
	return s
}

// A caller is a client of either library. What it returns is the JSON of the result.
type caller interface {
	tool(name string, args map[string]any) (string, error)
	prompt(name string) (string, error)
	resource(uri string) (string, error)
	complete(kind, ref string) (string, error)
}

func encoded(v any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(v)
	return string(raw), err
}

type officialClient struct {
	ctx     context.Context
	session *mcp.ClientSession
}

func (c officialClient) tool(name string, args map[string]any) (string, error) {
	res, err := c.session.CallTool(c.ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	return encoded(res, err)
}

func (c officialClient) prompt(name string) (string, error) {
	res, err := c.session.GetPrompt(c.ctx, &mcp.GetPromptParams{Name: name})
	return encoded(res, err)
}

func (c officialClient) resource(uri string) (string, error) {
	res, err := c.session.ReadResource(c.ctx, &mcp.ReadResourceParams{URI: uri})
	return encoded(res, err)
}

func (c officialClient) complete(kind, ref string) (string, error) {
	params := &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: kind, Name: ref}, Argument: mcp.CompleteParamsArgument{Name: "x"}}
	if kind == "ref/resource" {
		params.Ref.Name, params.Ref.URI = "", ref
	}
	res, err := c.session.Complete(c.ctx, params)
	return encoded(res, err)
}

type theirClient struct {
	ctx    context.Context
	client *client.Client
}

func (c theirClient) tool(name string, args map[string]any) (string, error) {
	var req mcpgo.CallToolRequest
	req.Params.Name, req.Params.Arguments = name, args
	res, err := c.client.CallTool(c.ctx, req)
	return encoded(res, err)
}

func (c theirClient) prompt(name string) (string, error) {
	var req mcpgo.GetPromptRequest
	req.Params.Name = name
	res, err := c.client.GetPrompt(c.ctx, req)
	return encoded(res, err)
}

func (c theirClient) resource(uri string) (string, error) {
	var req mcpgo.ReadResourceRequest
	req.Params.URI = uri
	res, err := c.client.ReadResource(c.ctx, req)
	return encoded(res, err)
}

func (c theirClient) complete(kind, ref string) (string, error) {
	var req mcpgo.CompleteRequest
	req.Params.Ref = mcpgo.PromptReference{Type: kind, Name: ref}
	if kind == "ref/resource" {
		req.Params.Ref = mcpgo.ResourceReference{Type: kind, URI: ref}
	}
	req.Params.Argument.Name = "x"
	res, err := c.client.Complete(c.ctx, req)
	return encoded(res, err)
}

func connectOfficial(t *testing.T, transport mcp.Transport, opts *mcp.ClientSessionOptions) caller {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), transport, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return officialClient{t.Context(), session}
}

func connectTheirs(t *testing.T, c *client.Client, err error, version string) caller {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.Start(t.Context()))
	var hello mcpgo.InitializeRequest
	hello.Params.ProtocolVersion = version
	hello.Params.ClientInfo = mcpgo.Implementation{Name: "c", Version: "1"}
	_, err = c.Initialize(t.Context(), hello)
	require.NoError(t, err)
	return theirClient{t.Context(), c}
}

// TestServers calls a server over stdio, in a process of its own, and over HTTP, with clients
// of both libraries and of both eras of the protocol.
func TestServers(t *testing.T) {
	const current, older = "2026-07-28", "2025-11-25"
	web := httptest.NewServer(server.NewStreamableHTTPServer(shop()))
	t.Cleanup(web.Close)
	environment := append(os.Environ(), "MCPGO_TEST_SERVER=1")
	for name, connect := range map[string]func(*testing.T) caller{
		"official client over stdio": func(t *testing.T) caller {
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = environment
			return connectOfficial(t, &mcp.CommandTransport{Command: command}, nil)
		},
		"official client over HTTP": func(t *testing.T) caller {
			return connectOfficial(t, &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, nil)
		},
		"official client of " + older + " over HTTP": func(t *testing.T) caller {
			return connectOfficial(t, &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, speak.Version(older))
		},
		"mcp-go's client over stdio": func(t *testing.T) caller {
			c, err := client.NewStdioMCPClient(os.Args[0], environment)
			return connectTheirs(t, c, err, current)
		},
		"mcp-go's client over HTTP": func(t *testing.T) caller {
			c, err := client.NewStreamableHttpClient(web.URL + "/mcp")
			return connectTheirs(t, c, err, current)
		},
		"mcp-go's client of " + older + " over HTTP": func(t *testing.T) caller {
			c, err := client.NewStreamableHttpClient(web.URL + "/mcp")
			return connectTheirs(t, c, err, older)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if speak.Oldest && name == "official client over HTTP" {
				t.Skip("go-sdk v1.7 closes such a session when a name is not known")
			}
			useShop(t, connect(t))
		})
	}
}

func useShop(t *testing.T, c caller) {
	t.Helper()
	tool := func(name string, args map[string]any) *mcp.CallToolResult {
		t.Helper()
		raw, err := c.tool(name, args)
		require.NoError(t, err)
		require.NotContains(t, raw, canary)
		var res mcp.CallToolResult
		require.NoError(t, json.Unmarshal([]byte(raw), &res))
		return &res
	}
	fails := func(name string, args map[string]any, kind fault.Kind, text string) {
		t.Helper()
		res := tool(name, args)
		require.True(t, res.IsError)
		f, failed := middleware.FaultOf(res, nil)
		require.True(t, failed)
		require.Equal(t, kind, f.Kind())
		require.Len(t, res.Content, 1)
		require.Contains(t, res.Content[0].(*mcp.TextContent).Text, text)
	}
	require.Equal(t, map[string]any{"n": 1.0}, tool("fine", nil).StructuredContent)
	require.Equal(t, []byte{0, 1, 2}, tool("image", nil).Content[1].(*mcp.ImageContent).Data)
	fails("secret", nil, fault.KindInternal, "Reference: ")
	fails("worded", nil, fault.KindNotFound, "Not found: order '17' does not exist.")
	fails("nothing", nil, fault.KindInternal, "Internal error")
	fails("panic", nil, fault.KindInternal, "Internal error")
	fails("count", map[string]any{"unit": "dya", "n": "x"}, fault.KindValidation, "Did you mean 'day'?")
	require.Equal(t, "wee", tool("count", map[string]any{"n": 3}).Content[0].(*mcp.TextContent).Text, "the default of the schema")

	raw, err := c.resource("a://fine")
	require.NoError(t, err)
	require.Contains(t, raw, "AAEC")
	_, err = c.resource("a://empty")
	require.NoError(t, err)
	raw, err = c.prompt("greet")
	require.ErrorContains(t, err, "Argument 'name'", raw)
	raw, err = c.complete("ref/prompt", "greet")
	require.NoError(t, err)
	require.Contains(t, raw, "green")
	_, err = c.complete("ref/prompt", "nothing")
	require.NoError(t, err)
	for text, call := range map[string]func() (string, error){
		"the server failed unexpectedly.":     func() (string, error) { return c.resource("a://panic") },
		"Not found: thing '7' does not exist": func() (string, error) { return c.resource("b://7") },
		"the server failed":                   func() (string, error) { return c.prompt("panic") },
		"the server":                          func() (string, error) { return c.prompt("nothing") },
		": the server failed unexpectedly.":   func() (string, error) { return c.complete("ref/resource", "b://{id}") },
	} {
		_, err := call()
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), canary)
		require.LessOrEqual(t, strings.Count(strings.ToLower(err.Error()), "internal error"), 1, "it is said once")
		if _, official := c.(officialClient); !official {
			continue // the errors of mcp-go's client are texts
		}
		f, failed := middleware.FaultOf(nil, err)
		require.True(t, failed)
		if strings.HasPrefix(text, "Not found") {
			require.Equal(t, fault.KindNotFound, f.Kind())
			require.Equal(t, "thing '7' does not exist", f.Message())
			continue
		}
		require.Equal(t, fault.KindInternal, f.Kind())
		require.Equal(t, 1, strings.Count(f.Error(), "Internal error"), f.Error())
		require.Regexp(t, `^[0-9a-f-]{36}$`, f.Data().ReferenceID)
		require.NotContains(t, f.Message(), "Reference")
	}
	_, err = c.tool("cuont", nil)
	require.ErrorContains(t, err, "Not found: tool 'cuont' does not exist. Did you mean 'count'?")
	_, err = c.prompt("grete")
	require.ErrorContains(t, err, "Not found: prompt 'grete' does not exist. Did you mean 'greet'?")
	_, err = c.tool("zzzzzz", nil)
	require.ErrorContains(t, err, "tool 'zzzzzz' not found")
	_, err = c.prompt("strict")
	require.ErrorContains(t, err, "Validation Error: Argument 'topic' is required: expected a string.")
	require.Equal(t, []byte{0, 1, 2}, tool("image", nil).Content[1].(*mcp.ImageContent).Data, "it lives")
}
