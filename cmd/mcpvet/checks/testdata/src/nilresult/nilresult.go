package nilresult

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func tool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if res, err := denied(ctx, req); res != nil || err != nil {
		return res, err
	}
	f := func() (*int, error) { return nil, nil }
	if n, err := f(); n == nil {
		return nil, err
	}
	return nil, nil // want `this handler returns neither a result nor an error; return an empty \*mcp.CallToolResult`
}

// denied has a handler's signature, and is called by one.
func denied(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, nil
}

type service struct{}

func (s *service) prompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return nil, nil // want `return an empty \*mcp.GetPromptResult`
}

func register(s *mcp.Server) *mcp.ServerOptions {
	s.AddTool(nil, tool)
	s.AddPrompt(nil, (&service{}).prompt)
	s.AddResource(nil, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, nil // want `return an empty \*mcp.ReadResourceResult`
	})
	mcp.AddTool(s, nil, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	return &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return nil, nil // want `return an empty \*mcp.CompleteResult`
		},
	}
}
