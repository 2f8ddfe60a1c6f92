// Package bare uses no mask: the text of an error says no more than the error would.
package bare

import (
	"context"
	"os"

	"errtext/results"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func raw(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { // want raw:`worded`
	if _, err := os.Open("a"); err != nil {
		return results.Failed(err.Error()), nil
	}
	_, err := os.Open("b")
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
}

func register(s *mcp.Server) { s.AddTool(nil, raw) }
