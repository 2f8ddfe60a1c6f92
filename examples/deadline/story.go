package main

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
)

func init() { story.Tell(story.Story{Log: true, Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	ada, ben := payment{To: "ada"}, payment{To: "ben"}
	story.Call(ctx, session, "report", nil)   // stops when its time is over: it may be called again
	story.Call(ctx, session, "transfer", ada) // is stuck: nobody knows whether the money is gone
	story.Call(ctx, session, "transfer", ada) // is not made a second time while it runs
	story.Call(ctx, session, "transfer", ben) // is refused, before another one gets stuck
	time.Sleep(4 * time.Second)               // the bank has answered
	story.Call(ctx, session, "transfer", ben) // is welcome again
}
