package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
)

// Two searches an hour for each caller. Callers in memory have no identity: they share
// one set of limits.
func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found"}}}, nil, nil
	})
	server.AddReceivingMiddleware(limit.New(&limit.Options{
		Limits: []limit.Limit{{Name: "searches", Tools: []string{"search"}, Calls: 2, Per: time.Hour, Instead: "Use what was found."}},
		Logger: slog.New(slog.DiscardHandler), // where is said that they have none; nil means slog.Default
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

	for range 3 {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search"})
		if f, failed := middleware.FaultOf(res, err); failed {
			fmt.Println(f.Message())
			fmt.Println(f.Suggestion())
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// found
	// found
	// at most 2 calls in 1 h for each caller
	// Use what was found.
}
