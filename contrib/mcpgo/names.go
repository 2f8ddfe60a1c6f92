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
)

const (
	maxAsked = 4 << 10 // bytes of a name that is looked for
	maxNames = 4096    // that it is compared with
)

// suggest adds a hook that answers the call of a tool or prompt that does not exist, if the caller
// may list one with a similar name. mcp-go answers all other unknown names before a middleware sees
// them.
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
			if name, ok := askedName(raw, "tools/call"); ok && s.GetTool(name) == nil {
				return unknown(ctx, "tool", name, "tools/list")
			}
		case bytes.Contains(raw, []byte(`"prompts/get"`)):
			if name, ok := askedName(raw, "prompts/get"); ok && s.ListPrompts()[name] == nil {
				return unknown(ctx, "prompt", name, "prompts/list")
			}
		}
		return nil
	})
}

// askedName returns the tool or prompt that a message of this method names.
func askedName(raw []byte, method string) (name string, ok bool) {
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

// unknown returns the answer for a name that the caller cannot list, or nil if it can, or if no
// listed name is similar.
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
	missing := fault.NotFound(what, name, names...)
	if missing.Data().SimilarMatches == nil {
		return nil
	}
	return errors.New(missing.Text())
}
