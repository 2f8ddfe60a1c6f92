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
	for _, tool := range []string{"make_report", "make_report", "send_report"} {
		fmt.Println("--> " + tool)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		if f, failed := middleware.FaultOf(res, err); failed {
			fmt.Printf("%v\n\n", f)
			continue
		}
		fmt.Printf("%s\n\n", story.Text(res))
	}
}
