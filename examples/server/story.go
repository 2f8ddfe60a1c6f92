package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	for _, in := range []input{{6, 3}, {1, 0}} {
		fmt.Println("--> divide", in.A, in.B)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "divide", Arguments: in})
		story.Must(err)
		fmt.Println(story.Text(res))
	}
}
