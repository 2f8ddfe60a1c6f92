package retry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
)

// The order is placed, and then no mail can be sent: the caller learns that it must not place the order again.
func ExampleTransport() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	defer shop.Close()
	client := &http.Client{Transport: retry.Transport(nil, nil)}

	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "order"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, shop.URL+"/orders", nil)
		if err != nil {
			return nil, nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer res.Body.Close()
		return nil, nil, fault.Unavailable("the mail service")
	})
	server.AddReceivingMiddleware(retry.New(nil))
	fmt.Println(callTool(server, "order"))
	// Output:
	// Service unavailable: the mail service is not available now.
	// Retry: no. At least a part of this call took effect: check that before you try another way.
}

// A file is written before the index is, which fails.
func ExampleBegan() {
	write := func(string) error { return nil }
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "save"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		done := retry.Began(ctx)
		err := write("notes.txt")
		done(err)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, fault.Unavailable("the index")
	})
	server.AddReceivingMiddleware(retry.New(nil))
	fmt.Println(callTool(server, "save"))
	// Output:
	// Service unavailable: the index is not available now.
	// Retry: no. At least a part of this call took effect: check that before you try another way.
}

// callTool calls a tool as a client, and returns the text of the answer.
func callTool(server *mcp.Server, tool string) string {
	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		return err.Error()
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, clientTransport, nil)
	if err != nil {
		return err.Error()
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		return err.Error()
	}
	return res.Content[0].(*mcp.TextContent).Text
}
