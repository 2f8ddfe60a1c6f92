package mcpchain_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
)

// A server with two tools that fail, and what a client gets: what the first one
// says on purpose, and nothing of what the second one did not mean to say.
func ExampleStandard() {
	type input struct {
		Project string `json:"project"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "projects"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "open"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return nil, nil, fault.NotFound("project", in.Project, "alpha", "beta").
			Step("List the projects", "list", nil)
	})
	mcp.AddTool(server, &mcp.Tool{Name: "list"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("dial postgres://app:hunter2@10.0.0.7/prod: broken pipe")
	})

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{ // or nil
		Logger:    slog.New(slog.DiscardHandler),                                                           // has the whole error, under the reference
		Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "req-1" }}, // a UUID by default
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

	for _, call := range []*mcp.CallToolParams{
		{Name: "open", Arguments: input{Project: "alpa"}},
		{Name: "list"},
	} {
		res, err := session.CallTool(ctx, call)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
		fmt.Println()
	}
	// Output:
	// Not found: project 'alpa' does not exist. Did you mean 'alpha'?
	// Retry: no. The same call will fail again.
	// Next: 1. List the projects: call list {}.
	//
	// Internal error: the server failed unexpectedly.
	// Reference: req-1 (give it to the user to report)
}
