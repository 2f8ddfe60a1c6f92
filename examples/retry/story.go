package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	pursue(ctx, session, "free_rooms") // the service says how long it wants to be left alone
	pursue(ctx, session, "prices")     // it does not, and stays away
	pursue(ctx, session, "plan")       // nobody knows why it fails
	pursue(ctx, session, "book_room")
}

// pursue calls a tool and does what the answer says, until it succeeds or the answer
// is no longer yes. The middleware of retry/client waits and tries again for every call of a client.
func pursue(ctx context.Context, session *mcp.ClientSession, tool string) {
	for {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		if err != nil {
			log.Fatal(err)
		}
		text, _ := res.Content[0].(*mcp.TextContent)
		fmt.Printf("--> %s\n%s\n", tool, text.Text) // what a model reads
		failure, _ := middleware.FaultOf(res, nil)
		said, _ := failure.Retry()
		switch steps := failure.Data().RecoverySteps; { // a success has no failure, and nothing of this
		case said.ShouldRetry:
			time.Sleep(time.Duration(said.RetryAfterSeconds * float64(time.Second)))
		case len(steps) > 0:
			tool = steps[0].Tool
		default:
			return
		}
	}
}
