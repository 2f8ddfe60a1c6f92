package retry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
)

// A tool that reads is run again before anybody is told that it failed. One that
// writes is not.
func ExampleServer() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	runs := map[string]int{}
	flaky := func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		name := req.Params.Name
		if runs[name]++; runs[name] < 3 {
			return nil, nil, fault.New(fault.KindServerError, "the stock service failed")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "12 in stock"}}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "count_stock", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, flaky)
	mcp.AddTool(server, &mcp.Tool{Name: "order_stock"}, flaky)

	server.AddReceivingMiddleware(retry.Server(&retry.ServerOptions{InitialInterval: time.Millisecond}))

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

	for _, tool := range []string{"count_stock", "order_stock"} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s was run %d times, attempts in _meta: %v\n", tool, runs[tool], res.Meta[retry.AttemptsKey])
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// count_stock was run 3 times, attempts in _meta: 3
	// 12 in stock
	// order_stock was run 1 times, attempts in _meta: <nil>
	// Server error: the stock service failed.
}
