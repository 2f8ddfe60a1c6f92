package mask_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// What a caller may know of three errors: one that a rule knows, one of a standard
// kind, and one that nobody knows.
func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "example"}, nil)
	for name, err := range map[string]error{
		"locked":  errors.New("sqlite: database is locked (5)"),
		"missing": fmt.Errorf("select * from users where mail = 'ann@example.com': %w", sql.ErrNoRows),
		"broken":  errors.New("dial postgres://app:hunter2@10.0.0.7/prod: i/o failure"),
	} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, err
		})
	}
	server.AddReceivingMiddleware(mask.New(&mask.Options{
		Rules: []mask.Rule{
			mask.Contains("database is locked", fault.Unavailable("the database")),
		},
		Logger: slog.New(slog.DiscardHandler), // gets the originals; nil means slog.Default
	}))

	ctx := context.Background()
	clientTransport, serverTransport := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverTransport, nil); err != nil {
		fmt.Println(err)
		return
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, clientTransport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	for _, tool := range []string{"locked", "missing", "broken"} {
		f, _ := middleware.FaultOf(session.CallTool(ctx, &mcp.CallToolParams{Name: tool}))
		fmt.Printf("%s: %s\n", f.Kind(), f.Message())
	}
	// Output:
	// service_unavailable: the database is not available now.
	// not_found: the requested item does not exist
	// internal_error: the server failed unexpectedly
}

// What each reader reads of one error.
func ExampleReader() {
	failing := func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, errors.New("cannot read /srv/app/a.yaml with token=4f9a8b7c6d5e4f3a:\nline 3: no name\nline 9: no kind")
	}
	for _, reader := range []mask.Reader{mask.Anyone, mask.Trusted, mask.Operator} {
		masked := mask.New(&mask.Options{Reader: reader, Logger: slog.New(slog.DiscardHandler)})(failing)
		_, err := masked(context.Background(), "resources/read", &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "app:///"}})
		text, _, _ := strings.Cut(err.Error(), "\nReference: ")
		fmt.Println(text)
	}
	// Output:
	// Internal error: the server failed unexpectedly.
	// Tool error: cannot read [path] with token=[redacted]:
	// > line 3: no name
	// > line 9: no kind
	// Tool error: cannot read /srv/app/a.yaml with token=[redacted]:
	// > line 3: no name
	// > line 9: no kind
}

type quotaError struct{ left int }

func (e *quotaError) Error() string { return fmt.Sprintf("quota of tenant 4711: %d left", e.left) }

func ExampleAs() {
	rule := mask.As(func(e *quotaError) *fault.Error {
		return fault.New(fault.KindRateLimited, fmt.Sprintf("%d calls are left today", e.left))
	})
	fmt.Println(rule(fmt.Errorf("searching: %w", &quotaError{left: 0})))
	fmt.Println(rule(errors.New("another error")))
	// Output:
	// Rate limited: 0 calls are left today.
	// <nil>
}

func ExampleScrub() {
	fmt.Println(mask.Scrub("open /etc/app/key.pem: permission denied"))
	fmt.Println(mask.Scrub("the report has three pages"))
	// Output:
	// open [path]: permission denied
	// the report has three pages
}
