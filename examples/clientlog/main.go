// Clientlog sends what a handler logs to the client that asked for it, as MCP logging
// notifications, without secrets. The logging of MCP is deprecated since protocol version
// 2026-07-28; clients of 2025-11-25 ask for it with logging/setLevel.
//
//	go run ./examples/clientlog
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
)

// toClient returns a logger for one call, whose records go to its client. They are
// scrubbed, because the client is not the operator, and carry the reference of the call.
func toClient(req *mcp.CallToolRequest) *slog.Logger {
	return slog.New(slogmulti.
		Pipe(correlate.SlogMiddleware(), mask.SlogMiddleware(nil)).
		Handler(mcp.NewLoggingHandler(req.Session, nil))) //nolint:staticcheck // for clients that have it
}

func index(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	logger := toClient(req)
	logger.InfoContext(ctx, "indexing", "files", 3)
	logger.DebugContext(ctx, "this client did not ask for so much")
	logger.WarnContext(ctx, "a file was left out", "path", "/srv/shop/orders.db", "password", "hunter2")
	return nil, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}}) //nolint:staticcheck // as above
	mcp.AddTool(server, &mcp.Tool{Name: "index"}, index)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "call-1" }},
	}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	told := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) { //nolint:staticcheck // as above
			data, _ := req.Params.Data.(map[string]any)
			delete(data, "time")
			told <- fmt.Sprint(req.Params.Level, " ", data)
		},
	})
	session, err := client.Connect(ctx, ours, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	call := func() {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "index"}); err != nil {
			log.Fatal(err)
		}
	}
	call()                                                                                          // nobody has asked
	if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil { //nolint:staticcheck // as above
		log.Fatal(err)
	}
	call()
	fmt.Println(<-told)
	fmt.Println(<-told)
	fmt.Println(len(told), "more")
}
