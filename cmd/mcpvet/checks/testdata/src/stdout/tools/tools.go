// Package tools has the handlers of a program. // want package:"prints 2"
package tools

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func list(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	fmt.Println("list") // it is not known here which transport there is
	_, _ = os.Stdout.WriteString("list")
	return &mcp.CallToolResult{}, nil
}

func Add(s *mcp.Server) { s.AddTool(nil, list) }
