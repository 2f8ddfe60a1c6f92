// Testing is a server whose failures are tested: main_test.go, beside this file, says what a
// model reads of each, that nothing private leaves, and that the steps can be carried out.
// The function that makes the server takes inner middlewares, so that tests make it fail.
//
//	go test ./examples/testing                     # the tests
//	go run ./examples/testing -story               # what a client gets from it
//	go run ./examples/testing                      # over stdio
//	go run ./examples/testing -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/transport"
)

// account is locked until somebody unlocks it.
type account struct {
	mu       sync.Mutex
	unlocked bool
	balance  int
}

type payment struct {
	Amount int `json:"amount"`
}

type state struct {
	Balance int `json:"balance"`
}

func (a *account) pay(_ context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, state, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.unlocked {
		return nil, state{}, fault.New(fault.KindPreconditionFailed, "the account is locked").
			Step("Unlock it", "unlock", map[string]any{})
	}
	if in.Amount > a.balance {
		return nil, state{}, fault.Invalid("amount", in.Amount, fmt.Sprintf("at most %d", a.balance))
	}
	a.balance -= in.Amount
	return nil, state{a.balance}, nil
}

func (a *account) unlock(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, state, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unlocked = true
	return nil, state{a.balance}, nil
}

// newServer makes the server. What is given to it stands inside of mask.
func newServer(inner ...mcp.Middleware) *mcp.Server {
	a := &account{balance: 100}
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, a.pay)
	mcp.AddTool(server, &mcp.Tool{Name: "unlock", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, a.unlock)
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger}, inner...))
	return server
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()

	if err := serve(newServer(), *address); err != nil {
		log.Fatal(err)
	}
}

// serve speaks over stdio, or over HTTP if there is an address, and prints that.
func serve(server *mcp.Server, address string) error {
	if address == "" {
		return server.Run(context.Background(), transport.Stdio(nil))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := &http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}
	return web.Serve(listener)
}
