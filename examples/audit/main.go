// Audit keeps a record of who called what with which effect, in the directory audit-log.
// The story changes the record behind the back of the server, and an auditor finds each
// change: a flipped digit, a record that was removed, and an end that was cut off.
//
//	go run ./examples/audit -story               # what a client and an auditor get from it
//	go run ./examples/audit                      # over stdio
//	go run ./examples/audit -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
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
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	key := []byte(os.Getenv("AUDIT_KEY"))                                 // from a secret store, 16 bytes at least; see docs/audit.md
	records, err := audit.Open("audit-log", &audit.FileOptions{Key: key}) // on a disk of its own, with a backup
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay", InputSchema: json.RawMessage(schema)}, pay)
	mcp.AddTool(server, &mcp.Tool{Name: "balance", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, balance)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), // the log has errors, the record has none
		Audit: audit.New(&audit.Options{
			Log:   records,
			Owner: func(context.Context, mcp.Request) string { return "ada" }, // leave it out if you authenticate
		}),
	}))

	err = serve(ctx, server, *address)
	if ctx.Err() != nil {
		err = nil // it was told to end
	}
	head, failed := json.Marshal(records.Head()) // keep it where who writes the record cannot write, every minute too
	if err := errors.Join(err, failed, os.WriteFile("audit-head.json", head, 0o600), records.Close()); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that. It ends
// with its context.
func serve(ctx context.Context, server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(ctx, transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Second) // a connection that was never used takes 5
		defer cancel()
		ended <- web.Shutdown(limit) // package drain loses no call: examples/drain
	})
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
