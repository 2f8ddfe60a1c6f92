// Report is a server with a tool that takes a minute, for clients that wait ten seconds. A caller reads an ID in time, and
// fetches the report with it later: from another server, if the first one was replaced meanwhile.
//
//	go run . -story               # in this directory: three servers with one store; one is replaced, one dies
//	go run .                      # over stdio
//	go run . -http 127.0.0.1:8080 # over HTTP
//
// Several servers share a Redis, which REDIS_ADDR names. Without it the answers are in the memory of the process.
// Whoever has an ID can fetch its answer here. If callers sign in, only the one who made the call can.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain"
	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
	"github.com/mcpchain/mcpchain/transport"
)

type input struct {
	Topic string `json:"topic"`
}

type output struct {
	Chapters int `json:"chapters"`
}

// report returns the tool, which writes four chapters.
func report(takes time.Duration) mcp.ToolHandlerFor[input, output] {
	return func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, output, error) {
		const all = 4
		for n := range all {
			task.Report(ctx, fmt.Sprintf("%d of %d chapters", n, all)) // the caller reads the last one
			select {
			case <-time.After(takes / all):
			case <-ctx.Done(): // task_cancel, or the server ends
				return nil, output{}, ctx.Err()
			}
		}
		return nil, output{all}, nil
	}
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	takes := flag.Duration("takes", time.Minute, "how long a report takes")
	after := flag.Duration("after", 8*time.Second, "when a caller reads an ID instead of the report")
	wait := flag.Duration("wait", 8*time.Second, "how long task_result waits")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	var answers store.Store = store.NewMemory(nil)
	if addr := os.Getenv("REDIS_ADDR"); addr != "" {
		client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
		defer client.Close()
		answers = mcpredis.New(client, nil)
	}
	calls := &drain.Drain{}
	server := mcp.NewServer(&mcp.Implementation{Name: "reports", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, report(*takes))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Drain: drain.New(&drain.Options{Drain: calls}), // lets reports end when the server is replaced
		Task:  task.New(&task.Options{After: *after, Wait: *wait, Store: answers}),
	}))
	server.AddSendingMiddleware(task.Sending())
	if err := serve(ctx, server, *address, calls); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that. When its context ends, it waits for
// the reports.
func serve(ctx context.Context, server *mcp.Server, address string, calls *drain.Drain) error {
	ended := make(chan error, 1)
	running, end := context.WithCancel(context.Background())
	defer end()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		ended <- errors.Join(calls.Shutdown(limit), web.Shutdown(limit))
		end()
	})
	if address == "" {
		if err := server.Run(running, transport.Stdio(nil)); running.Err() == nil {
			return err // the client has gone
		}
		return <-ended
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
