package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// A client that waits as long as the server asks, and for which a failure is a Go
// error.
func ExampleClient() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	calls := 0
	server.AddTool(&mcp.Tool{Name: "search", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if calls++; calls == 1 {
				return nil, fault.RateLimited("the search API", 50*time.Millisecond)
			}
			return nil, fault.NotFound("city", "Bon", "Bonn", "Berlin")
		})
	server.AddReceivingMiddleware(middleware.Render(nil))

	client := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil)
	client.AddSendingMiddleware(retry.Client(&retry.ClientOptions{
		FailuresAsErrors: true,
	}))

	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		fmt.Println(err)
		return
	}
	session, err := client.Connect(ctx, clientTransport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "search"})
	var f *fault.Error
	if errors.Is(err, fault.KindNotFound) && errors.As(err, &f) {
		fmt.Println(calls, "calls:", f.Data().SimilarMatches)
	}
	// Output:
	// 2 calls: [Bonn]
}
