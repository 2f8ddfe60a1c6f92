package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/story"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

func init() { story.Tell(story.Story{Play: play}) }

func play(ctx context.Context, session *mcp.ClientSession) {
	// A client decides which steps it takes by itself.
	allowed := []string{"cancel_deployment", "run_migrations"}
	for range 5 { // a server may go on failing
		err := call(ctx, session, "deploy", deployArgs{Service: "shop"})
		var f *fault.Error
		if !errors.As(err, &f) {
			return // deployed
		}
		for _, step := range f.Data().RecoverySteps {
			if !slices.Contains(allowed, step.Tool) {
				fmt.Printf("not done by this client: %s\n", step.Action)
				continue
			}
			if err := call(ctx, session, step.Tool, step.Parameters); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// call calls a tool and prints what it answered. A failure is a *fault.Error.
func call(ctx context.Context, session *mcp.ClientSession, tool string, arguments any) error {
	fmt.Printf("--> %s %v\n", tool, arguments)
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Println(f)
		return f
	}
	fmt.Println(res.StructuredContent)
	return nil
}
