// Clientlog sends what a handler logs to the client that asked for it, as MCP logging
// notifications, without secrets. The logging of MCP is deprecated since protocol version
// 2026-07-28; clients of 2025-11-25 ask for it with logging/setLevel.
//
//	go run ./examples/clientlog -story               # what a client gets from it
//	go run ./examples/clientlog                      # over stdio
//	go run ./examples/clientlog -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/transport"
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
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}}) //nolint:staticcheck // as above
	mcp.AddTool(server, &mcp.Tool{Name: "index", Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(bool)}}, index)
	server.AddReceivingMiddleware(mcpchain.Standard(nil))

	if err := serve(server, *address); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(context.Background(), transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}
