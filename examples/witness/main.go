// Witness shows what a caller is told when a tool stops in the middle: what took effect, what did not, and of what
// nobody knows. The handlers return errors as they come; what they sent and committed is witnessed.
//
//	go run ./examples/witness -story               # what a client gets from it
//	go run ./examples/witness                      # over stdio
//	go run ./examples/witness -http 127.0.0.1:8080 # over HTTP
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

var (
	client  = &http.Client{Transport: retry.Transport(nil, nil)} // its requests are witnessed
	service = httptest.NewServer(http.HandlerFunc(desk))
	db      = sql.OpenDB(&books{})
	adds    = &mcp.ToolAnnotations{DestructiveHint: new(bool)}
)

type order struct {
	Users []string `json:"users"`
}

// post sends a request in the context of the call: without it nobody knows for which call it was.
func post(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, service.URL+path, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err == nil {
		defer res.Body.Close()
		err = retry.FromResponse(res)
	}
	return err
}

func invite(ctx context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
	for _, user := range in.Users {
		if err := post(ctx, "/invitations/"+user); err != nil {
			return nil, nil, err
		}
	}
	return nil, in, nil
}

// pay books payments. Of a transaction only the commit is begun: a rollback needs no word.
func pay(ctx context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	defer tx.Rollback() //nolint:errcheck // after the commit there is nothing to undo
	if _, err := tx.ExecContext(ctx, "INSERT INTO payments VALUES (?)", in.Users[0]); err != nil {
		return nil, nil, err
	}
	done := retry.Began(ctx)
	err = tx.Commit()
	done(err)
	return nil, in, err
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	server := mcp.NewServer(&mcp.Implementation{Name: "team", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "invite_users", Annotations: adds}, invite)
	mcp.AddTool(server, &mcp.Tool{Name: "pay", Annotations: adds}, pay)
	all := func(string) bool { return true } // no tool of this server changes anything else
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Retry: &retry.Options{Witnessed: all, InitialInterval: time.Millisecond}}))
	if err := serve(server, *address); err != nil {
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
	return (&http.Server{Handler: transport.HTTP(handler, nil), ReadHeaderTimeout: 10 * time.Second}).Serve(listener)
}

// desk is a service that invites everybody but cyd.
func desk(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/invitations/cyd" {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// books is a database whose first statement fails, and whose commits are lost.
type books struct {
	driver.Connector
	driver.Conn
	statements int
}

func (b *books) Connect(context.Context) (driver.Conn, error) { return b, nil }
func (b *books) Begin() (driver.Tx, error)                    { return b, nil }
func (b *books) Commit() error                                { return syscall.ECONNRESET }
func (b *books) Rollback() error                              { return nil }
func (b *books) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	if b.statements++; b.statements == 1 {
		return nil, syscall.ECONNRESET
	}
	return driver.RowsAffected(1), nil
}
