package state_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/state"
)

type basket struct {
	Items []string `json:"items"`
}

type addItem struct {
	Handle string `json:"handle" jsonschema:"the handle from new_basket"`
	Item   string `json:"item"`
}

// The model gets a handle and passes it back.
func Example() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "new_basket"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		handle, err := state.Create(ctx, basket{})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(handle)}}}, nil, err
	})
	mcp.AddTool(server, &mcp.Tool{Name: "add_item"}, func(ctx context.Context, _ *mcp.CallToolRequest, in addItem) (*mcp.CallToolResult, any, error) {
		b, err := state.From[basket](ctx)
		if err != nil {
			return nil, nil, err
		}
		b.Items = append(b.Items, in.Item) // saved when the handler has succeeded
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(b.Items, ", ")}}}, nil, nil
	})
	server.AddReceivingMiddleware(state.New(&state.Options{NewTool: "new_basket"}))

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = session.Close() }()
	call := func(tool string, args any) string {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			panic(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	handle := call("new_basket", nil)
	fmt.Println(call("add_item", addItem{handle, "tea"}))
	fmt.Println(call("add_item", addItem{handle, "milk"}))
	fmt.Println(call("add_item", addItem{"an-old-handle", "sugar"}))
	// Output:
	// tea
	// tea, milk
	// Not found: this handle is not known: it has expired, or there never was one.
	// Next: 1. Begin a new one, whose handle is in the answer: call new_basket {}.
}
