package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	story.Call(ctx, session, "pay", payment{5})
	story.Call(ctx, session, "unlock", nil)
	story.Call(ctx, session, "pay", payment{500})
	story.Call(ctx, session, "pay", payment{5})
}
