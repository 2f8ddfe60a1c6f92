// Validation shows a client that mends its call with nothing but the text of the
// answer, as a model does: of a typed tool, which the SDK checks, and of a raw one.
//
//	go run ./examples/validation -story               # what a client gets from it
//	go run ./examples/validation                      # over stdio
//	go run ./examples/validation -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/transport"
	"github.com/mcpchain/mcpchain/validate"
)

type booking struct {
	City   string `json:"city" jsonschema:"where to stay"`
	Nights int    `json:"nights"`
	Guests int    `json:"guests,omitempty"`
}

type receipt struct{ Booked string }

func book(_ context.Context, _ *mcp.CallToolRequest, in booking) (*mcp.CallToolResult, receipt, error) {
	return nil, receipt{fmt.Sprintf("%d nights in %s", in.Nights, in.City)}, nil
}

var resize = &mcp.Tool{Name: "resize", InputSchema: json.RawMessage(`{
	"type": "object",
	"properties": {
		"width":  {"type": "integer", "minimum": 1, "maximum": 4096},
		"format": {"enum": ["png", "webp"]},
		"sharp":  {"type": "boolean", "default": true}
	},
	"required": ["width", "format"], "additionalProperties": false
}`)}

// resized gets checked arguments, with the defaults filled in.
func resized(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text := "resized with " + string(req.Params.Arguments)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, book)
	server.AddTool(resize, validate.Tool(resize.InputSchema, resized)) // the SDK does not check raw tools
	server.AddReceivingMiddleware(validate.New(nil))                   // in mcpchain.Standard too

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
