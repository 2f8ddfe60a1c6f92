// Deadline shows a time limit for calls: a tool that is too slow and stops when it is
// told to, one that is stuck and does not, what the callers of each get to read, and
// what becomes of the result that comes too late.
//
//	go run ./examples/deadline
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/middleware"
)

type done struct {
	Done string `json:"done"`
}

// report only reads, and obeys its context, as the standard library does: a query, a
// request or a dial that is given ctx ends with it.
func report(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, done, error) {
	select {
	case <-time.After(time.Hour): // a query over ten years
		return nil, done{"reported"}, nil
	case <-ctx.Done():
		return nil, done{}, ctx.Err()
	}
}

// bank is a service whose client library knows nothing of contexts.
type bank struct{ open chan struct{} }

func (b *bank) transfer(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, done, error) {
	<-b.open // the bank does not answer
	return nil, done{"transferred"}, nil
}

func main() {
	b := &bank{open: make(chan struct{})}
	server := mcp.NewServer(&mcp.Implementation{Name: "office", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "report", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, report)
	mcp.AddTool(server, &mcp.Tool{Name: "transfer"}, b.transfer)

	quiet := slog.New(slog.DiscardHandler) // where stuck handlers are recorded; nil means slog.Default
	ended := make(chan struct{})
	limits := deadline.New(&deadline.Options{
		Limit:    300 * time.Millisecond,                                       // of a call that has none of its own
		Tools:    map[string]time.Duration{"transfer": 200 * time.Millisecond}, // usually seconds
		Grace:    time.Second,                                                  // for a handler to return when it is told to
		MaxStuck: 1,                                                            // handlers of one tool
		Logger:   quiet,
		OnStuck: func(_ context.Context, s deadline.Stuck) { // for metrics
			if s.Ended {
				fmt.Printf("server: a handler of %s ended after all; what it returned is in the log only\n\n", s.Target)
				close(ended)
				return
			}
			fmt.Printf("server: a handler of %s is stuck, %d in all\n", s.Target, s.Total)
		},
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: quiet}, limits))
	server.AddSendingMiddleware(deadline.Sending()) // a person who is asked something may think for longer

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

	call(ctx, session, "report")   // stops when its time is over: it may be called again
	call(ctx, session, "transfer") // is stuck: nobody knows whether the money is gone
	call(ctx, session, "transfer") // is refused, before another one gets stuck
	close(b.open)
	<-ended
	call(ctx, session, "transfer") // is welcome again
}

// reference is what tells one failure from another in the log.
var reference = regexp.MustCompile(`Reference: .*`)

// call calls a tool and prints what a model gets to read.
func call(ctx context.Context, session *mcp.ClientSession, tool string) {
	fmt.Println("--> " + tool)
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if f, failed := middleware.FaultOf(res, err); failed {
		fmt.Println(reference.ReplaceAllString(f.Error(), "Reference: (the record in the log)"))
		fmt.Println()
		return
	}
	fmt.Println(res.StructuredContent)
}
