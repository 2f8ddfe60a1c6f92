package correlate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/correlate"
)

// plainLog is a log without what differs from run to run.
func plainLog() slog.Handler {
	return slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" {
			return slog.Attr{}
		}
		return a
	}})
}

// A failed call leaves one record, under the reference that the caller has too.
func ExampleNew() {
	logger := slog.New(plainLog())
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("index is broken")
	})
	server.AddReceivingMiddleware(correlate.New(&correlate.Options{
		Logger: logger,
		NewID:  func(context.Context, mcp.Request) string { return "req-7" }, // nil for a UUID
	}))

	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		fmt.Println(err)
		return
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example-client"}, nil).Connect(ctx, clientTransport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(res.Content[0].(*mcp.TextContent).Text) {
		if strings.HasPrefix(line, "Reference:") {
			fmt.Println(line)
		}
	}
	// Output:
	// level=ERROR msg="mcp call" method=tools/call tool=search outcome=internal_error kind=internal_error reference=req-7 client=example-client party=server error="index is broken" error_types=*errors.errorString
	// Reference: req-7 (give it to the user to report)
}

// Every record that a handler writes with its context carries the reference.
func ExampleHandler() {
	logger := slog.New(correlate.Handler(plainLog()))
	handle := correlate.New(&correlate.Options{Logger: logger, NewID: func(context.Context, mcp.Request) string { return "req-7" }})(
		func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			logger.InfoContext(ctx, "searching", "pages", 3)
			return &mcp.CallToolResult{}, nil
		})

	if _, err := handle(context.Background(), "tools/call", &mcp.CallToolRequest{}); err != nil {
		fmt.Println(err)
	}
	logger.Info("outside of a call")
	// Output:
	// level=INFO msg=searching pages=3 reference=req-7
	// level=INFO msg="outside of a call"
}
