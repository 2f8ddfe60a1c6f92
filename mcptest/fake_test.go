package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
)

// A fakeTB is the test that an example or a test of this package hands to an assertion.
// It keeps what the assertion reports.
type fakeTB struct {
	testing.TB

	ctx      context.Context
	end      context.CancelFunc
	cleanups []func()
	reports  []string
	fatal    bool
}

func newFake() *fakeTB {
	f := &fakeTB{}
	f.ctx, f.end = context.WithCancel(context.Background())
	return f
}

func (f *fakeTB) Helper()                  {}
func (f *fakeTB) Context() context.Context { return f.ctx }
func (f *fakeTB) Cleanup(fn func())        { f.cleanups = append(f.cleanups, fn) }
func (f *fakeTB) Errorf(format string, args ...any) {
	f.reports = append(f.reports, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	f.fatal = true
	runtime.Goexit()
}

// run runs a test to its end, and returns what it reported.
func (f *fakeTB) run(test func(t testing.TB)) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	f.end()
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		last()
	}
	return strings.Join(f.reports, "\n")
}

// report runs a test and prints what it reported.
func report(test func(t testing.TB)) {
	fmt.Println(newFake().run(test))
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to,omitempty"`
}

// newServer returns the server that is tested in the examples: "pay" meets a lock, "old"
// shows its errors, and the middlewares stand where a handler does.
func newServer(inner ...mcp.Middleware) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(_ context.Context, _ *mcp.CallToolRequest, in payment) (*mcp.CallToolResult, any, error) {
		if in.To == "ada" {
			return nil, nil, fault.New(fault.KindConflict, "the account is locked").
				Because(errors.New("lock held by postgres://bank:hunter2@10.0.0.7")).
				WithCode("LOCKED").
				Never("It stays locked.").
				Step("See who holds the lock", "get_lock", map[string]any{"account": "ada"})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "get_lock"}, func(context.Context, *mcp.CallToolRequest, struct {
		Account string `json:"account"`
	},
	) (*mcp.CallToolResult, struct{ Holder string }, error) {
		return nil, struct{ Holder string }{"bob"}, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(quiet(), inner...))
	return server
}
