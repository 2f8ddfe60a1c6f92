package recover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var errSecret = errors.New(harness.Canary + " is wrong")

// evil is a value of which nothing can be asked.
type evil struct{ secret string }

func (evil) String() string { panic(harness.Canary) }
func (evil) Error() string  { panic(harness.Canary) }

type nothingToSay struct{ secret string }

func (nothingToSay) String() string { panic(evil{}) }

// panics are handlers that panic, by name, each through a function of that name.
func panics() map[string]harness.Handler {
	panicking := func(f func()) harness.Handler {
		return func(context.Context, mcp.Request) (mcp.Result, error) {
			explode(f)
			return nil, nil
		}
	}
	value := func(v any) harness.Handler { return panicking(func() { panic(v) }) }
	var m map[string]int
	var p *struct{ n int }
	var s []int
	zero := 0
	return map[string]harness.Handler{
		"string":          value(harness.Canary),
		"error":           value(fmt.Errorf("outer: %w", errSecret)),
		"nil":             value(nil),
		"number":          value(7),
		"map":             value(map[string]string{"secret": harness.Canary}),
		"struct":          value(struct{ secret string }{harness.Canary}),
		"evil-error":      value(evil{harness.Canary}),
		"evil-stringer":   value(nothingToSay{harness.Canary}),
		"nil-error":       value((*fault.Error)(nil)),
		"abort":           value(http.ErrAbortHandler),
		"cancelled":       value(context.Canceled),
		"fault":           value(fault.NotFound("file", harness.Canary)),
		"protocol-error":  value(&jsonrpc.Error{Code: 404, Message: harness.Canary}),
		"huge":            value(strings.Repeat(harness.Canary, 10_000)),
		"nil-map":         panicking(func() { m["a"] = 1 }),
		"nil-pointer":     panicking(func() { p.n = 1 }),
		"index":           panicking(func() { _ = s[zero] }),
		"division":        panicking(func() { _ = 1 / zero }),
		"deferred":        panicking(func() { defer func() { panic(harness.Canary) }() }),
		"while-panicking": panicking(func() { defer func() { panic("second " + harness.Canary) }(); panic("first " + harness.Canary) }),
		"again": panicking(func() {
			defer func() { panic(recover()) }()
			panic(harness.Canary)
		}),
		"deep": panicking(func() { deep(200) }),
	}
}

//go:noinline
func explode(f func()) { f() }

//go:noinline
func deep(n int) {
	if n == 0 {
		panic(harness.Canary)
	}
	deep(n - 1)
}

func TestEveryPanicIsAnAnswer(t *testing.T) {
	handlers := panics()
	handlers["good"] = harness.Succeed()
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		harness.NoLeaks(t)
		log := harness.NewLog(slog.LevelDebug)
		s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{logging(log)}})
		var names, texts []string
		for name := range handlers {
			got := s.Call(t, name)
			if name == "good" {
				require.Equal(t, "fine", got.Text())
				continue
			}
			names, texts = append(names, name), append(texts, got.Text())
			require.NotContains(t, string(got.Wire), harness.Canary, name)
			require.Contains(t, got.Text(), "Internal error: the server failed unexpectedly.", name)
			require.Equal(t, at.Shape.Tool(), got.Tool() != nil, name)
		}
		records := log.Records()
		require.Len(t, records, len(names), "each is recorded once")
		for i, r := range records {
			name := names[i]
			require.Contains(t, texts[i], "\nReference: "+r["reference"].(string), name)
			require.Equal(t, "panic", r["outcome"], name)
			require.Equal(t, "ERROR", r["level"], name)
			require.Contains(t, r["error"], "panic: ", name)
			stack := r["stack"].(string)
			first, _, _ := strings.Cut(stack, "\n")
			require.Contains(t, first, "recover_test.", "%s: the code that panicked comes first: %s", name, stack)
			if name == "deep" {
				require.Contains(t, first, "recover_test.deep(...)")
			} else {
				require.Contains(t, stack, "recover_test.explode(...)", name)
			}
			require.Contains(t, stack, "recover_test.go:", name)
		}
	})
}

// TestAPanicKeepsItsValue proves what OnPanic and middlewares outside get.
func TestAPanicKeepsItsValue(t *testing.T) {
	value := &struct{ n int }{7}
	_, err := inside(middleware.MethodCallTool, &mcp.CallToolRequest{}, func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(value) })
	var p *fault.PanicError
	require.ErrorAs(t, err, &p)
	require.Same(t, value, p.Value)

	_, err = inside(middleware.MethodCallTool, &mcp.CallToolRequest{}, func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(errSecret) })
	require.ErrorIs(t, err, errSecret, "a panic with an error wraps it")
	_, err = inside(middleware.MethodCallTool, &mcp.CallToolRequest{}, func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(nil) })
	var e *runtime.PanicNilError
	require.ErrorAs(t, err, &e)
}

