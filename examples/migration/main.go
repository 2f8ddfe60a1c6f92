// Migration is a server that had its own recovery, masking and request IDs, before (-before)
// and after. The handlers and the type of their errors stay as they are; the middleware
// written by hand goes. docs/migrating.md goes through it step by step.
//
//	go run ./examples/migration -story               # both, with the same calls
//	go run ./examples/migration -before              # over stdio
//	go run ./examples/migration -http 127.0.0.1:8080 # over HTTP
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

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/transport"
)

// publicError has a text for callers and a cause for the log. Its method PublicMessage says so.
type publicError struct {
	text  string
	cause error
}

func (e *publicError) Error() string         { return e.text + ": " + e.cause.Error() }
func (e *publicError) Unwrap() error         { return e.cause }
func (e *publicError) PublicMessage() string { return e.text }

type order struct {
	Number int `json:"number"`
}

func ship(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, order, error) {
	switch in.Number {
	case 2:
		return nil, in, &publicError{"the order is paid, but not packed", errors.New("state 3 in shard 7")}
	case 3:
		return nil, in, errors.New("dial postgres://app:hunter2@10.0.0.7/orders: connection reset by peer")
	case 4:
		panic("no shelf for order 4")
	}
	return nil, in, nil
}

// before is what was written by hand.
func before(logger *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			id := uuid.NewString()
			defer func() {
				if r := recover(); r != nil {
					logger.Error("panic", "request_id", id, "value", r)
					res, err = nil, fmt.Errorf("internal error (%s)", id)
				}
			}()
			res, err = next(ctx, method, req)
			if result, ok := res.(*mcp.CallToolResult); ok && result.GetError() != nil {
				text, public := "internal error ("+id+")", (*publicError)(nil)
				if errors.As(result.GetError(), &public) {
					text = public.text
				}
				logger.Error("call failed", "request_id", id, "error", result.GetError())
				result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
			}
			return res, err
		}
	}
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	old := flag.Bool("before", false, "use what was written by hand")
	flag.Parse()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ship", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool)}}, ship)
	chain := mcpchain.Standard(&mcpchain.Options{
		Logger: logger,
		Correlate: &correlate.Options{ // the IDs, and the name under which the log has them, stay
			NewID: func(context.Context, mcp.Request) string { return uuid.NewString() },
			Attrs: func(ctx context.Context, _ mcp.Request) []slog.Attr {
				return []slog.Attr{slog.String("request_id", correlate.ID(ctx))}
			},
		},
	})
	if *old {
		chain = before(logger)
	}
	server.AddReceivingMiddleware(chain)
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
	return (&http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}
