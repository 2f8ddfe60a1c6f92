package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/transport"
)

// newServer returns the server of a shop in which everything fails.
func newServer(logger *slog.Logger, wrap bool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	addFailures(server)
	// Calls have 50 s; this one has less, so that you need not wait.
	limits := deadline.New(&deadline.Options{Tools: map[string]time.Duration{"charge_card": time.Second / 2}})

	if wrap {
		// ------------------------------------------------------------------
		// This line is all there is between "without" and "with":

		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger, Deadline: limits}))

		// ------------------------------------------------------------------
	}
	return server
}

// serve runs the server in this process until its standard input ends.
func serve(over string, wrap bool) error {
	// Standard output belongs to the stdio transport, so the log goes to standard error.
	server := newServer(slog.New(slog.NewTextHandler(os.Stderr, nil)), wrap)
	switch over {
	case "stdio":
		if !wrap {
			return server.Run(context.Background(), &mcp.StdioTransport{})
		}
		return server.Run(context.Background(), transport.Stdio(nil))
	case "http":
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println("http://" + listener.Addr().String()) // tells the client where
		var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		if wrap {
			handler = transport.HTTP(handler, nil)
		}
		ended := make(chan error, 2)
		go func() { ended <- http.Serve(listener, handler) }()
		go func() {
			// The process that started this one holds the other end, so nothing is left behind.
			_, _ = io.Copy(io.Discard, os.Stdin)
			ended <- nil
		}()
		return <-ended
	default:
		return fmt.Errorf("-serve %s: there are stdio and http", over)
	}
}
