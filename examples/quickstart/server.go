package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/transport"
)

// serve runs the server of a shop in which everything fails, until its standard input ends.
func serve(wrap bool) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	addFailures(server)
	if !wrap {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	// Standard output belongs to the transport, so the log goes to standard error.
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// Calls have 50 s; this one has less, so that you need not wait.
	limits := deadline.New(&deadline.Options{Tools: map[string]time.Duration{"charge_card": time.Second / 2}})

	// ------------------------------------------------------------------
	// These two lines are all there is between "without" and "with":

	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger, Deadline: limits}))
	return server.Run(context.Background(), transport.Stdio(nil))

	// ------------------------------------------------------------------
}
