package annotations

import (
	"context"

	"github.com/mcpchain/mcpchain/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var held = &mcp.Tool{Name: "held"} // want `tool "held" has no Annotations`

func typed(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return nil, nil, nil
}

func register(s *mcp.Server, h mcp.ToolHandler, name string) {
	s.AddTool(&mcp.Tool{Name: "raw"}, h)                  // want `tool "raw" has no Annotations`
	s.AddTool(&mcp.Tool{Name: name}, h)                   // want `a tool has no Annotations`
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, typed)       // want `tool "typed" has no Annotations`
	middleware.AddTool(s, &mcp.Tool{Name: "ours"}, typed) // want `tool "ours" has no Annotations`
	s.AddTool(held, h)
	local := mcp.Tool{Name: "local"} // want `tool "local" has no Annotations`
	s.AddTool(&local, h)

	s.AddTool(annotated(&mcp.Tool{Name: "wrapped"}), h)
	s.AddTool(&mcp.Tool{Name: "delete_disk"}, h)
	_ = &mcp.Tool{Name: "not registered here"}
}

func annotated(t *mcp.Tool) *mcp.Tool { return t }
