package budget_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/budget"
)

// A list is cut after its first items, and the answer says how to get the rest.
func ExampleNew() {
	type item struct {
		ID int `json:"id"`
	}
	type items struct {
		Items []item `json:"items"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "list"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, items, error) {
		return nil, items{make([]item, 1000)}, nil
	})
	server.AddReceivingMiddleware(budget.New(&budget.Options{Size: 500})) // tokens

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

	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list"})
	if err != nil {
		fmt.Println(err)
		return
	}
	note := res.Content[1].(*mcp.TextContent).Text // the cursor is another one each time
	fmt.Println(cursor.ReplaceAllString(note, `call read_more {"cursor":"..."}`))
	// Output:
	// Shown: 148 of 1000 items of 'items'. For the rest call read_more {"cursor":"..."}
}
