package failsafe_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fs "github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	mcpfailsafe "github.com/mcpchain/mcpchain/contrib/failsafe"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

const delay = 200 * time.Millisecond

func breaker(string) []fs.Policy[mcp.Result] {
	return []fs.Policy[mcp.Result]{circuitbreaker.NewBuilder[mcp.Result]().WithFailureThreshold(2).WithSuccessThreshold(1).WithDelay(delay).Build()}
}

// server connects a client to a server with one tool, whose handler can be changed.
func server(t *testing.T, mw ...mcp.Middleware) (call func(tool string) *fault.Error, set func(func(context.Context) error)) {
	t.Helper()
	var mu sync.Mutex
	var run func(context.Context) error
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	for _, name := range []string{"a", "b"} {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			mu.Lock()
			f := run
			mu.Unlock()
			return nil, nil, f(ctx)
		})
	}
	s.AddReceivingMiddleware(mw...)
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := s.Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close(); _ = ss.Wait() })
	return func(tool string) *fault.Error {
			f, _ := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))
			return f
		}, func(f func(context.Context) error) {
			mu.Lock()
			defer mu.Unlock()
			run = f
		}
}

func TestACircuitOpens(t *testing.T) {
	for name, mw := range map[string]func(mcp.Middleware) mcp.Middleware{
		"alone": func(m mcp.Middleware) mcp.Middleware { return m },
		"standard": func(m mcp.Middleware) mcp.Middleware {
			return mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}, m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call, set := server(t, mw(mcpfailsafe.New(&mcpfailsafe.Options{Policies: breaker})))
				set(func(context.Context) error { return fault.NotFound("file", "x") })
				for range 4 {
					require.Equal(t, fault.KindNotFound, call("a").Kind(), "who explores opens no circuit")
				}
				set(func(context.Context) error { return fault.Unavailable("the oven") })
				for range 2 {
					require.Contains(t, call("a").Message(), "the oven")
				}
				f := call("a")
				require.Equal(t, fault.KindServiceUnavailable, f.Kind())
				require.Contains(t, f.Message(), `"a" failed too often and is not called for a while`)
				retry, _ := f.Retry()
				require.Equal(t, fault.EffectNone, retry.Effect)
				require.InDelta(t, delay.Seconds(), retry.RetryAfterSeconds, delay.Seconds())
				require.Positive(t, retry.RetryAfterSeconds)
				require.Contains(t, call("b").Message(), "the oven", "another tool has another circuit")

				time.Sleep(delay + 10*time.Millisecond)
				probing, release := make(chan struct{}), make(chan struct{})
				set(func(context.Context) error { close(probing); <-release; return nil })
				done := make(chan *fault.Error, 1)
				go func() { done <- call("a") }()
				<-probing
				require.Contains(t, call("a").Message(), `"a" failed too often; whether it works again is being tried`)
				close(release)
				require.Nil(t, <-done)
				set(func(context.Context) error { return nil })
				require.Nil(t, call("a"))
			})
		})
	}
}

// TestARefusedSecondRun: a policy that refuses the second run of a handler does not say that the first one did
// nothing.
func TestARefusedSecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		call, set := server(t, mcpfailsafe.New(&mcpfailsafe.Options{Policies: func(string) []fs.Policy[mcp.Result] {
			return []fs.Policy[mcp.Result]{
				retrypolicy.NewBuilder[mcp.Result]().WithMaxRetries(1).Build(),
				circuitbreaker.NewBuilder[mcp.Result]().WithFailureThreshold(1).WithDelay(delay).Build(),
			}
		}}))
		set(func(context.Context) error { runs++; return fault.New(fault.KindServerError, "the answer was lost") })
		f := call("a")
		require.Equal(t, 1, runs)
		require.Contains(t, f.Message(), "failed too often")
		retry, _ := f.Retry()
		require.Equal(t, fault.EffectUnknown, retry.Effect)
	})
}

func TestABulkheadAndATimeout(t *testing.T) {
	synctest.Test(t, testABulkheadAndATimeout)
}

func testABulkheadAndATimeout(t *testing.T) {
	call, set := server(t, mcpfailsafe.New(&mcpfailsafe.Options{Policies: func(key string) []fs.Policy[mcp.Result] {
		if key == "b" {
			return []fs.Policy[mcp.Result]{timeout.New[mcp.Result](20 * time.Millisecond)}
		}
		return []fs.Policy[mcp.Result]{bulkhead.New[mcp.Result](1)}
	}}))
	running, release := make(chan struct{}), make(chan struct{})
	set(func(context.Context) error { close(running); <-release; return nil })
	done := make(chan *fault.Error, 1)
	go func() { done <- call("a") }()
	<-running
	f := call("a")
	require.Equal(t, fault.KindRateLimited, f.Kind())
	require.Contains(t, f.Message(), `"a" accepts no more calls now`)
	close(release)
	require.Nil(t, <-done)
	set(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	require.Equal(t, fault.KindTimeout, call("b").Kind())
}

func TestPanicsPassAndAreCounted(t *testing.T) {
	h := mcpfailsafe.New(&mcpfailsafe.Options{Policies: func(string) []fs.Policy[mcp.Result] {
		return []fs.Policy[mcp.Result]{bulkhead.New[mcp.Result](1)}
	}})(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("canary") })
	for range 3 {
		require.PanicsWithValue(t, "canary", func() {
			_, _ = h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}})
		})
	}
}

func TestKeys(t *testing.T) {
	var made []string
	count := func(key string) []fs.Policy[mcp.Result] { made = append(made, key); return nil }
	run := func(o mcpfailsafe.Options, reqs ...mcp.Request) {
		made = nil
		o.Policies = count
		h := mcpfailsafe.New(&o)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, errors.New("as it came")
		})
		for _, req := range reqs {
			_, err := h(t.Context(), "x", req)
			require.Error(t, err)
		}
	}
	tool := func(owner, name string) mcp.Request {
		return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name}, Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: owner}}}
	}
	run(mcpfailsafe.Options{}, tool("ada", "a"), tool("bob", "a"), tool("ada", "b"), &mcp.ListToolsRequest{})
	require.Equal(t, "[a b]", fmt.Sprint(made))
	run(mcpfailsafe.Options{Key: mcpfailsafe.ByOwner}, tool("ada", "a"), tool("bob", "a"), tool("ada", "b"), tool("", "b"), &mcp.ListToolsRequest{})
	require.Equal(t, "[ada bob]", fmt.Sprint(made))
	run(mcpfailsafe.Options{MaxKeys: 2}, tool("", "a"), tool("", "b"), tool("", "a"), tool("", "c"), tool("", "a"), tool("", "b"))
	require.Equal(t, "[a b c b]", fmt.Sprint(made), "b was forgotten")
	run(mcpfailsafe.Options{Key: func(context.Context, mcp.Request) string { panic("canary") }}, tool("", "a"))
	require.Empty(t, made)
	require.Panics(t, func() { mcpfailsafe.New(nil) })
	require.Panics(t, func() { mcpfailsafe.New(&mcpfailsafe.Options{Policies: count, MaxKeys: -1}) })
}
