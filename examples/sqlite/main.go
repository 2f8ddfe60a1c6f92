// Sqlite is a server for a SQLite database (shop.db) whose errors are told by rules: a broken
// constraint by what it means, a wrong statement in the words of SQLite, because the caller
// wrote it. A caller's statements read this database and no other.
//
//	go run . -story               # in this directory: what a client gets from it
//	go run .                      # over stdio
//	go run . -http 127.0.0.1:8080 # over HTTP
package main

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/transport"
)

// rule says what a caller may know of an error of SQLite. What it does not know is told by
// its kind, or hidden: SQLite's words name tables, columns and values.
func rule(err *sqlite.Error) *fault.Error {
	switch err.Code() {
	case sqlite3.SQLITE_ERROR: // in a statement of the caller's own
		return fault.New(fault.KindClientError, err.Error()).WithParty(fault.PartyCaller)
	case sqlite3.SQLITE_READONLY:
		return fault.Denied("change", "data with a query")
	case sqlite3.SQLITE_BUSY:
		return fault.New(fault.KindServiceUnavailable, "the database is busy").After(time.Second)
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return fault.New(fault.KindAlreadyExists, "a customer with this email exists").
			Step("See who it is", "query", map[string]any{"sql": "SELECT * FROM customers"})
	}
	return nil
}

func open(mode string) *sql.DB {
	db, err := sql.Open("sqlite", "file:shop.db?_pragma=busy_timeout(100)&mode="+mode)
	if err == nil && mode == "rwc" {
		_, err = db.Exec(`CREATE TABLE IF NOT EXISTS customers (email TEXT PRIMARY KEY, name TEXT NOT NULL)`)
	}
	if err != nil {
		log.Fatal(err)
	}
	return db
}

type shop struct{ db, readOnly *sql.DB }
type customer struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}
type query struct {
	SQL string `json:"sql"`
}

func (s *shop) add(ctx context.Context, _ *mcp.CallToolRequest, in customer) (*mcp.CallToolResult, customer, error) {
	_, err := s.db.ExecContext(ctx, `INSERT INTO customers VALUES (?, ?)`, in.Email, in.Name)
	return nil, in, err // as it comes: the rule knows it
}

func (s *shop) query(ctx context.Context, _ *mcp.CallToolRequest, in query) (*mcp.CallToolResult, any, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // a caller's statement may have no end
	defer cancel()
	conn, err := s.readOnly.Conn(ctx)
	if err == nil {
		defer conn.Close()
		_, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_ATTACHED, 0) // no ATTACH, which reads other files
	}
	if err != nil {
		return nil, nil, err
	}
	found, err := conn.QueryContext(ctx, in.SQL)
	if err != nil {
		return nil, nil, err
	}
	defer found.Close()
	columns, err := found.Columns()
	rows := [][]any{}
	for err == nil && len(rows) < 1000 && found.Next() { // for more a caller says OFFSET
		row, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		err = found.Scan(to...)
		rows = append(rows, row)
	}
	return nil, map[string]any{"rows": rows}, cmp.Or(err, found.Err())
}

func main() {
	address := flag.String("http", "", "serve HTTP on this address instead of stdio")
	flag.Parse()
	s := &shop{db: open("rwc"), readOnly: open("ro")}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "query", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, s.query)
	mcp.AddTool(server, &mcp.Tool{Name: "add_customer"}, s.add)
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Mask: &mask.Options{Rules: []mask.Rule{mask.As(rule)}}}))
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
