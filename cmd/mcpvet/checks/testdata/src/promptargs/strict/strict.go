package strict

import (
	"context"

	"github.com/mcpchain/mcpchain/validate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The middleware checks what prompts require.
func register(s *mcp.Server) {
	s.AddReceivingMiddleware(validate.New(&validate.Options{StrictPrompts: true}))
	s.AddPrompt(&mcp.Prompt{Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "Greet " + req.Params.Arguments["who"]}, nil
		})
}
