package task_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/task"
)

// The report ends after its caller has its ID, with which it fetches the answer.
func Example() {
	ctx := context.Background()
	written := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "reports", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		<-written
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "It rained."}}}, nil, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Task: task.New(&task.Options{After: 10 * time.Millisecond}),
	}))

	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	call := func(tool string, args map[string]any) *mcp.CallToolResult {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			log.Fatal(err)
		}
		text, _, _ := strings.Cut(res.Content[0].(*mcp.TextContent).Text, " has")
		fmt.Println(text)
		return res
	}
	handle := call("report", nil).Meta["io.github.mcpchain/task"].(map[string]any)
	close(written)
	call("task_result", map[string]any{"id": handle["id"]})
	_ = session.Close()
	// Output:
	// Still running: 'report'
	// It rained.
}
