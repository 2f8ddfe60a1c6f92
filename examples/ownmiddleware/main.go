// Ownmiddleware writes two middlewares that stand inside mcpchain: an audit, which
// sees how every call ended, and a limit for one tool, which refuses calls in words
// that a model can act on.
//
//	go run ./examples/ownmiddleware
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// audit sees how every call ended, and adds to a failure what the caller should know
// besides. Pass on the context that you got: our middlewares find the call in it.
func audit(out io.Writer) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == middleware.MethodCallTool {
				fmt.Fprintf(out, "audit: %s ended with %s\n", middleware.Target(req), middleware.OutcomeOf(ctx, res, err))
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
	server := mcp.NewServer(&mcp.Implementation{Name: "reports", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "make_report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "report 1"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "send_report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("smtp: 535 bad credentials for mailer@10.0.0.9")
	})

	mcp.AddTool(server, &mcp.Tool{Name: "last_report"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "report 0"}}}, nil, nil
	})

	server.AddReceivingMiddleware(mcpchain.Standard(
		&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)},
		audit(os.Stdout),
		middleware.ForTools(limit(1), "make_report"),
	))

	if err := call(server, "make_report", "make_report", "send_report"); err != nil {
		log.Fatal(err)
	}
}

// call calls tools of the server, as a client does, and prints what it gets without
// the reference, which is another one each time.
func call(server *mcp.Server, tools ...string) error {
	ctx := context.Background()
	clientSide, serverSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		return err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, clientSide, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, tool := range tools {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
		if f, failed := middleware.FaultOf(res, err); failed {
			fmt.Printf("%s\n\n", f.Text())
			continue
		}
		for _, c := range res.Content {
			if text, ok := c.(*mcp.TextContent); ok {
				fmt.Printf("%s\n\n", text.Text)
			}
		}
	}
	return nil
}
