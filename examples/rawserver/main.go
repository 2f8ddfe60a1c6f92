// Rawserver is a server with raw tools (Server.AddTool), which get their arguments as JSON.
// The SDK checks neither these arguments nor the result, and sends an error as it is.
//
//	go run ./examples/rawserver -story               # what a client gets from it
//	go run ./examples/rawserver                      # over stdio
//	go run ./examples/rawserver -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"encoding/json"
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
	"github.com/mcpchain/mcpchain/validate"
)

// schema is what callers read of the arguments. With RawTools it holds.
const schema = `{"type":"object","required":["order"],"additionalProperties":false,"properties":{
	"order":{"type":"integer","minimum":1,"description":"the number of an order"}}}`

func track(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Order int }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	switch in.Order {
	case 1:
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in the post"}}}, nil
	case 2:
		return nil, errors.New("dial postgres://app:hunter2@10.0.0.7/orders: connection reset by peer")
	default:
		return nil, nil //nolint:mcpvet // nobody thought of it; a session of protocol 2026-07-28 would take the process with it
	}
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "orders", Version: "1.0.0"}, nil)
	server.AddTool(&mcp.Tool{
		Name:        "track",
		InputSchema: json.RawMessage(schema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, track)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Validate: &validate.Options{RawTools: true}, // check the arguments of raw tools too
	}))

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
