package batch_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
)

var directory = map[string]string{"u1": "Ada", "u2": "Grace"}

func lookUp(_ context.Context, id string) (string, error) {
	switch name, ok := directory[id]; {
	case ok:
		return name, nil
	case strings.HasPrefix(id, "remote-"):
		return "", fault.RateLimited("the directory", 30*time.Second)
	default:
		return "", fault.NotFound("user", id)
	}
}

func ExampleRun() {
	ids := []string{"u1", "u9", "u2", "remote-7"}
	res := batch.Run(context.Background(), ids, lookUp, nil)
	for _, item := range res.Items {
		if item.Status == batch.Failed {
			fmt.Println(item.Index, item.Key, item.Err.Kind())
		} else {
			fmt.Println(item.Index, item.Key, item.Value)
		}
	}
	_, out, _ := res.Output()
	fmt.Printf("again: %s\n", out.RetryItems)
	// Output:
	// 0 u1 Ada
	// 1 u9 not_found
	// 2 u2 Grace
	// 3 remote-7 rate_limited
	// again: ["remote-7"]
}

// A typed tool answers with all that its caller needs, in one line.
func ExampleResult_Output() {
	type args struct {
		IDs []string `json:"ids"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "directory", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_users"}, func(ctx context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, batch.Output[string], error) {
		return batch.Run(ctx, in.IDs, lookUp, &batch.RunOptions[string]{KeyName: "user"}).Output()
	})
	// ... server.AddReceivingMiddleware(mcpchain.Standard(nil)) ...

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = session.Close() }()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get_users", Arguments: args{[]string{"u1", "u9", "u2", "remote-7"}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.IsError)
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// false
	// 2 of 4 items succeeded, 2 failed.
	// Suggestion: 1 not found: check the name, or list what exists; 1 rate limited: send fewer items at a time. Wait 30 s, then send retry_items again.
	// Failed:
	// - user 'u9': Not found: user 'u9' does not exist.
	// - user 'remote-7': Rate limited: the directory accepts no more calls now.
	// Send again (retry_items): ["remote-7"]
	// Results:
	// - user 'u1': "Ada"
	// - user 'u2': "Grace"
}
