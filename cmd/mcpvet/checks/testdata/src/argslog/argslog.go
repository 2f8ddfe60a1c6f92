package argslog

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type login struct{ User, Password string }

type nothing struct{}

func register(s *mcp.Server, logger *slog.Logger) {
	s.AddTool(nil, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		slog.InfoContext(ctx, "called", "args", req.Params.Arguments)                             // want `the arguments of the call are logged`
		logger.Info("called", slog.String("args", string(req.Params.Arguments)))                  // want `the arguments of the call are logged`
		log.Printf("%s %+v", req.Params.Name, req.Params)                                         // want `the arguments of the call are logged`
		logger.LogAttrs(ctx, slog.LevelInfo, fmt.Sprint("called ", string(req.Params.Arguments))) // want `the arguments of the call are logged`
		log.Printf("%T %s", req.Params.Arguments, req.Params.Arguments)                           // want `the arguments of the call are logged`
		slog.InfoContext(ctx, "called", "tool", req.Params.Name, "size", len(req.Params.Arguments))
		fmt.Println(len(req.Params.Arguments))
		return &mcp.CallToolResult{}, nil
	})
	mcp.AddTool(s, nil, func(ctx context.Context, req *mcp.CallToolRequest, in login) (*mcp.CallToolResult, any, error) {
		slog.Info("called", slog.Any("in", in)) // want `the arguments of the call are logged`
		log.Println(&in)                        // want `the arguments of the call are logged`
		logger.Info("called", "user", in.User)
		return nil, nil, nil
	})
	mcp.AddTool(s, nil, func(ctx context.Context, req *mcp.CallToolRequest, in nothing) (*mcp.CallToolResult, any, error) {
		slog.Info("called", slog.Any("in", in))
		return nil, nil, nil
	})
	s.AddPrompt(nil, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		slog.Info("prompt", "args", req.Params.Arguments) // want `the arguments of the call are logged`
		slog.Info("prompt", "topic", req.Params.Arguments["topic"])
		return &mcp.GetPromptResult{}, nil
	})
}

func elsewhere(in login) { slog.Info("started", "in", in) }
