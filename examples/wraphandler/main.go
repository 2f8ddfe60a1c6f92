// Wraphandler puts middlewares in front of single handlers instead of a whole
// server: a raw tool handler, a typed one, a resource and a prompt. Everything
// else of the server stays as it is, as the last call shows.
//
//	go run ./examples/wraphandler -story               # what a client gets from it
//	go run ./examples/wraphandler                      # over stdio
//	go run ./examples/wraphandler -http 127.0.0.1:8080 # over HTTP
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

	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/transport"
)

var errDatabase = errors.New("dial postgres://app:hunter2@10.0.0.7/library: connection reset by peer")

type search struct {
	Words string `json:"words"`
}

type found struct {
	Titles []string `json:"titles"`
}

func rawTool(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errDatabase
}

func typedTool(_ context.Context, _ *mcp.CallToolRequest, in search) (*mcp.CallToolResult, found, error) {
	if in.Words == "" {
		panic("no words: " + errDatabase.Error())
	}
	return nil, found{Titles: []string{"On " + in.Words}}, nil
}

func resource(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return nil, errDatabase
}

func prompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return nil, errDatabase
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1.0.0"}, nil)

	// Any middlewares will do, the first outermost. One chain may serve many handlers.
	guard := middleware.Chain(mcprecover.New(nil), mask.New(&mask.Options{Logger: logger}))

	server.AddTool(&mcp.Tool{Name: "raw", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, InputSchema: map[string]any{"type": "object"}},
		middleware.Tool(rawTool, guard))
	// In the place of mcp.AddTool. The guard also stands around what the SDK does for
	// a typed handler, such as the check of the arguments.
	middleware.AddTool(server, &mcp.Tool{Name: "typed", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, typedTool, guard)
	server.AddResource(&mcp.Resource{Name: "catalogue", URI: "library://catalogue"},
		middleware.Resource(resource, guard))
	server.AddPrompt(&mcp.Prompt{Name: "recommend"},
		middleware.Prompt(prompt, guard))
	// And one that is not wrapped.
	server.AddPrompt(&mcp.Prompt{Name: "bare"}, prompt)

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
