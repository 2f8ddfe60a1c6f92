// Package one has one tool.
package one

import "github.com/modelcontextprotocol/go-sdk/mcp"

func register(s *mcp.Server, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: "pay"}, h) // want `tool "pay" has no Annotations: it counts as one that writes and destroys, and nothing repeats it after a failure; say with ReadOnlyHint`
}
