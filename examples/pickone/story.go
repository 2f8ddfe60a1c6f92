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
			fmt.Printf("recover alone: a panic is one failed call, and any other error keeps its text\n\n")
			ask(ctx, session, "panics", "locked")
		}},
		story.Story{Args: []string{"-mask"}, Log: true, Play: func(ctx context.Context, session *mcp.ClientSession) {
			fmt.Printf("mask alone: known errors say what to do, unknown ones say nothing\n\n")
			ask(ctx, session, "locked", "orders")
		}},
	)
}

// ask calls the server once for each table.
func ask(ctx context.Context, session *mcp.ClientSession, tables ...string) {
	for _, table := range tables {
		fmt.Printf("--> query %s\n", table)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "query", Arguments: query{table}})
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
