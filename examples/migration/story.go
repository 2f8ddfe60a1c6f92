package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() {
	story.Tell(
		story.Story{Log: true, Args: []string{"-before"}, Play: play("BEFORE")},
		story.Story{Log: true, Play: play("AFTER")})
}

func play(when string) func(context.Context, *mcp.ClientSession) {
	return func(ctx context.Context, session *mcp.ClientSession) {
		fmt.Println(when)
		for _, args := range []map[string]any{{"number": 1}, {"number": 2}, {"number": 3}, {"number": 4}, {"number": "five"}} {
			story.Call(ctx, session, "ship", args)
		}
	}
}
