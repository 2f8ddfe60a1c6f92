package web // want package:"prints 1"

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func list(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	fmt.Println("standard output is free over HTTP")
	return &mcp.CallToolResult{}, nil
}

func Add(s *mcp.Server) { s.AddTool(nil, list) }
