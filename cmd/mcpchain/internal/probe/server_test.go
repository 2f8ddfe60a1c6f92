package probe_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
)

// TestMain makes the binary of this test a server, if it is told to: "bare", "wrapped", "sound", or the
// name of a check that the server fails.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "serve" {
		flag.Parse()
		_ = flag.Set("test.parallel", "8") // they mostly wait
		os.Exit(m.Run())
	}
	switch mode := os.Args[2]; mode {
	case "bare":
		_ = newServer(nil).Run(context.Background(), &mcp.StdioTransport{})
	case "wrapped":
		_ = newServer(mcpchain.Standard(nil)).Run(context.Background(), transport.Stdio(nil))
	case "hostile", "silent":
		serveHostile(mode)
	case "half-a-line", "ids-as-they-are", "ids-spelled", "ids-texts", "odd-ids-kept", "id-zero", "asks", "notifies", "answers", "logs", "asks-again", "asks-often":
		serveHabit(mode)
	case "usage":
		fmt.Println("Usage: server COMMAND")
	case "crash":
		fmt.Fprintln(os.Stderr, "Error: Cannot find module './nope'\n    at node:internal/modules:1:2\n\nNode.js v20.20.2")
	case "notes-kept", "notes-lost", "notes-paged", "echoes":
		serveNotes(mode)
	default:
		serveFaulty(mode)
	}
}

type addition struct {
	A    int    `json:"a"`
	B    int    `json:"b"`
	Mode string `json:"mode,omitempty"`
	Note string `json:"note,omitempty"`
}

type sum struct {
	Sum int `json:"sum"`
}

// newServer returns a server that has one of everything, behind a middleware or behind none.
func newServer(m mcp.Middleware) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "arithmetic", Version: "1.2.3"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return nil, fault.Invalid("ref", nil, "a prompt that there is")
		},
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
	})
	schema := map[string]any{
		"type": "object", "required": []string{"a", "b"}, "additionalProperties": false,
		"properties": map[string]any{
			"a":    map[string]any{"type": "integer", "minimum": 0, "maximum": 100},
			"b":    map[string]any{"type": "integer"},
			"mode": map[string]any{"type": "string", "enum": []string{"exact", "rounded"}},
			"note": map[string]any{"type": "string"},
		},
	}
	add := func(_ context.Context, _ *mcp.CallToolRequest, in addition) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "add_numbers", InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, add)
	writes := func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		os.Exit(9) // which each check would find
		return nil, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "write_down", InputSchema: map[string]any{"type": "object"}}, writes)
	prompt := &mcp.Prompt{Name: "explain_sum", Arguments: []*mcp.PromptArgument{{Name: "audience", Required: true}}}
	server.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req.Params.Arguments["audience"] == "" {
			return nil, fault.Invalid("audience", nil, "who reads the explanation")
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Explain."}}}}, nil
	})
	server.AddResource(&mcp.Resource{Name: "table", URI: "sums://table"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "sums://table", Text: "1 + 1 = 2"}}}, nil
	})
	if m != nil {
		server.AddReceivingMiddleware(m)
	}
	return server
}

// serveHostile answers everything with what is meant to break the checks, or with nothing.
func serveHostile(mode string) {
	deep := strings.Repeat(`{"allOf":[`, 2000) + "{}" + strings.Repeat("]}", 2000)
	wide := `{"type":"object","properties":{` + strings.Repeat(`"p":{"type":"string"},`, 5000) + `"q":{}}}`
	schemas := []string{
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`,
		`{"$ref":"#"}`, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}},"required":["a"]}`, `{"allOf":[{"$ref":"#"}]}`,
		`{"$dynamicRef":"#x","$dynamicAnchor":"x"}`, `{"$ref":"http://127.0.0.1:1/schema"}`, `{"unevaluatedProperties":{"$ref":"#"}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"(a+)+$","minLength":9007199254740991},"b":{"type":"array","minItems":1000000000}},"required":["a","b"]}`,
		deep, wide, `5`, `"x"`, `null`, `[]`, `{"type":5,"properties":[],"required":{}}`,
	}
	tools := make([]string, len(schemas))
	for i, schema := range schemas {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d\u001b[2J","annotations":{"readOnlyHint":%v},"inputSchema":%s,"outputSchema":%s}`, i, i != 2, schema, schema)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil || mode == "silent" {
			continue
		}
		result := `{"content":[{"type":"text","text":"\u001b[31m` + strings.Repeat("x", 20_000) + `"}],"structuredContent":{"a":{"a":{}}}}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":[]},"serverInfo":{"name":"\u001b[2Jhostile","version":"1"}}`
		case "tools/list": // without an end
			result = `{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"more"}`
		case "server/discover":
			result = `{"supportedVersions":5}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}
