// Ownmiddleware writes two middlewares that stand inside mcpchain: an audit, which
// sees how every call ended, and a limit for one tool, which refuses calls in words
// that a model can act on.
//
//	go run ./examples/ownmiddleware -story               # what a client gets from it
//	go run ./examples/ownmiddleware                      # over stdio
//	go run ./examples/ownmiddleware -http 127.0.0.1:8080 # over HTTP
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
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/transport"
)

// audit sees how every call ended, and adds to a failure what the caller should know
// besides. Pass on the context that you got: our middlewares find the call in it.
func audit(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == middleware.MethodCallTool {
				log.InfoContext(ctx, "audit", "tool", middleware.Target(req), "outcome", correlate.OutcomeOf(ctx, res, err))
			}
			middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error { return f.With("region", "eu-1") })
			return res, err // as they came: the failure keeps its kind, its stack and its level
		}
	}
}

// limit needs nothing of mcpchain but an error that may be shown: it is a plain
// middleware.
func limit(calls int64) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		var made atomic.Int64
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if made.Add(1) > calls {
				return nil, fault.RateLimited("the report service", time.Minute).
					Step("Use the last report", "last_report", nil)
			}
			return next(ctx, method, req)
		}
	}
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	server := mcp.NewServer(&mcp.Implementation{Name: "reports", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "make_report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "report 1"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "send_report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("smtp: 535 bad credentials for mailer@10.0.0.9")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "last_report", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "report 0"}}}, nil, nil
	})

	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server.AddReceivingMiddleware(mcpchain.Standard(
		&mcpchain.Options{Logger: logger},
		audit(logger),
		middleware.ForTools(limit(1), "make_report"),
	))

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
