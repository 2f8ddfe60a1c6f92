package mcpgo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/near"
)

const (
	maxAsked = 4 << 10 // bytes of a name that is looked for
	maxNames = 4096    // that it is compared with
)

// suggest adds a hook that answers the call of a tool or a prompt that does not exist, if one that the
// caller may list has nearly the same name. mcp-go answers any other before a middleware sees it.
func suggest(s *server.MCPServer) {
	if s.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(s)
	}
	s.GetHooks().AddOnRequestInitialization(func(ctx context.Context, _ any, message any) error {
		raw, ok := message.(json.RawMessage)
		if !ok {
			return nil
		}
		switch {
		case bytes.Contains(raw, []byte(`"tools/call"`)):
			if name, ok := asked(raw, "tools/call"); ok && s.GetTool(name) == nil {
				return unknown(ctx, "tool", name, "tools/list")
			}
		case bytes.Contains(raw, []byte(`"prompts/get"`)):
			if name, ok := asked(raw, "prompts/get"); ok && s.ListPrompts()[name] == nil {
				return unknown(ctx, "prompt", name, "prompts/list")
			}
		}
		return nil
	})
}

// asked returns the name in a message of a method.
func asked(raw []byte, method string) (name string, ok bool) {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	err := json.Unmarshal(raw, &message)
	name = message.Params.Name
	return name, err == nil && message.Method == method && name != "" && len(name) <= maxAsked
}

// unknown returns the answer for a name that the caller may not list, nil if it may, or if no other name
// is near.
func unknown(ctx context.Context, what, name, method string) error {
	var names []string
	for cursor := ""; ; {
		var following string
		switch res, _ := list(ctx, method, &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{Cursor: cursor}}); res := res.(type) {
		case *mcp.ListToolsResult:
			for _, tool := range res.Tools {
				names = append(names, tool.Name)
			}
			following = res.NextCursor
		case *mcp.ListPromptsResult:
			for _, prompt := range res.Prompts {
				names = append(names, prompt.Name)
			}
			following = res.NextCursor
		default:
			return nil // mcp-go answers
		}
		if following == "" || following == cursor || len(names) > maxNames {
			break
		}
		cursor = following
	}
	if slices.Contains(names, name) {
		return nil
	}
	matches := near.Matches(name, names)
	if matches == nil {
		return nil
	}
	return errors.New(fault.NotFound(what, name, matches...).Text())
}
