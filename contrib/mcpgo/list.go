package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	lookups      atomic.Int64
	byMiddleware = reflect.ValueOf(ByMiddleware).Pointer()
)

// list answers the lookup of a middleware, such as that of the called tool's schema, as
// mcp-go would answer the caller: its filters apply, and its hooks run. It leaves out the
// tools with the handler ByMiddleware: their middlewares add them.
func list(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	s := server.ServerFromContext(ctx)
	if s == nil {
		return nil, errors.New("mcpgo: this call has no server to ask")
	}
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
	default:
		return nil, fmt.Errorf("mcpgo: a wrapped handler cannot answer %q", method)
	}
	var cursor struct {
		Cursor string `json:"cursor,omitempty"`
	}
	if err := remade(req.GetParams(), &cursor); err != nil {
		return nil, err
	}
	// Without the _meta of the call, because mcp-go would compare it with the headers of the
	// call, which name another method.
	message, err := json.Marshal(map[string]any{
		"jsonrpc": mcpgo.JSONRPC_VERSION, "id": "mcpchain-" + strconv.FormatInt(lookups.Add(1), 10), "method": method, "params": cursor,
	})
	if err != nil {
		return nil, err
	}
	answer, ok := s.HandleMessage(ctx, message).(mcpgo.JSONRPCResponse)
	if !ok {
		return nil, fmt.Errorf("mcpgo: the server did not answer %s", method)
	}
	switch own := answer.Result.(type) {
	case mcpgo.ListToolsResult:
		return listTools(s, &own), nil
	case *mcpgo.ListToolsResult:
		return listTools(s, own), nil
	}
	var res mcp.Result
	switch method {
	case "prompts/list":
		res = &mcp.ListPromptsResult{}
	case "resources/list":
		res = &mcp.ListResourcesResult{}
	case "resources/templates/list":
		res = &mcp.ListResourceTemplatesResult{}
	default:
		return nil, fmt.Errorf("mcpgo: the server answered %s with a %T", method, answer.Result)
	}
	return res, remade(answer.Result, res)
}

// listTools does not convert the schemas: only that of the called tool will be read.
func listTools(s *server.MCPServer, own *mcpgo.ListToolsResult) *mcp.ListToolsResult {
	res := &mcp.ListToolsResult{NextCursor: string(own.NextCursor), Tools: make([]*mcp.Tool, 0, len(own.Tools))}
	for i := range own.Tools {
		t := &own.Tools[i]
		if known := s.GetTool(t.Name); known != nil && reflect.ValueOf(known.Handler).Pointer() == byMiddleware {
			continue
		}
		tool := &mcp.Tool{Meta: metaOf(t.Meta), Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema}
		if t.RawInputSchema != nil {
			tool.InputSchema = t.RawInputSchema
		}
		switch {
		case t.RawOutputSchema != nil:
			tool.OutputSchema = t.RawOutputSchema
		case t.OutputSchema.Type != "":
			tool.OutputSchema = t.OutputSchema
		}
		a := t.Annotations
		tool.Annotations = &mcp.ToolAnnotations{
			Title: a.Title, DestructiveHint: a.DestructiveHint, OpenWorldHint: a.OpenWorldHint,
			ReadOnlyHint: a.ReadOnlyHint != nil && *a.ReadOnlyHint, IdempotentHint: a.IdempotentHint != nil && *a.IdempotentHint,
		}
		res.Tools = append(res.Tools, tool)
	}
	return res
}
