package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Log: true, Quit: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, order := range []string{"16", "17", "18"} { // 17 fails, and leaves its record
		_, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: "pay", Arguments: payment{Order: order, Card: "4111 1111 1111 1111"}, Meta: mcp.Meta{"com.example/request": "gw-" + order},
		})
		story.Must(err)
	}
	story.Call(ctx, session, "a-name-that-the-caller-made-up", nil)
}
