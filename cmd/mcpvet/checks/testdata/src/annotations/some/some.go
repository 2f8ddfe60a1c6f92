// Package some annotates some of its tools: of the others it may mean the defaults.
package some

import "github.com/modelcontextprotocol/go-sdk/mcp"

var changed = &mcp.Tool{Name: "get_changed"}

func annotated(t *mcp.Tool) *mcp.Tool { return t }

func register(s *mcp.Server, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: "list_disks", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, h)
	s.AddTool(&mcp.Tool{Name: "get_disk"}, h)           // want `tool "get_disk" only reads, as its name says`
	s.AddTool(&mcp.Tool{Name: "searchDisks"}, h)        // want `tool "searchDisks" only reads`
	s.AddTool(&mcp.Tool{Name: "disks.list"}, h)         // want `tool "disks.list" only reads`
	s.AddTool(&mcp.Tool{Name: "disks/describe-all"}, h) // want `tool "disks/describe-all" only reads`
	s.AddTool(&mcp.Tool{Name: "acme_get_order"}, h)     // want `tool "acme_get_order" only reads`
	s.AddTool(&mcp.Tool{Name: "list open tabs"}, h)     // want `tool "list open tabs" only reads`

	s.AddTool(&mcp.Tool{Name: "delete_disk"}, h)
	s.AddTool(&mcp.Tool{Name: "reset_listener"}, h)
	s.AddTool(&mcp.Tool{Name: "getaway"}, h)
	s.AddTool(&mcp.Tool{Name: "create_search_index"}, h)
	s.AddTool(&mcp.Tool{Name: "get_or_create_disk"}, h)
	s.AddTool(&mcp.Tool{Name: "read_and_mark"}, h)
	s.AddTool(&mcp.Tool{Name: "mark_as_read"}, h)
	s.AddTool(&mcp.Tool{Name: "run_query"}, h)
	s.AddTool(&mcp.Tool{Name: "searchAndReplace"}, h)
	changed.Annotations = &mcp.ToolAnnotations{}
	s.AddTool(changed, h)
	s.AddTool(annotated(&mcp.Tool{Name: "get_wrapped"}), h)
}
