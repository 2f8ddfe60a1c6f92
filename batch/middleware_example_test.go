package batch_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
)

// A tool that looks one user up gets a sibling for many, without a change to it.
func ExampleNew() {
	type in struct {
		UserID string `json:"user_id"`
	}
	type out struct {
		Name string `json:"name"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "users"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_user"}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, out, error) {
		if in.UserID == "u2" {
			return nil, out{}, fault.NotFound("user", in.UserID)
		}
		return nil, out{"User " + in.UserID}, nil
	})
	server.AddReceivingMiddleware(
		mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}),
		batch.New(&batch.Options{Lists: []batch.List{{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"}}}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			log.Panic(err)
		}
		fmt.Println("tool:", tool.Name)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_users", Arguments: map[string]any{"user_ids": []string{"u1", "u2", "u3"}}})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)

	// Output:
	// tool: get_user
	// tool: get_users
	// 2 of 3 items succeeded, 1 failed.
	// Suggestion: 1 not found: check the name, or list what exists.
	// Failed:
	// - user_id 'u2': Not found: user 'u2' does not exist.
	// Results:
	// - user_id 'u1': {"name":"User u1"}
	// - user_id 'u3': {"name":"User u3"}
}
