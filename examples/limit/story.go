package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	call := func(user, tool string, args any) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"example/user": user}, Name: tool, Arguments: args})
		f, failed := middleware.FaultOf(res, err)
		if !failed {
			if t, ok := res.Content[0].(*mcp.TextContent); ok {
				fmt.Printf("%s calls %s: %s\n", user, tool, t.Text)
			}
			return
		}
		said, _ := f.Retry()
		fmt.Printf("%s calls %s:\n  %s: %s\n  %s\n  again after %.0f minutes: %t, effect: %s\n",
			user, tool, f.Kind().Label(), f.Message(), f.Suggestion(), math.Ceil(said.RetryAfterSeconds/60), said.ShouldRetry, said.Effect)
	}

	call("ada", "weather_of_all", map[string]any{"cities": []string{"Lisbon", "Oslo", "Rome"}}) // three calls
	call("ada", "weather", city{"Paris"})
	call("ada", "weather", city{"Bern"})
	call("ada", "weather", city{"Wien"}) // one too many
	call("bob", "weather", city{"Wien"}) // has a limit of his own

	var exports sync.WaitGroup
	start := time.Now()
	for range 3 { // one runs, two wait
		exports.Go(func() {
			_, _ = session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"example/user": "ada"}, Name: "export"})
		})
	}
	exports.Wait()
	fmt.Printf("three exports, one at a time: %t\n", time.Since(start) >= 300*time.Millisecond)
}