// TestPanicsOfOtherMethods proves that the recovery is for every method of a
// server, the start of a session included.
func TestPanicsOfOtherMethods(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		var method atomic.Value
		panics := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
				if m == method.Load() {
					panic(harness.Canary)
				}
				return next(ctx, m, req)
			}
		}
		log := harness.NewLog(slog.LevelDebug)
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Handlers: map[string]harness.Handler{"it": harness.Succeed()}, Middleware: []mcp.Middleware{logging(log), panics},
		})
		c, ctx := s.Client, t.Context()
		calls := map[string]func() error{
			call.MethodListTools:             func() error { return second(c.ListTools(ctx, nil)) },
			call.MethodListPrompts:           func() error { return second(c.ListPrompts(ctx, nil)) },
			call.MethodListResources:         func() error { return second(c.ListResources(ctx, nil)) },
			call.MethodListResourceTemplates: func() error { return second(c.ListResourceTemplates(ctx, nil)) },
			middleware.MethodComplete: func() error {
				return second(c.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "x"}, Argument: mcp.CompleteParamsArgument{Name: "it"}}))
			},
		}
		if era == harness.Older {
			calls[call.MethodPing] = func() error { return c.Ping(ctx, nil) }
			calls[call.MethodSetLevel] = func() error { return c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}) }
			calls[call.MethodSubscribe] = func() error { return c.Subscribe(ctx, &mcp.SubscribeParams{URI: "x:///y"}) }
		}
		for name, c := range calls {
			before := len(log.Records())
			method.Store(name)
			require.ErrorContains(t, c(), "Internal error: ", name)
			require.Len(t, log.Records(), before+1, name)
			method.Store("")
		}
		require.Equal(t, "fine", s.Call(t, "it").Text())
		require.NotContains(t, s.Sent(), harness.Canary)
	}
}

func second[T any](_ T, err error) error { return err }

// TestPanicsOfNotificationsAreSurvived proves that a notification, which nobody
// waits for, cannot end the process either, and leaves a record.
func TestPanicsOfNotificationsAreSurvived(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		log := harness.NewLog(slog.LevelDebug)
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": harness.Succeed()},
			Middleware: []mcp.Middleware{logging(log)},
			Server: &mcp.ServerOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) { panic(harness.Canary) },
				RootsListChangedHandler:     func(context.Context, *mcp.RootsListChangedRequest) { panic(harness.Canary) },
				InitializedHandler:          func(context.Context, *mcp.InitializedRequest) { panic(harness.Canary) },
			},
			Client: &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}}},
		})
		want := []string{"notifications/progress"}
		require.NoError(t, s.Client.NotifyProgress(t.Context(), &mcp.ProgressNotificationParams{ProgressToken: "x", Progress: 1}))
		if era == harness.Older { // later versions have no others
			s.Caller.AddRoots(&mcp.Root{URI: "file:///x"})
			want = append(want, "notifications/initialized", "notifications/roots/list_changed")
		}
		harness.Eventually(t, func() bool { return len(log.Records()) >= len(want) })
		require.Equal(t, "fine", s.Call(t, "it").Text())
		var got []string
		for _, r := range log.Records() {
			got = append(got, r["method"].(string))
			require.Equal(t, "panic", r["outcome"])
			require.NotEmpty(t, r["stack"])
		}
		require.ElementsMatch(t, want, got)
		require.NotContains(t, s.Sent(), harness.Canary)
	}
}

func TestOnPanic(t *testing.T) {
	type key struct{}
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		var called atomic.Int32
		var got *fault.PanicError
		var seen context.Context
		log := harness.NewLog(slog.LevelDebug)
		options := &mcprecover.Options{Logger: log.Logger(), OnPanic: func(ctx context.Context, p *fault.PanicError) {
			called.Add(1)
			got, seen = p, ctx
			panic("the hook is broken")
		}}
		value := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				return next(context.WithValue(ctx, key{}, "value"), method, req)
			}
		}
		answer := harness.Call(t, at, harness.Panic(errSecret), mcprecover.New(options), value, mcprecover.New(options))
		require.Contains(t, answer.Text(), "Internal error: ")
		require.NotContains(t, string(answer.Wire), harness.Canary)
		require.EqualValues(t, 1, called.Load(), "once, although two recover")
		require.Equal(t, errSecret, got.Value)
		require.NotEmpty(t, got.Stack())
		require.Equal(t, "value", seen.Value(key{}), "the context is that of the call where it was recovered")
		require.Equal(t, log.Only(t)["reference"], call.FromContext(seen).ID())
	})
}

// TestErrorsPass proves that a recovery leaves an error alone, whatever comes with
// it.
func TestErrorsPass(t *testing.T) {
	tool := &mcp.CallToolResult{Content: []mcp.Content{nil}}
	res, err := inside(middleware.MethodCallTool, &mcp.CallToolRequest{}, func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return tool, errSecret
	})
	require.Same(t, tool, res)
	require.Equal(t, errSecret, err)
}
