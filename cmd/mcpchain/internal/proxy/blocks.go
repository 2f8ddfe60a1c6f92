package proxy

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A foreign block is one of a kind that the SDK does not know. It is sent as it came.
type foreign struct {
	mcp.Content // nil: no method of it is called but the one below

	raw json.RawMessage
}

// MarshalJSON implements [mcp.Content].
func (f foreign) MarshalJSON() ([]byte, error) { return f.raw, nil }

// blockwise reads the failed result of a tool that the SDK cannot read as a whole. What can be read of it is
// explained, and the rest stays. It returns nil if raw is not a result.
func blockwise(raw json.RawMessage) *mcp.CallToolResult {
	var parts struct {
		Meta       json.RawMessage   `json:"_meta"`
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
	}
	if rpc.Unmarshal(raw, &parts) != nil {
		return nil
	}
	res := &mcp.CallToolResult{IsError: true}
	_ = rpc.Unmarshal(parts.Meta, &res.Meta) // what cannot be read stays as it is
	_ = rpc.Unmarshal(parts.Structured, &res.StructuredContent)
	for _, one := range parts.Content {
		var read mcp.CallToolResult
		if rpc.Unmarshal(marshal(map[string]any{"content": []json.RawMessage{one}}), &read) == nil && len(read.Content) == 1 {
			res.Content = append(res.Content, read.Content[0])
		} else {
			res.Content = append(res.Content, foreign{raw: one})
		}
	}
	return res
}

// toolwise reads a list of tools that the SDK cannot read as a whole. A tool that cannot be read has a name at most, and
// stays as it is.
func toolwise(raw json.RawMessage) *mcp.ListToolsResult {
	var parts struct {
		Next  json.RawMessage   `json:"nextCursor"`
		Tools []json.RawMessage `json:"tools"`
	}
	_ = rpc.Unmarshal(raw, &parts) // what is not a list stays, too
	list := &mcp.ListToolsResult{Tools: make([]*mcp.Tool, len(parts.Tools))}
	_ = rpc.Unmarshal(parts.Next, &list.NextCursor)
	for i, one := range parts.Tools {
		if rpc.Unmarshal(one, &list.Tools[i]) != nil || list.Tools[i] == nil { // null
			list.Tools[i] = &mcp.Tool{Name: nameOf(one)}
		}
	}
	return list
}
