package retry_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// connect connects a client to a server, in memory.
func connect(server *mcp.Server) (session *mcp.ClientSession, closeAll func()) {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	return session, func() { _ = session.Close() }
}

// A caller is told when to call again. What passes by itself has no limit of attempts, unless an option
// names one.
func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "news"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fault.RateLimited("the search API", 30*time.Second)
	})
	server.AddReceivingMiddleware(retry.New(&retry.Options{MaxAttempts: 3}))

	session, closeAll := connect(server)
	defer closeAll()
	for range 3 {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "search"})
		f, _ := middleware.FaultOf(res, err)
		said, _ := f.Retry()
		fmt.Println(said)
	}
	// Output:
	// Retry: yes, after 30 s (attempt 2 of 3).
	// Retry: yes, after 30 s (attempt 3 of 3).
	// Retry: no. This exact call has failed 3 times. Try another way, or tell the user what does not work.
}

// The handler of a write that timed out says that the effect is unknown, and names the tool that
// tells whether it took effect. What is idempotent may be repeated, if its annotations say so.
func ExampleNew_effect() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fault.Timeout("the payment", 10*time.Second).
			WithRetry(fault.Retry{Effect: fault.EffectUnknown}).
			Step("See whether it was made", "find_payment", map[string]any{"id": "p-1"})
	})
	mcp.AddTool(server, &mcp.Tool{Name: "order", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, fault.Timeout("the order", 10*time.Second)
		})
	mcp.AddTool(server, &mcp.Tool{Name: "find_payment"},
		func(context.Context, *mcp.CallToolRequest, struct {
			ID string `json:"id"`
		}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	server.AddReceivingMiddleware(retry.New(nil))

	session, closeAll := connect(server)
	defer closeAll()
	for _, tool := range []string{"pay", "order"} {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool})
		f, _ := middleware.FaultOf(res, err)
		said, _ := f.Retry()
		fmt.Printf("%s: %t, %q, %q\n", tool, said.ShouldRetry, said.Effect, said.Reason)
		if tool == "pay" {
			fmt.Println(f)
		}
	}
	// Output:
	// pay: false, "unknown", ""
	// Timeout: the payment did not finish within 10 s.
	// Retry: no, unless you see that it did not take effect.
	// Next: 1. See whether it was made: call find_payment {"id":"p-1"}.
	// order: true, "", "A repetition does no harm"
}
