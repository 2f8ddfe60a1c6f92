// Observe puts the whole chain in front of a server that exists already, and changes no answer: the log
// says for each failure what was sent and what would have been. After a week one knows what to turn on.
//
//	go run ./examples/observe -story               # what a client gets from it, and what the log has
//	go run ./examples/observe                      # over stdio
//	go run ./examples/observe -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/transport"
)

type query struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
}

func runQuery(_ context.Context, _ *mcp.CallToolRequest, in query) (*mcp.CallToolResult, any, error) {
	switch in.Table {
	case "panics":
		panic("index out of range in /srv/app/query.go")
	case "orders":
		return nil, nil, errors.New("no such file: /var/lib/app/orders.db")
	default:
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "3 rows"}}}, nil, nil
	}
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	observe := flag.Bool("observe", true, "change no answer, and record what would have been sent")
	flag.Parse()

	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := mcp.NewServer(&mcp.Implementation{Name: "database", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "query", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, runQuery)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger, Observe: *observe}))

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
