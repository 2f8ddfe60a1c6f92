package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/retry"
)

// servers are the contenders of whole calls that fail.
var servers = []struct {
	name string
	mw   func() mcp.Middleware // nil for none
}{
	{"bare SDK", nil},
	{"by hand", func() mcp.Middleware { return handWritten(written()) }},
	{"`Standard`", func() mcp.Middleware {
		return mcpchain.Standard(&mcpchain.Options{Logger: written(), Retry: &retry.Options{RefuseAfter: -1}}) // or the loop breaker would refuse the calls
	}},
}

// manyTools compares calls that fail on servers of few tools and of many.
func manyTools() *table {
	t := &table{
		title: "A whole call that fails, on 10, 1,000 and 10,000 tools", first: "server", loose: true,
		jobs: "an error, 10 | 1,000 | 10,000 | wrong arguments, 10 | 1,000 | 10,000 | unknown tool, 10 | 1,000 | 10,000",
		note: "Times as ratios to the same call of the bare SDK, on one processor, with the record of the failure. " +
			"The SDK and the server by hand name one wrong argument, and never the tool that was meant. Allocations are rounded.",
	}
	for _, s := range servers {
		sizes := []int{10, 1000, 10_000}
		failures, wrong, unknown := make([]func(), 0, len(sizes)), make([]func(), 0, len(sizes)), make([]func(), 0, len(sizes))
		for _, n := range sizes {
			call := connectToMany(s.mw, n)
			failures = append(failures, call(toolName(n-1), rightOrder))
			wrong = append(wrong, call(toolName(n-1), wrongOrder))
			unknown = append(unknown, call("tol_00005", rightOrder)) // all names have to be looked at, as if the first half is mistyped
		}
		t.add(s.name, slices.Concat(failures, wrong, unknown))
	}
	return t
}

// connectToMany returns what makes a call of a server with so many tools, the last of which fails.
func connectToMany(mw func() mcp.Middleware, tools int) func(tool, arguments string) func() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
	for i := range tools - 1 {
		server.AddTool(&mcp.Tool{Name: toolName(i), InputSchema: json.RawMessage(orderSchema)}, nothing)
	}
	addTool(server, toolName(tools-1), failure)
	if mw != nil {
		server.AddReceivingMiddleware(mw())
	}
	session := connectOne(server)
	return func(tool, arguments string) func() {
		params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
		return func() { _, _ = session.CallTool(context.Background(), params) } // an unknown tool is an error
	}
}

func connectOne(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	_, err := server.Connect(ctx, theirs, nil)
	must(err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(ctx, ours, nil)
	must(err)
	return session
}

func toolName(i int) string { return fmt.Sprintf("tool_%05d", i) }
