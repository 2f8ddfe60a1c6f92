package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry/client"
)

// A resource that is busy is read again after the time that was asked for.
func ExampleNew() {
	busy := true
	server := func(context.Context, string, mcp.Request) (mcp.Result, error) {
		if busy {
			busy = false
			fmt.Println("busy")
			return nil, fault.RateLimited("the archive", time.Millisecond)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "here it is"}}}, nil
	}
	read := client.New(nil)(server)

	res, err := read(context.Background(), "resources/read", &mcp.ClientRequest[mcp.Params]{Params: &mcp.ReadResourceParams{URI: "docs://a"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.(*mcp.ReadResourceResult).Contents[0].Text)
	// Output:
	// busy
	// here it is
}

// A client that waits as long as the server asks, and for which a failure is a Go
// error.
func ExampleNew_failuresAsErrors() {
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

	caller := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil)
	caller.AddSendingMiddleware(client.New(&client.Options{
		FailuresAsErrors: true,
	}))

	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		fmt.Println(err)
		return
	}
	session, err := caller.Connect(ctx, clientTransport, nil)
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
