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
	fmt.Println("--> raw tool")
	raw, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "raw"})
	show(raw, err)
	fmt.Println("--> typed tool")
	typed, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "typed", Arguments: search{Words: ""}})
	show(typed, err)
	fmt.Println("--> resource")
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "library://catalogue"})
	show(contents, err)
	fmt.Println("--> prompt")
	messages, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "recommend"})
	show(messages, err)
	_, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "bare"})
	fmt.Printf("--> prompt that is not wrapped\n%v\n", err)
}

// show prints what the caller read.
func show(res mcp.Result, err error) {
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("%v\n\n", f)
	}
}
