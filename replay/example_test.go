package replay_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/replay"
)

type transfer struct {
	Amount int `json:"amount"`
}

// A client whose connection broke sends its call again, with the same key.
func Example() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
	payments := 0
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(_ context.Context, _ *mcp.CallToolRequest, in transfer) (*mcp.CallToolResult, any, error) {
		payments++
		text := fmt.Sprintf("payment %d: %d EUR", payments, in.Amount)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	server.AddReceivingMiddleware(replay.New(nil))

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = session.Close() }()
	for _, amount := range []int{20, 20, 30} {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{
			Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "0198c7f2-9d3e"},
			Name: "pay", Arguments: transfer{Amount: amount},
		})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// payment 1: 20 EUR
	// payment 1: 20 EUR
	// Conflict: the idempotency key of this call was used for a call with other arguments.
	// Suggestion: Use a new key for a new call. Repeat a call with the arguments that it had.
	// Retry: no. Nothing was changed by this call.
}
