package mcptest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mcptest"
	"github.com/mcpchain/mcpchain/middleware"
)

func quiet() *mcpchain.Options {
	return &mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}
}

// In a test t is the test's own. Here report runs the function with a fake one, and
// prints what it reports: nothing.
func Example() {
	report(func(t testing.TB) {
		for _, version := range []string{mcptest.Current, mcptest.Older} {
			s := mcptest.Start(t, newServer(), &mcptest.Options{Version: version})
			res, err := s.Call("pay", map[string]any{"amount": 5, "to": "ada"})
			mcptest.Expect{
				Kind:  fault.KindConflict,
				Retry: fault.RetryNo,
				Steps: []string{"get_lock"},
				Text:  []string{"the account is locked"},
			}.Check(t, res, err)
			mcptest.ExecutableSteps(t, s, mcptest.Failure(t, res, err))
			mcptest.NoLeak(t, s, "hunter2", "10.0.0.7")
			mcptest.Legal(t, s)
		}
	})
	// Output:
}

// Over HTTP the handler is what the program serves, with its authentication. Here the
// stateless server has none; the other one asks for a token.
func ExampleStartHTTP() {
	report(func(t testing.TB) {
		server := newServer()
		find := func(*http.Request) *mcp.Server { return server }
		for _, version := range []string{mcptest.Current, mcptest.Older} {
			open := mcp.NewStreamableHTTPHandler(find, &mcp.StreamableHTTPOptions{Stateless: true})
			s := mcptest.StartHTTP(t, open, &mcptest.Options{Version: version})
			res, err := s.Call("pay", map[string]any{"amount": 5, "to": "ada"})
			mcptest.Expect{Kind: fault.KindConflict}.Check(t, res, err)
			mcptest.NoLeak(t, s, "hunter2", "10.0.0.7")
			mcptest.Legal(t, s)
		}

		check := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
			if token != "good" {
				return nil, auth.ErrInvalidToken
			}
			return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
		}
		guarded := auth.RequireBearerToken(check, nil)(mcp.NewStreamableHTTPHandler(find, nil))
		s := mcptest.StartHTTP(t, guarded, &mcptest.Options{Header: http.Header{"Authorization": {"Bearer good"}}})
		fmt.Println(mcptest.Text(s.Call("pay", map[string]any{"amount": 5})))

		mcptest.StartHTTP(t, guarded, nil)
	})
	// Output:
	// paid
	// mcptest.StartHTTP: the server did not accept the client: calling "initialize": sending "initialize": Unauthorized
}

func ExampleExpect() {
	report(func(t testing.TB) {
		s := mcptest.Start(t, newServer(), nil)
		res, err := s.Call("pay", map[string]any{"amount": "five"})
		mcptest.Expect{
			Kind:       fault.KindConflict,
			Retry:      fault.RetryYes,
			Violations: map[string]string{"to": "required"},
			Text:       []string{"locked"},
		}.Check(t, res, err)
	})
	// Output:
	// mcptest.Expect: not as expected:
	// 	kind: got validation_error, want conflict
	// 	retry: got no, want yes
	// 	violations: got amount (type), want to (required)
	// 	text: does not have "locked"
	// The caller reads:
	// 	Validation Error: Argument 'amount' expected an integer, but received 'five'.
	// 	Retry: only with corrected arguments.
}

func ExampleFailure() {
	report(func(t testing.TB) {
		s := mcptest.Start(t, newServer(), nil)
		res, err := s.Call("pay", map[string]any{"amount": 5, "to": "ada"})
		fmt.Println(mcptest.Failure(t, res, err).Code())

		res, err = s.Call("pay", map[string]any{"amount": 5})
		_ = mcptest.Failure(t, res, err)
	})
	// Output:
	// LOCKED
	// mcptest.Failure: the call succeeded:
	// 	paid
}

func ExampleNoLeak() {
	report(func(t testing.TB) {
		server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil) // without mcpchain
		mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New(`dial "postgres://bank:<hunter2>@10.0.0.7"`)
		})
		s := mcptest.Start(t, server, nil)
		res, _ := s.Call("pay", nil)
		mcptest.NoLeak(t, res, "<hunter2>", "kept well")
	})
	// Output:
	// mcptest.NoLeak: the secret "<hunter2>" left the server escaped, in message 1:
	// 	"\"}},\"content\":[{\"type\":\"text\",\"text\":\"dial \"postgres://bank:<hunter2>@10.0.0.7\"\"}],\"isError\":true,\"resultType\":\"complete\"}"
}

func ExampleExecutableSteps() {
	report(func(t testing.TB) {
		s := mcptest.Start(t, newServer(), nil)
		mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "the account is locked").
			Step("See who holds the lock", "get_lock", map[string]any{"account": 7}).
			Step("Ask for it", "ask", nil))
		mcptest.ExecutableSteps(t, s, fault.New(fault.KindConflict, "the account is locked"))
	})
	// Output:
	// mcptest.ExecutableSteps: step 1 (See who holds the lock): get_lock does not accept {"account":7}: validating root: validating /properties/account: type: 7 has type "integer", want "string"
	// mcptest.ExecutableSteps: step 2 (Ask for it): the server lists no tool "ask"
	// mcptest.ExecutableSteps: the failure names no call:
	// 	Conflict: the account is locked.
}

func ExampleLegal() {
	report(func(t testing.TB) {
		server := mcp.NewServer(&mcp.Implementation{Name: "bank"}, nil)
		server.AddTool(&mcp.Tool{Name: "pay", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, errors.New("the account is locked")
			})
		s := mcptest.Start(t, server, &mcptest.Options{Version: mcptest.Older})
		_, _ = s.Call("pay", nil)
		mcptest.Legal(t, s)
	})
	// Output:
	// mcptest.Legal: the answer to tools/call pay: the code is 0:
	// 	{"jsonrpc":"2.0","id":2,"error":{"code":0,"message":"the account is locked"}}
}

func ExampleInject() {
	report(func(t testing.TB) {
		server := newServer(mcptest.Inject(t,
			mcptest.Injection{Names: []string{"pay"}, Panic: "hunter2"},
			mcptest.Injection{Names: []string{"get_lock"}, Probability: 0.5, Seed: 1, Error: context.DeadlineExceeded},
		))
		s := mcptest.Start(t, server, nil)
		res, err := s.Call("pay", map[string]any{"amount": 5})
		mcptest.Expect{Kind: fault.KindInternal}.Check(t, res, err)
		for range 4 {
			res, err = s.Call("get_lock", map[string]any{"account": "ada"})
			_, failed := middleware.FaultOf(res, err)
			fmt.Print(failed, " ")
		}
		mcptest.NoLeak(t, s, "hunter2")
	})
	// Output: true false true true
}

func ExampleGolden() {
	report(func(t testing.TB) {
		mcptest.Golden(t, "locked", "Conflict: the account is locked.\nRetry: no.")
		mcptest.Golden(t, "locked", "Conflict: the account is locked.\nRetry: yes.")
	})
	// Output:
	// mcptest.Golden: testdata/locked.golden, line 2: got "Retry: yes.", want "Retry: no."; run the test with -mcptest.update to keep the text:
	// 	Conflict: the account is locked.
	// 	Retry: yes.
}
