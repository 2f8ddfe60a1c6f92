// Operate shows what an operator sees of calls: records with the caller's own ID, a
// tenant and the arguments without their secrets, and counters that any tool can read: at
// /debug/vars of an address of their own (-debug), and in the log when the server ends.
//
//	go run ./examples/operate -story               # what a client gets from it
//	go run ./examples/operate                      # over stdio
//	go run ./examples/operate -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"errors"
	"expvar"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/transport"
)

type payment struct {
	Order string `json:"order"`
	Card  string `json:"card_number"` // a name that says secret
}

func pay(_ context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
	if in.Order == "17" {
		return nil, nil, errors.New("dial tcp 10.0.0.7:5432: connection reset by peer")
	}
	return nil, nil, nil
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	debug := flag.String("debug", "", "serve /debug/vars on this address, which callers should not reach")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	calls := expvar.NewMap("mcp") // how often calls ended in which way

	// The ID that callers have: from a gateway, or from a trace. It is never the reference
	// itself, because a caller could choose that of somebody else's call.
	caller := correlate.FromRequest("com.example/request", "traceparent", "X-Request-ID")

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, pay)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Correlate: &correlate.Options{
			// NewID: correlate.Extend(caller) lets references begin with the caller's ID.
			Slow: 2 * time.Second,
			Attrs: func(context.Context, mcp.Request) []slog.Attr {
				return []slog.Attr{slog.String("tenant", "acme")} // of the token, for example
			},
			Observe: func(_ context.Context, e correlate.Event) {
				calls.Add(strings.TrimSpace(fmt.Sprintln(e.Method, e.Tool, e.Outcome, e.Kind, e.Party)), 1)
			},
			Advanced: correlate.Advanced{CallerID: caller, ArgumentValues: 1024},
		},
	}))

	if *debug != "" {
		vars := &http.Server{Addr: *debug, Handler: expvar.Handler(), ReadHeaderTimeout: 10 * time.Second}
		go func() { log.Print(vars.ListenAndServe()) }()
	}
	err := serve(ctx, server, *address)
	report(calls)
	if err != nil && ctx.Err() == nil {
		log.Print(err)
	}
}

// report prints how the calls of tools have ended.
func report(calls *expvar.Map) {
	calls.Do(func(calls expvar.KeyValue) {
		if strings.HasPrefix(calls.Key, "tools/") {
			fmt.Fprintln(os.Stderr, calls.Value, calls.Key)
		}
	})
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that. It ends
// with its context.
func serve(ctx context.Context, server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(ctx, transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Second) // a connection that was never used takes 5
		defer cancel()
		ended <- web.Shutdown(limit) // package drain loses no call: examples/drain
	})
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
