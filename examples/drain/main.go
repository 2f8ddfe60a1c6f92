// Drain is a server that can be replaced without losing a call: told to end, it says so to
// its load balancer at /readyz, sends new calls elsewhere, and waits for those that run. The
// story replaces two servers behind a proxy, under load.
//
//	go run ./examples/drain -story               # a rolling restart
//	go run ./examples/drain                      # over stdio
//	go run ./examples/drain -http 127.0.0.1:8080 # over HTTP, with /readyz and /livez
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

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/transport"
)

func work(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	time.Sleep(5 * time.Millisecond)
	return nil, nil, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	lag := flag.Duration("lag", 5*time.Second, "how long a load balancer takes to see that readiness has fallen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	calls := &drain.Drain{Lag: *lag}
	server := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, work)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Drain: drain.New(&drain.Options{Drain: calls})}))

	if err := serve(ctx, server, *address, calls); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that. When its
// context ends, it ends the calls first.
func serve(ctx context.Context, server *mcp.Server, address string, calls *drain.Drain) error {
	ended := make(chan error, 1)
	running, end := context.WithCancel(context.Background())
	defer end()
	web := &http.Server{ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := calls.Shutdown(limit) // names the calls that did not end
		if web.Shutdown(limit) != nil {
			_ = web.Close()
		}
		ended <- err
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
	mux := http.NewServeMux()
	mux.Handle("/readyz", calls.Ready())
	mux.Handle("/livez", calls.Live())
	mux.Handle("/", transport.HTTP(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}), nil))
	web.Handler = mux
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
