package chained

import (
	"context"
	"errors"

	"github.com/mcpchain/mcpchain"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func list(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("the chain makes a result of it")
}

func main() {
	s := mcp.NewServer()
	s.AddReceivingMiddleware(mcpchain.Standard(nil))
	s.AddTool(nil, list)
}
