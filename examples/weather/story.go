package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Log: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for i, name := range []string{"Lisbon", "Lisbon", "Atlantis"} {
		fmt.Printf("\n--> weather of %s, everything up: %t\n", name, i > 0)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "weather", Arguments: city{name}})
		story.Must(err)
		out, _ := res.StructuredContent.(map[string]any) // nil for a failure
		fmt.Println("celsius:", out["celsius"], "forecast:", out["forecast"], "alerts:", out["alerts"], "degraded:", out["degraded"])
		if note, ok := res.Content[len(res.Content)-1].(*mcp.TextContent); ok && (len(res.Content) > 1 || res.IsError) {
			fmt.Println(note.Text)
		}
	}
}
