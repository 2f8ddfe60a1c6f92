// Stdio is a whole MCP server over stdio: one tool, which panics if b is 0, behind the
// recommended chain. It ends when its input does.
//
//	go run ./examples/stdio
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
)

type input struct {
	A int `json:"a"`
	B int `json:"b"`
}

type output struct {
	Quotient int `json:"quotient"`
}

func divide(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, output, error) {
	return nil, output{in.A / in.B}, nil // panics if b is 0
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "calculator", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "divide",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, // a tool without it counts as one that writes
	}, divide)

	server.AddReceivingMiddleware(mcpchain.Standard(nil)) // the one line; add it last

	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
