package annotations

import (
	"context"

	"github.com/mcpchain/mcpchain/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Nobody knows what the handlers do: one finding for all.
var held = &mcp.Tool{Name: "held"} // want `6 tools of this package have no Annotations, tool "held" is the first: each counts as one that writes and destroys, and nothing repeats it after a failure; say with ReadOnlyHint, DestructiveHint and IdempotentHint what is true`

func typed(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return work()
}

var work func() (*mcp.CallToolResult, any, error)

func register(s *mcp.Server, h mcp.ToolHandler, name string) {
	s.AddTool(held, h)
	s.AddTool(&mcp.Tool{Name: "raw"}, h)
	s.AddTool(&mcp.Tool{Name: name}, h)
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, typed)
	middleware.AddTool(s, &mcp.Tool{Name: "ours"}, typed)
	local := mcp.Tool{Name: "local"}
	s.AddTool(&local, h)

	// What reads is reported by itself.
	s.AddTool(&mcp.Tool{Name: "get_disk"}, h)            // want `tool "get_disk" only reads, as its name says, but has no Annotations: it counts as one that writes and destroys, and nothing repeats it after a failure; set ReadOnlyHint`
	mcp.AddTool(s, &mcp.Tool{Name: "disks.list"}, typed) // want `tool "disks.list" only reads, as its name says`

	// The defaults are right.
	s.AddTool(&mcp.Tool{Name: "delete_disk"}, h)
	_ = &mcp.Tool{Name: "not registered here"}
}
