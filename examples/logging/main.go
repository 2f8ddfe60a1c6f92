// Logging shows one call in the log: the handler's own records and the record of
// the call have the same reference, which the caller has too. There are two logs,
// made with samber/slog-multi: a full one for the operator, and a scrubbed one that
// may leave the house.
//
//	go run ./examples/logging
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

type shop struct{ log *slog.Logger }

type orders struct {
	Customer string `json:"customer"`
}

func (s *shop) listOrders(ctx context.Context, _ *mcp.CallToolRequest, in orders) (*mcp.CallToolResult, any, error) {
	// A logger of your own: the context of the call brings the reference.
	s.log.InfoContext(ctx, "asking the database", slog.String("customer", in.Customer))

	// Without one, correlate.Logger(ctx) is that of the chain, and correlate.ID(ctx) the
	// bare ID, for the header of a request to another service.
	correlate.Logger(ctx).Info("asking again", slog.String("x_request_id", correlate.ID(ctx)))

	return nil, nil, errors.New("dial postgres://app:hunter2@10.0.0.7/orders: connection reset by peer")
}

func main() {
	var full, shared bytes.Buffer // two files, or a file and a service

	logger := slog.New(slogmulti.
		Pipe(correlate.SlogMiddleware()). // adds the reference, for both
		Handler(slogmulti.Fanout(
			textHandler(&full),
			mask.LogHandler(textHandler(&shared), nil),
		)))

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "list_orders"}, (&shop{logger}).listOrders)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: logger,
		// Leave NewID out to get UUIDs.
		Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "call-1" }},
	}))

	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_orders", Arguments: orders{Customer: "ada"}})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Printf("The caller:\n%v\n", f)
	}
	fmt.Printf("\nThe full log:\n%s", full.String())
	fmt.Printf("\nThe scrubbed log:\n%s", shared.String())
}

// textHandler leaves out what would differ from run to run.
func textHandler(w *bytes.Buffer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" {
			return slog.Attr{}
		}
		return a
	}})
}
