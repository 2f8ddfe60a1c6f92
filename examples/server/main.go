// Server is a whole MCP server: one tool, which panics if b is 0, behind the recommended
// chain.
//
//	go run ./examples/server -story               # what a client gets from it
//	go run ./examples/server                      # over stdio
//	go run ./examples/server -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/transport"
)

type input struct {
	A int `json:"a"`
	B int `json:"b"`
}

type output struct {
	Quotient int `json:"quotient"`
}

func divide(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, output, error) {
	return nil, output{in.A / in.B}, nil // panics if b is 0
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "calculator", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "divide",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, // a tool without it counts as one that writes
	}, divide)

	server.AddReceivingMiddleware(mcpchain.Standard(nil)) // the one line; add it last

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
