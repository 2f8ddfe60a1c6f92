// Sinks sends the records of calls to several places with samber/slog-multi: all of them
// to a file, a scrubbed copy to a service that is down, panics to a pager, and a failure
// that repeats itself only once with its count. No place that fails costs a record or an
// answer.
//
//	go run ./examples/sinks
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
)

// broken is a service that cannot be reached.
type broken struct{ slog.Handler }

func (broken) Handle(context.Context, slog.Record) error { return errors.New("no route to host") }

func main() {
	var file, spool, pager, summary bytes.Buffer

	// Guard makes of a handler that panics or hangs one that returns an error in time.
	service := slogmulti.Failover()(correlate.Guard(broken{textHandler(&spool)}), correlate.Guard(textHandler(&spool)))

	logger := slog.New(slogmulti.Fanout(
		correlate.Guard(textHandler(&file)),
		slogmulti.Pipe(mask.SlogMiddleware(nil)).Handler(service), // the scrubbing stage
		slogmulti.Router().Add(correlate.Guard(textHandler(&pager)), slogmulti.AttrValueIs("outcome", "panic")).Handler(),
		correlate.Sample(textHandler(&summary), time.Second), // a minute in earnest
	))

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "order"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("dial postgres://app:hunter2@10.0.0.7/orders: connection reset by peer")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "stock"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		panic("index out of range")
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger}))

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
	for _, tool := range []string{"order", "order", "order", "stock"} {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool}); err != nil {
			log.Fatal(err)
		}
	}
	time.Sleep(2500 * time.Millisecond) // the period of the sample ends

	fmt.Printf("The file has all %d:\n%s", bytes.Count(file.Bytes(), []byte("\n")), file.String())
	fmt.Printf("\nThe service is down, and its spool has them, scrubbed:\n%s", spool.String())
	fmt.Printf("\nThe pager has the panic:\n%s", pager.String())
	fmt.Printf("\nThe summary has each failure once, and how often it came again:\n%s", summary.String())
}

// textHandler leaves out what would differ from run to run, and what makes lines long.
func textHandler(w *bytes.Buffer) slog.Handler {
	keep := map[string]bool{slog.LevelKey: true, "tool": true, "outcome": true, "error": true, "repeated": true}
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if !keep[a.Key] {
			return slog.Attr{}
		}
		return a
	}})
}
