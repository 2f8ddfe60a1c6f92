package main

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Log: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	call(ctx, session, "report")   // stops when its time is over: it may be called again
	call(ctx, session, "transfer") // is stuck: nobody knows whether the money is gone
	call(ctx, session, "transfer") // is refused, before another one gets stuck
	time.Sleep(4 * time.Second)    // the bank has answered
	call(ctx, session, "transfer") // is welcome again
}

// call calls a tool and prints what a model gets to read.
func call(ctx context.Context, session *mcp.ClientSession, tool string) {
	fmt.Println("--> " + tool)
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("%v\n\n", f)
		return
	}
	fmt.Println(res.StructuredContent)
}
