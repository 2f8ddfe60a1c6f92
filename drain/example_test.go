package drain_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/middleware"
)

// A call that runs finishes, and one that comes later is sent elsewhere.
func ExampleDrain_Shutdown() {
	began, release := make(chan struct{}), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		close(began)
		<-release
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	d := &drain.Drain{}
	server.AddReceivingMiddleware(drain.New(&drain.Options{Drain: d}))

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

	first := make(chan string)
	go func() {
		res, _ := session.CallTool(ctx, &mcp.CallToolParams{Name: "work"})
		first <- res.Content[0].(*mcp.TextContent).Text
	}()
	<-began
	ended := make(chan error)
	go func() { ended <- d.Shutdown(ctx) }()
	time.Sleep(50 * time.Millisecond) // until it has begun

	f, _ := middleware.FaultOf(session.CallTool(ctx, &mcp.CallToolParams{Name: "work"}))
	fmt.Println(f.Text())
	close(release)
	fmt.Println(<-first, <-ended)
	// Output:
	// Service unavailable: this server is being replaced: another one will answer.
	// Retry: yes, after 1 s. Nothing was changed by this call.
	// done <nil>
}
