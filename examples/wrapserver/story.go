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
	for _, call := range []struct{ tool, city string }{
		{"get_weather", "Lisbon"}, {"get_weather", "Atlantis"}, {"get_forecast", "Lisbon"},
	} {
		fmt.Printf("--> %s %s\n", call.tool, call.city)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: place{call.city}})
		show(res, err)
	}
	fmt.Println("--> weather://stations")
	contents, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "weather://stations"})
	show(contents, err)
	fmt.Println("--> advise")
	messages, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "advise"})
	show(messages, err)
}

// show prints what the caller of a tool, a resource or a prompt got.
func show(res mcp.Result, err error) {
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("%v\n\n", f)
	} else if r, ok := res.(*mcp.CallToolResult); ok {
		fmt.Printf("%v\n\n", r.StructuredContent)
	}
}
