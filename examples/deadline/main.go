// Deadline shows a time limit for calls: a tool that is too slow and stops when it is
// told to, one that is stuck and does not, what the callers of each get to read, and
// what becomes of the result that comes too late.
//
//	go run ./examples/deadline -story               # what a client gets from it
//	go run ./examples/deadline                      # over stdio
//	go run ./examples/deadline -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"expvar"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

type payment struct {
	To string `json:"to"`
}

type done struct {
	Done string `json:"done"`
}

// report only reads, and obeys its context, as the standard library does: a query, a
// request or a dial that is given ctx ends with it.
func report(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, done, error) {
	select {
	case <-time.After(time.Hour): // a query over ten years
		return nil, done{"reported"}, nil
	case <-ctx.Done():
		return nil, done{}, ctx.Err()
	}
}

// bank is a service whose client library knows nothing of contexts. It is slow once.
type bank struct{ slow sync.Once }

func (b *bank) transfer(context.Context, *mcp.CallToolRequest, payment) (*mcp.CallToolResult, done, error) {
	b.slow.Do(func() { time.Sleep(3 * time.Second) })
	return nil, done{"transferred"}, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, report)
	mcp.AddTool(server, &mcp.Tool{Name: "transfer"}, new(bank).transfer)

	stats := new(correlate.Stats)
	expvar.Publish("stuck", expvar.Func(func() any { return stats.Stuck.Load() }))
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)) // it also gets what stuck handlers return too late
	limits := deadline.New(&deadline.Options{
		Limit:    300 * time.Millisecond,                                       // of a call that has none of its own
		Tools:    map[string]time.Duration{"transfer": 200 * time.Millisecond}, // usually seconds
		Grace:    time.Second,                                                  // for a handler to return when it is told to
		MaxStuck: 1,                                                            // handlers of one tool
		Logger:   logger,
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: logger, Correlate: &correlate.Options{Stats: stats}, Deadline: limits,
		Retry: &retry.Options{InitialInterval: time.Millisecond}, // the same wait each time; leave it out
	}))
	server.AddSendingMiddleware(deadline.Sending()) // a person who is asked something may think for longer

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
