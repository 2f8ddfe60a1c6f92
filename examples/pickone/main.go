// Pickone uses one middleware and nothing else: first package recover alone, then
// package mask alone with a rule for an error that callers know how to avoid.
//
//	go run ./examples/pickone -story               # what a client gets from it
//	go run ./examples/pickone                      # over stdio
//	go run ./examples/pickone -http 127.0.0.1:8080 # over HTTP
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

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/transport"
)

type query struct {
	Table string `json:"table"`
}

func runQuery(_ context.Context, _ *mcp.CallToolRequest, in query) (*mcp.CallToolResult, any, error) {
	switch in.Table {
	case "panics":
		panic("index out of range in /srv/app/query.go")
	case "locked":
		return nil, nil, errors.New("sqlite: database is locked (5)")
	default:
		return nil, nil, errors.New("no such file: /var/lib/app/" + in.Table + ".db")
	}
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	masked := flag.Bool("mask", false, "take package mask alone instead of package recover")
	flag.Parse()

	only := mcprecover.New(nil) // a panic is one failed call, and any other error keeps its text
	if *masked {
		only = mask.New(&mask.Options{
			// Rules are asked in order. Where the error has a sentinel or a type, mask.Is
			// and mask.As are safer than its text.
			Rules: []mask.Rule{
				mask.Contains("database is locked", fault.New(fault.KindServiceUnavailable, "the database is busy").After(time.Second)),
			},
		})
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil))) // where the middlewares log
	server := mcp.NewServer(&mcp.Implementation{Name: "database", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "query", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, runQuery)
	server.AddReceivingMiddleware(only)

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
