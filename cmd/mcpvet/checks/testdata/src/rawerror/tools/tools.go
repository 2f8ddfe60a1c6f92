// Package tools has the handlers of a program. // want package:"raw errors 1"
package tools

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func list(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("it is not known here whether there is a chain")
}

func Add(s *mcp.Server) { s.AddTool(nil, list) }
