// Package some annotates some of its tools.
package some

import "github.com/modelcontextprotocol/go-sdk/mcp"

var changed = &mcp.Tool{Name: "get_changed"}

func register(s *mcp.Server, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: "list_disks", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, h)
	s.AddTool(&mcp.Tool{Name: "get_disk"}, h)    // want `tool "get_disk" has no Annotations`
	s.AddTool(&mcp.Tool{Name: "searchDisks"}, h) // want `tool "searchDisks" has no Annotations`
	s.AddTool(&mcp.Tool{Name: "disks.list"}, h)  // want `tool "disks.list" has no Annotations`
	s.AddTool(&mcp.Tool{Name: "delete_disk"}, h)
	s.AddTool(&mcp.Tool{Name: "reset_listener"}, h)
	changed.Annotations = &mcp.ToolAnnotations{}
	s.AddTool(changed, h)
}
