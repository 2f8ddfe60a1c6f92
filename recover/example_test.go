package recover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// A server whose handlers may panic, and a client in the same process.
func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "divide"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		zero := 0
		return nil, 1 / zero, nil
	})
	server.AddReceivingMiddleware(mcprecover.New(&mcprecover.Options{
		Logger:  slog.New(slog.DiscardHandler), // where the stack goes; nil means slog.Default
		OnPanic: func(_ context.Context, p *fault.PanicError) { fmt.Println("server:", p) },
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

	f, _ := middleware.FaultOf(session.CallTool(ctx, &mcp.CallToolParams{Name: "divide"}))
	fmt.Println("client:", f.Message())
	// Output:
	// server: panic: runtime error: integer divide by zero
	// client: the server failed unexpectedly
}

// A goroutine that a handler starts is out of reach of every middleware.
func ExampleGo() {
	fetch := func(_ context.Context, url string) error {
		if url == "" {
			panic("no URL")
		}
		return nil
	}

	ctx := context.Background()
	good := mcprecover.Go(ctx, func(ctx context.Context) error { return fetch(ctx, "https://example.com") })
	bad := mcprecover.Go(ctx, func(ctx context.Context) error { return fetch(ctx, "") })

	fmt.Println(<-good)
	err := <-bad
	var p *fault.PanicError
	fmt.Println(err, errors.As(err, &p))
	// Output:
	// <nil>
	// panic: no URL true
}
