// Sinks sends the records of calls to several places with package sinks: all of them
// to a file, a scrubbed copy to a service that is down, and panics to a pager. No place that
// fails costs a record or an answer. The places are files of the working directory.
//
//	go run ./examples/sinks -story               # what a client gets from it
//	go run ./examples/sinks                      # over stdio
//	go run ./examples/sinks -http 127.0.0.1:8080 # over HTTP
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
	"github.com/mcpchain/mcpchain/correlate/sinks"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/transport"
)

// broken is a service that cannot be reached.
type broken struct{ slog.Handler }

func (broken) Handle(context.Context, slog.Record) error { return errors.New("no route to host") }

// newLogger says what goes where.
func newLogger() *slog.Logger {
	file, spool, pager := open("file.log"), open("spool.log"), open("pager.log")

	service := sinks.Failover(broken{spool}, spool)

	return slog.New(sinks.Fanout(
		file,
		sinks.Pipe(service, mask.SlogMiddleware(nil)), // the scrubbing stage
		sinks.Router(sinks.Route{To: pager, When: sinks.Attr("outcome", "panic")}),
	))
}

func open(name string) slog.Handler {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	return slog.NewTextHandler(file, nil)
}

func order(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New("dial postgres://app:hunter2@10.0.0.7/orders: connection reset by peer")
}

func stock(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	panic("index out of range")
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "order", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, order)
	mcp.AddTool(server, &mcp.Tool{Name: "stock", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, stock)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: newLogger()}))

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
