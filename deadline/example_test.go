package deadline_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/middleware"
)

// A tool that does not return, and a client that is answered all the same.
func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			select {} // it ignores its context
		})
	server.AddReceivingMiddleware(deadline.New(&deadline.Options{
		Limit:  30 * time.Second,
		Tools:  map[string]time.Duration{"search": 50 * time.Millisecond},
		Grace:  500 * time.Millisecond,        // for the handler to return when it is told to
		Logger: slog.New(slog.DiscardHandler), // where stuck handlers are recorded; nil means slog.Default
	}))

	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		fmt.Println(err)
		return
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, clientTransport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	f, _ := middleware.FaultOf(session.CallTool(ctx, &mcp.CallToolParams{Name: "search"}))
	fmt.Println(f.Text())
	// Output:
	// Timeout: the tool did not finish within 50 ms. It was told to stop, but is still running.
	// Suggestion: Ask for less at a time, or for another form, if the tool allows it.
	// Retry: not the same call: it is still running after 50 ms.
}

// Pause stops the clock while a handler waits for somebody else.
func ExamplePause() {
	handler := func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		resume := deadline.Pause(ctx)
		time.Sleep(100 * time.Millisecond) // somebody thinks
		resume()
		return &mcp.CallToolResult{}, ctx.Err()
	}
	limited := deadline.New(&deadline.Options{Limit: 50 * time.Millisecond})(handler)
	_, err := limited(context.Background(), middleware.MethodCallTool, &mcp.CallToolRequest{})
	fmt.Println(err)
	// Output:
	// <nil>
}
