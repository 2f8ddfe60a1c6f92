// Audit shows a record of who called what with which effect, and how a change in it is
// found: a flipped digit, a record that was removed, and an end that was cut off.
//
//	go run ./examples/audit
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/fault"
)

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
	PIN    string `json:"pin"`
}

// schema says what must not be written down.
const schema = `{"type":"object","required":["to","amount","pin"],"properties":{
	"to":{"type":"string"},"amount":{"type":"integer"},"pin":{"type":"string","writeOnly":true}}}`

func pay(_ context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
	if in.Amount > 1000 {
		return nil, nil, fault.Denied("pay", "more than 1000").WithRetry(fault.Retry{Effect: fault.EffectNone})
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil, nil
}

func balance(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1500"}}}, nil, nil
}

func main() {
	ctx := context.Background()
	dir := "audit-log"                   // on a disk of its own, with a backup
	key := []byte("from a secret store") // 16 bytes at least; not on the machine that keeps the log
	records, err := audit.Open(dir, &audit.FileOptions{Key: key})
	if err != nil {
		log.Fatal(err)
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay", InputSchema: json.RawMessage(schema)}, pay)
	mcp.AddTool(server, &mcp.Tool{Name: "balance", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, balance)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.DiscardHandler), // the log has errors, this record has none
		Audit: &audit.Options{
			Log:       records,
			Principal: func(context.Context, mcp.Request) string { return "ada" }, // leave it out if you authenticate
		},
	}))

	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		log.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1.0.0"}, nil).Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "balance"})
	for _, amount := range []int{20, 5000} {
		_, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "pay", Arguments: payment{"bob", amount, "1234"}})
	}
	_ = session.Close()
	kept := records.Head() // to be kept where who writes the log cannot write
	if err := records.Close(); err != nil {
		log.Fatal(err)
	}

	names, err := audit.Files(dir)
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		log.Fatal(err)
	}
	auditor := audit.Verifier{Key: key, Heads: []audit.Head{kept}}
	for r, err := range auditor.Records(bytes.NewReader(text)) {
		if err != nil {
			log.Fatal(err)
		}
		switch r.Event {
		case audit.EventBegin:
			fmt.Printf("%d: %s begins %s %s\n", r.Seq, r.Principal, r.Target, r.Arguments)
		case audit.EventCall, audit.EventEnd:
			fmt.Printf("%d: %s's %s ended: %s, changed: %s\n", r.Seq, r.Principal, r.Target, r.Outcome, r.Effect)
		default:
			fmt.Printf("%d: %s\n", r.Seq, r.Event) // of the log
		}
	}

	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, log := range []struct {
		change string
		text   []byte
	}{
		{"nothing", text},
		{"one digit", bytes.Replace(text, []byte(`"amount":20`), []byte(`"amount":29`), 1)},
		{"a record is missing", bytes.Replace(text, lines[4], nil, 1)},
		{"the end is missing", bytes.Join(lines[:5], nil)},
	} {
		head, err := auditor.Verify(bytes.NewReader(log.text))
		fmt.Printf("\n%s:\n  %d records are right; %v\n", log.change, head.Seq, err)
	}
}
