// Operate shows what an operator sees of calls: records with the caller's own ID, a
// tenant and the arguments without their secrets, and counters that any tool can read.
//
//	go run ./examples/operate
package main

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
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
	var calls correlate.Counters
	expvar.Publish("mcp", &calls) // the program says whether, and under which name

	// The ID that callers have: from a gateway, or from a trace. It is never the reference
	// itself, because a caller could choose that of somebody else's call.
	caller := correlate.FirstOf(correlate.MetaID("com.example/request"), correlate.TraceParent, correlate.RequestID)

	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, pay)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: newLogger(),
		Correlate: &correlate.Options{
			NewID: func(context.Context, mcp.Request) string { return "call-1" }, // correlate.Extend(caller) in earnest
			Slow:  2 * time.Second,
			Attrs: func(context.Context, mcp.Request) []slog.Attr {
				return []slog.Attr{slog.String("tenant", "acme")} // of the token, for example
			},
			Observe:  calls.Observe,
			Stats:    &calls.Stats,
			Advanced: correlate.Advanced{CallerID: caller, Arguments: correlate.ArgumentValues},
		},
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

	fmt.Println("The record of the call that failed:")
	for _, order := range []string{"16", "17", "18"} {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: "pay", Arguments: payment{Order: order, Card: "4111 1111 1111 1111"}, Meta: mcp.Meta{"com.example/request": "gw-" + order},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "a-name-that-the-caller-made-up"}); err == nil {
		log.Fatal("there is no such tool")
	}

	var vars struct {
		Calls map[string]struct{ Count int }
	}
	if err := json.Unmarshal([]byte(expvar.Get("mcp").String()), &vars); err != nil {
		log.Fatal(err)
	}
	fmt.Println("\nThe counters of tools:")
	for _, name := range slices.Sorted(maps.Keys(vars.Calls)) {
		if name[:5] == "tools" {
			fmt.Println(vars.Calls[name].Count, name)
		}
	}
}

// newLogger leaves out what would differ from run to run.
func newLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration_ms" {
			return slog.Attr{}
		}
		return a
	}}))
}
