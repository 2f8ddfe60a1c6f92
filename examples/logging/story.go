package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Log: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	fmt.Println("The two logs:")
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_orders", Arguments: orders{Customer: "ada"}})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("\nThe caller:\n%v\n", f)
	}
}
