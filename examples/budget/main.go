// Budget shows answers that fit a model's context: a list of 340 items of which the first
// are shown, the rest fetched page by page, and an answer of which nothing can be left
// out, so that the caller is told which argument makes it smaller.
//
//	go run ./examples/budget -story               # what a client gets from it
//	go run ./examples/budget                      # over stdio
//	go run ./examples/budget -http 127.0.0.1:8080 # over HTTP
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
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/transport"
)

type order struct {
	ID    int    `json:"id"`
	Buyer string `json:"buyer"`
}

type orders struct {
	Orders []order `json:"orders"`
	Total  int     `json:"total"`
}

func search(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, orders, error) {
	found := orders{Total: 340}
	for i := range found.Total {
		found.Orders = append(found.Orders, order{i + 1, "a customer of ours"})
	}
	return nil, found, nil
}

type period struct {
	Days int `json:"days"`
}

type sales struct {
	Sales map[string]int `json:"sales"`
}

func statistics(_ context.Context, _ *mcp.CallToolRequest, p period) (*mcp.CallToolResult, sales, error) {
	all := sales{map[string]int{}}
	for i := range p.Days {
		all.Sales[fmt.Sprintf("day %d", i)] = i
	}
	return nil, all, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, search)
	mcp.AddTool(server, &mcp.Tool{Name: "statistics", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, statistics)

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Budget: budget.New(&budget.Options{Size: 2000}), // tokens; 10,000 when nothing is said
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
