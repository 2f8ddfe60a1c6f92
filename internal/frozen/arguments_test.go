package frozen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/validate"
)

// arguments are calls with wrong arguments: each of the file with schemas goes to a typed tool,
// to a wrapped raw one, to a tool that fails before anybody compares, and to one that hides what
// it received. In the file a line with S is a schema, a line with A arguments for it.
func arguments(t *testing.T) []scenario {
	t.Helper()
	file, err := os.ReadFile("testdata/schemas.txt")
	require.NoError(t, err)
	var all []scenario
	title, schema, number := "", "", 0
	seen := map[string]int{}
	for line := range strings.Lines(string(file)) {
		kind, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch kind {
		case "##":
			title, number = text, 0
		case "S":
			schema = text
		case "A":
			number++
			name := fmt.Sprintf("arguments | %s | %s", title, shortened(text))
			if seen[name]++; seen[name] > 1 {
				name = fmt.Sprintf("%s (%d)", name, seen[name])
			}
			all = append(all, scenario{name: name, core: number == 1, run: wrong(schema, text, number == 1)})
		}
	}
	return all
}

func shortened(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "..."
	}
	return text
}

// wrong makes a case of a schema and arguments; brief ones call the typed tool only.
func wrong(schema, args string, brief bool) func(w *world) {
	return func(w *world) {
		fails := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, errPlain }
		untyped := func(s *mcp.Server, name string, h mcp.ToolHandler) {
			taken(w, name, func() { s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, h) })
		}
		wrapped := func(s *mcp.Server) {
			taken(w, "wrapped", func() { untyped(s, "raw", validate.Tool(json.RawMessage(schema), echo)) })
		}
		serve := func(o validate.Options, mw ...mcp.Middleware) {
			all := append([]mcp.Middleware{standard(w, validated(o))}, mw...)
			w.start(harness.Place{Shape: harness.ServerTyped, Era: current}, harness.Setup{Middleware: all, More: func(s *mcp.Server) {
				typed(w, s, schema)
				wrapped(s)
				untyped(s, "fails", fails)
			}})
		}
		serve(validate.Options{})
		w.call("typed", args)
		if brief {
			return
		}
		w.call("raw", args)
		w.call("fails", args)
		w.linef("-- after failure")
		serve(validate.Options{AfterFailure: true})
		w.call("fails", args)
		w.linef("-- hides received, protocol errors, raw tools")
		serve(validate.Options{HideReceived: true, ProtocolError: true, RawTools: true})
		w.call("fails", args)
		w.linef("-- validate alone")
		w.start(harness.Place{Shape: harness.ServerTyped, Era: older}, harness.Setup{Middleware: []mcp.Middleware{validate.New(nil)}, More: wrapped})
		w.call("raw", args)
	}
}

// taken adds a tool, if the SDK and the library take its schema.
func taken(w *world, name string, add func()) {
	defer func() {
		if reason := recover(); reason != nil {
			w.linef("no tool %s: %v", name, reason)
		}
	}()
	add()
}

// typed adds a typed tool with a schema.
func typed(w *world, s *mcp.Server, schema string) {
	taken(w, "typed", func() {
		mcp.AddTool(s, &mcp.Tool{Name: "typed", InputSchema: json.RawMessage(schema)}, func(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
			res, err := echo(ctx, req)
			return res, nil, err
		})
	})
}

// echo returns the arguments.
func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{text(string(req.Params.Arguments))}}, nil
}

// order is the input of a typed tool.
type order struct {
	Color    string `json:"color"`
	Quantity int8   `json:"quantity,omitempty" jsonschema:"how many"`
	Password string `json:"password,omitempty"`
	Items    []struct {
		SKU string `json:"sku"`
	} `json:"items,omitempty"`
}

// orders adds tools, a prompt and resources with names that can be mistaken.
func orders(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "place_order"}, func(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, order, error) {
		return nil, in, nil
	})
	s.AddTool(&mcp.Tool{Name: "find_order", InputSchema: json.RawMessage(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}`), Annotations: annotations["read-only"]}, echo)
	s.AddPrompt(&mcp.Prompt{Name: "summary", Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}, {Name: "style"}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if req.Params.Arguments["topic"] == "" {
				return nil, errPlain
			}
			return &mcp.GetPromptResult{}, nil
		})
	s.AddResource(&mcp.Resource{Name: "book", URI: "docs://book"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "docs://book", Text: "x"}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "page", URITemplate: "docs://page/{n}"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	})
}

// names are calls of what does not exist, and of what does with wrong arguments.
func names() []scenario {
	var all []scenario
	for _, era := range []harness.Era{current, older} {
		for name, o := range map[string]*validate.Options{
			"default": nil, "strict": {StrictPrompts: true, UnknownToolAsToolError: true}, "no names": {Names: func(context.Context, string) []string { return nil }},
			"own names":    {Names: func(context.Context, string) []string { return []string{"place_ordar", "summarise", "docs://boook"} }},
			"raw tools":    {RawTools: true},
			"no secrets":   {Credentials: validate.RefuseCredentials},
			"sees secrets": {Credentials: validate.RecordCredentials},
		} {
			all = append(all, scenario{name: fmt.Sprintf("names | %s | %s", name, era), core: era == current && name == "default", run: func(w *world) {
				w.start(harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{
					Middleware: []mcp.Middleware{standard(w, func(all *mcpchain.Options) { all.Validate = o })}, More: orders,
				})
				for _, c := range []struct{ tool, args string }{
					{"place_ordr", `{}`}, {"Place-Order", ``}, {"nothing_like_it", `{}`}, {"", `{}`},
					{"place_order", `{"color":"red","quantity":300}`}, {"place_order", `{"colour":"red"}`}, {"place_order", `{"color":"red","items":[{"sku":1},{}],"extra":true}`},
					{"place_order", `{"color":"red","password":5}`}, {"place_order", `{"color":"red","quantity":1e400}`}, {"place_order", `[1]`}, {"place_order", `"red"`},
					{"place_order", `{"color":"ghp_0123456789abcdefghijABCDEFGHIJ012345"}`}, {"find_order", `{"id":"1","api_key":"abcdefghijklmnop"}`},
					{"find_order", `{"id":7}`}, {"find_order", `{}`},
				} {
					w.call(c.tool, c.args)
				}
				for _, p := range []*mcp.GetPromptParams{
					{Name: "summery"}, {Name: "x"}, {Name: "summary"}, {Name: "summary", Arguments: map[string]string{"topic": "x", "stile": "y"}}, {Name: "summary", Arguments: map[string]string{"topik": "x"}},
				} {
					w.step(fmt.Sprintf("prompt %s %v", p.Name, p.Arguments), func() harness.Answer {
						return answer(w.session.Client.GetPrompt(w.t.Context(), p))
					})
				}
				for _, uri := range []string{"docs://bok", "docs://page/7", "file:///etc/passwd", "nonsense"} {
					w.step("resource "+uri, func() harness.Answer {
						return answer(w.session.Client.ReadResource(w.t.Context(), &mcp.ReadResourceParams{URI: uri}))
					})
				}
			}})
		}
	}
	return all
}
