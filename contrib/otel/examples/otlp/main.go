// Otlp is a server whose spans, measurements and log records go to an OpenTelemetry
// Collector: http://localhost:4318 if no variable OTEL_EXPORTER_OTLP_ENDPOINT says otherwise.
//
//	export GOWORK=off                # a module of its own, outside of the workspace
//	go run .                         # over stdio
//	go run . -http 127.0.0.1:8080    # over HTTP
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
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/contrib/bridges/otelslog"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/correlate/sinks"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	otlp, err := export(ctx)
	if err != nil {
		return err
	}
	defer otlp.shutdown() // sends what is left

	tracing := mcpotel.New(&mcpotel.Options{TracerProvider: otlp.traces, MeterProvider: otlp.meters})
	server := newServer(tracing)
	server.AddReceivingMiddleware(tracing, mcpchain.Standard(&mcpchain.Options{
		Logger:      newLogger(otelslog.NewHandler("weather", otelslog.WithLoggerProvider(otlp.logs))),
		RetryServer: retry.Server(&retry.ServerOptions{InitialInterval: 10 * time.Millisecond}),
	}))
	return serve(ctx, server, address)
}

// newLogger writes each record twice: whole to standard error, and without credentials to
// the Collector. One that is stuck holds nothing of the other.
func newLogger(collector slog.Handler) *slog.Logger {
	return slog.New(sinks.Fanout(
		slog.NewJSONHandler(os.Stderr, nil),
		sinks.Pipe(collector, mask.SlogMiddleware(nil)),
	))
}

// newServer has a tool that answers, one that refuses, one with a bug and one that has to
// be tried twice.
func newServer(tracing mcp.Middleware) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "now", Annotations: reads}, answer(nil))
	mcp.AddTool(server, &mcp.Tool{Name: "history", Annotations: reads}, answer(fault.Denied("read", "the archive")))
	mcp.AddTool(server, &mcp.Tool{Name: "storms", Annotations: reads},
		answer(errors.New(`pq: relation "storms" does not exist at postgres://app:hunter2@10.0.0.7`)))

	var runs atomic.Int64
	forecast := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if runs.Add(1)%2 == 1 {
			return nil, fault.Unavailable("the model")
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "rain"}}}, nil
	}
	server.AddTool(&mcp.Tool{Name: "forecast", Annotations: reads, InputSchema: map[string]any{"type": "object"}},
		middleware.Tool(forecast, tracing)) // a span for each attempt
	return server
}

type place struct {
	City string `json:"city,omitempty"`
}

func answer(err error) mcp.ToolHandlerFor[place, any] {
	return func(context.Context, *mcp.CallToolRequest, place) (*mcp.CallToolResult, any, error) {
		return nil, nil, err
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that. It returns
// when ctx ends, or standard input.
func serve(ctx context.Context, server *mcp.Server, address string) error {
	if address == "" {
		if err := server.Run(ctx, transport.Stdio(nil)); ctx.Err() == nil {
			return err
		}
		return nil // asked to stop
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
