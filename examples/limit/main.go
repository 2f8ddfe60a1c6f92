// Limit shows rates and concurrency for each caller: a caller who asks too often is
// refused and told when the call fits, another one is not affected, a list counts by its
// items, and a call that finds all places taken waits for a moment.
//
//	go run ./examples/limit -story               # what a client gets from it
//	go run ./examples/limit                      # over stdio
//	go run ./examples/limit -http 127.0.0.1:8080 # over HTTP
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
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/transport"
)

type city struct {
	City string `json:"city"`
}

type out struct {
	Weather string `json:"weather"`
}

func weather(context.Context, *mcp.CallToolRequest, city) (*mcp.CallToolResult, out, error) {
	return nil, out{"sunny"}, nil
}

func export(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	time.Sleep(100 * time.Millisecond) // the disk is busy
	return nil, nil, nil
}

// owner names the caller, by what a caller says of itself. Where callers are authenticated
// over HTTP, leave Options.Owner out: the user is known from the token.
func owner(_ context.Context, req mcp.Request) string {
	name, _ := req.GetParams().GetMeta()["example/user"].(string)
	return name
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, weather)
	mcp.AddTool(server, &mcp.Tool{Name: "export"}, export)

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Batch: batch.New(&batch.Options{Lists: []batch.List{{Tool: "weather", Item: "city", Items: "cities", As: "weather_of_all"}}}),
		Limit: limit.New(&limit.Options{
			Owner: owner,
			Limits: []limit.Limit{
				{Scope: limit.PerOwnerAndTool, Tools: []string{"weather"}, Calls: 5, Per: time.Hour, Instead: "Use what you know already."},
				{Scope: limit.PerTool, Tools: []string{"export"}, Running: 1},
				{Scope: limit.ForAll, Running: 64},
			},
			Wait: 5 * time.Second, // for a place to become free
		}),
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
