package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() {
	story.Tell(
		story.Story{Log: true, Play: func(ctx context.Context, session *mcp.ClientSession) {
			fmt.Printf("with Observe: answers are as they were, and the log has both\n\n")
			ask(ctx, session)
		}},
		story.Story{Args: []string{"-observe=false"}, Play: func(ctx context.Context, session *mcp.ClientSession) {
			fmt.Printf("without it\n\n")
			ask(ctx, session)
		}},
	)
}

// ask makes a call that fails, one with wrong arguments, and one that would end the process.
func ask(ctx context.Context, session *mcp.ClientSession) {
	for _, arguments := range []map[string]any{{"table": "orders", "rows": 3}, {"table": "orders", "rows": "three"}, {"table": "panics", "rows": 3}} {
		fmt.Printf("--> query %v\n", arguments)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "query", Arguments: arguments})
		if err != nil {
			fmt.Printf("%v\n\n", err)
			continue
		}
		for _, block := range res.Content {
			if text, ok := block.(*mcp.TextContent); ok {
				fmt.Printf("%s\n\n", text.Text)
			}
		}
	}
}
