package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/audit"
)

type payment struct {
	Amount int    `json:"amount"`
	Card   string `json:"card" jsonschema:"the number of the card"`
}

// A tool that writes leaves two records; somebody changes one of them.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log, err := audit.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, payment) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(audit.New(&audit.Options{
		Log:   log,
		Owner: func(context.Context, mcp.Request) string { return "ada" },
	}))

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "pay", Arguments: payment{Amount: 20, Card: "4111"}}); err != nil {
		panic(err)
	}
	_ = session.Close()
	if err := log.Close(); err != nil {
		panic(err)
	}

	head, err := audit.Verifier{}.Dir(dir)
	fmt.Println(head.Seq, "records:", err)

	names, err := audit.Files(dir)
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		panic(err)
	}
	for record, err := range (audit.Verifier{}).Records(strings.NewReader(string(text))) {
		if err != nil {
			panic(err)
		}
		switch record.Event {
		case "begin":
			fmt.Printf("%d: %s %s %s %s\n", record.Seq, record.Owner, record.Event, record.Target, record.Arguments)
		case "end":
			fmt.Printf("%d: %s %s %s: %s, %s\n", record.Seq, record.Owner, record.Event, record.Target, record.Outcome, record.Effect)
		default: // the log was opened and closed
		}
	}
	_, err = audit.Verify(strings.NewReader(strings.Replace(string(text), `"amount":20`, `"amount":99`, 1)))
	fmt.Println(errors.Is(err, audit.ErrBroken), err)
	// Output:
	// 4 records: <nil>
	// 2: ada begin pay {"amount":20,"card":"4111"}
	// 3: ada end pay: ok, committed
	// true audit: the chain is broken: log 1, line 2, after record 1: the record was changed
}
