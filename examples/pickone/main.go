// Pickone uses one middleware and nothing else: first package recover alone, then
// package mask alone with a rule for an error that callers know how to avoid.
//
//	go run ./examples/pickone
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover" // its own name would hide the builtin
)

type query struct {
	Table string `json:"table"`
}

func runQuery(_ context.Context, _ *mcp.CallToolRequest, in query) (*mcp.CallToolResult, any, error) {
	switch in.Table {
	case "panics":
		panic("index out of range in /srv/app/query.go")
	case "locked":
		return nil, nil, errors.New("sqlite: database is locked (5)")
	default:
		return nil, nil, errors.New("no such file: /var/lib/app/" + in.Table + ".db")
	}
}

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: steady}))

	fmt.Printf("recover alone: a panic is one failed call, and any other error keeps its text\n\n")
	ask(mcprecover.New(&mcprecover.Options{Logger: logger}), "panics", "locked")

	fmt.Printf("mask alone: known errors say what to do, unknown ones say nothing\n\n")
	ask(mask.New(&mask.Options{
		Logger: logger,
		// Rules are asked in order. Where the error has a sentinel or a type, mask.Is
		// and mask.As are safer than its text.
		Rules: []mask.Rule{
			mask.Contains("database is locked", fault.New(fault.KindServiceUnavailable, "the database is busy").After(time.Second)),
		},
	}), "locked", "orders")
}

// ask calls a server that has one middleware, once for each table.
func ask(only mcp.Middleware, tables ...string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "database", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "query"}, runQuery)
	server.AddReceivingMiddleware(only)

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

	for _, table := range tables {
		fmt.Printf("--> query %s\n", table)
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "query", Arguments: query{table}})
		if f, failed := middleware.FaultOf(res, err); failed {
			fmt.Printf("%s\n\n", f.Text()) // f.Error() has the reference too, which differs from run to run
		}
	}
}

// steady leaves out of the log what would differ from run to run.
func steady(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "reference" || a.Key == "stack" {
		return slog.Attr{}
	}
	return a
}
