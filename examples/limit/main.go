// Limit shows rates and concurrency for each caller: a caller who asks too often is
// refused and told when the call fits, another one is not affected, a list counts by its
// items, and a call that finds all places taken waits for a moment.
//
//	go run ./examples/limit
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
)

type in struct {
	City string `json:"city"`
}

type out struct {
	Weather string `json:"weather"`
}

func weather(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, out, error) {
	return nil, out{"sunny"}, nil
}

func export(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	time.Sleep(100 * time.Millisecond) // the disk is busy
	return nil, nil, nil
}

// owner names the caller. Where callers are authenticated over HTTP, leave Options.Owner
// out: the user is known from the token.
func owner(_ context.Context, req mcp.Request) string {
	name, _ := req.GetParams().GetMeta()["example/user"].(string)
	return name
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, weather)
	mcp.AddTool(server, &mcp.Tool{Name: "export"}, export)

	var stats limit.Stats // for metrics
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler),
		Batch:  &batch.Options{Lists: []batch.List{{Tool: "weather", Item: "city", Items: "cities", As: "weather_of_all"}}},
		Limit: &limit.Options{
			Owner: owner,
			Limits: []limit.Limit{
				{Scope: limit.PerOwnerAndTool, Tools: []string{"weather"}, Calls: 5, Per: time.Hour, Instead: "Use what you know already."},
				{Scope: limit.PerTool, Tools: []string{"export"}, Running: 1},
				{Scope: limit.ForAll, Running: 64},
			},
			Wait:  5 * time.Second, // for a place to become free
			Stats: &stats,
		},
	}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	call := func(user, tool string, args any) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"example/user": user}, Name: tool, Arguments: args})
		f, failed := middleware.FaultOf(res, err)
		if !failed {
			if t, ok := res.Content[0].(*mcp.TextContent); ok {
				fmt.Printf("%s calls %s: %s\n", user, tool, t.Text)
			}
			return
		}
		retry, _ := f.Retry()
		fmt.Printf("%s calls %s:\n  %s: %s\n  %s\n  again after %.0f minutes: %t, effect: %s\n",
			user, tool, f.Kind().Label(), f.Message(), f.Suggestion(), math.Ceil(retry.RetryAfterSeconds/60), retry.ShouldRetry, retry.Effect)
	}

	call("ada", "weather_of_all", map[string]any{"cities": []string{"Lisbon", "Oslo", "Rome"}}) // three calls
	call("ada", "weather", in{"Paris"})
	call("ada", "weather", in{"Bern"})
	call("ada", "weather", in{"Wien"}) // one too many
	call("bob", "weather", in{"Wien"}) // has a limit of his own

	var exports sync.WaitGroup
	start := time.Now()
	for range 3 { // one runs, two wait
		exports.Go(func() {
			_, _ = session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"example/user": "ada"}, Name: "export"})
		})
	}
	exports.Wait()
	fmt.Printf("three exports, one at a time: %t\n", time.Since(start) >= 300*time.Millisecond)
	fmt.Printf("refused: %d, running: %d, queued: %d\n", stats.Refused.Load(), stats.Running.Load(), stats.Queued.Load())
}
