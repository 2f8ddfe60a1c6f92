package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Log: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, args := range []map[string]any{{"order": 1}, {"order": 2}, {"order": 3}, {"oder": "1"}} {
		story.Call(ctx, session, "track", args)
	}
}
