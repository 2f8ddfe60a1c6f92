package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// gate is a handler that is stuck while it is closed.
type gate struct{ open chan struct{} }

func (g *gate) handler(_ context.Context, req mcp.Request) (mcp.Result, error) {
	<-g.open
	return harness.Success(req), nil
}

func TestTooManyStuckHandlers(t *testing.T) {
	each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		g := gate{make(chan struct{})}
		mw := deadline.New(&deadline.Options{Limit: limit, MaxStuck: 2})
		s := harness.Start(t, at, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": g.handler, "other": harness.Succeed()},
			Middleware: []mcp.Middleware{mw},
		})
		for range 2 {
			requireKind(t, fault.KindTimeout, s.Call(t, "it"))
		}
		var got harness.Answer
		require.Zero(t, took(func() { got = s.Call(t, "it") }))
		requireKind(t, fault.KindServiceUnavailable, got)
		what := ""
		if at.Shape.Tool() {
			what = " of this tool"
		}
		require.Contains(t, got.Text(), "Service unavailable: too many calls"+what+" are still running.\n"+
			"Retry: yes, after 30 s. Nothing was changed by this call.")
		if at.Shape.Method() != middleware.MethodComplete { // which has no name to tell handlers apart by
			require.Equal(t, "fine", s.Call(t, "other").Text())
		}

		close(g.open)
		synctest.Wait()
		require.Equal(t, "fine", s.Call(t, "it").Text())
	})
}

// asked is a request of a user; "" is one without an identity.
func asked(user, tool string) *mcp.CallToolRequest {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool}}
	if user != "" {
		req.Extra = &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}}
	}
	return req
}

// kindOf calls a handler and returns how it fails, "" for a success.
func kindOf(ctx context.Context, h mcp.MethodHandler, req mcp.Request) fault.Kind {
	f, failed := middleware.FaultOf(h(ctx, middleware.MethodCallTool, req))
	if !failed {
		return ""
	}
	return f.Kind()
}

// TestNoOwnerUsesUpTheBoundOfAll has one owner call, and call and cancel, whatever it can
// until it is refused. Others are not.
func TestNoOwnerUsesUpTheBoundOfAll(t *testing.T) {
	for name, o := range map[string]deadline.Options{
		"authenticated": {},
		"named": {Owner: func(_ context.Context, req mcp.Request) string {
			user := req.GetExtra().TokenInfo.UserID // panics for those without one
			return strings.ToUpper(user)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.Limit, o.Logger = time.Second, slog.New(slog.DiscardHandler)
				g := gate{make(chan struct{})}
				h := deadline.New(&o)(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
					if call.Target(req) == "good" {
						return &mcp.CallToolResult{}, nil
					}
					return g.handler(ctx, req)
				})
				stuck := 0
				for i := range 400 {
					ctx, cancel := context.WithCancel(t.Context())
					if i%2 == 0 {
						time.AfterFunc(time.Millisecond, cancel)
					}
					if kindOf(ctx, h, asked("mallory", fmt.Sprint("tool ", i%200))) != fault.KindServiceUnavailable {
						stuck++
					}
					cancel()
					time.Sleep(10 * time.Second)
				}
				require.Equal(t, 25, stuck, "a quarter of all")
				require.Equal(t, fault.KindServiceUnavailable, kindOf(t.Context(), h, asked("mallory", "good")))
				for _, other := range []string{"alice", ""} {
					require.Empty(t, kindOf(t.Context(), h, asked(other, "good")), other)
					require.Equal(t, fault.KindTimeout, kindOf(t.Context(), h, asked(other, "tool 1")), other)
				}
				close(g.open)
				synctest.Wait()
				require.Empty(t, kindOf(t.Context(), h, asked("mallory", "tool 1")))
			})
		})
	}
}

func TestTooManyInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{make(chan struct{})}
		h := deadline.New(&deadline.Options{Limit: time.Second, MaxStuck: 1, Logger: slog.New(slog.DiscardHandler)})(
			func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) { return g.handler(ctx, req) })
		for i := range 10 {
			require.Equal(t, fault.KindTimeout, kindOf(t.Context(), h, asked(fmt.Sprint("user ", i), "it")))
		}
		require.Equal(t, fault.KindServiceUnavailable, kindOf(t.Context(), h, asked("another", "it")))
		close(g.open)
		synctest.Wait()
		require.Empty(t, kindOf(t.Context(), h, asked("another", "it")))
	})
}

// TestBurst bounds how many handlers are stuck though all calls came before the first of
// them was.
func TestBurst(t *testing.T) {
	for bound, want := range map[int]int{0: 200, 1: 20, 3: 60, -1: 1000, math.MinInt: 1000} {
		synctest.Test(t, func(t *testing.T) {
			g := gate{make(chan struct{})}
			h := deadline.New(&deadline.Options{Limit: time.Second, MaxStuck: bound, Logger: slog.New(slog.DiscardHandler)})(
				func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) { return g.handler(ctx, req) })
			var kinds [1000]fault.Kind
			var calls sync.WaitGroup
			for i := range kinds {
				calls.Go(func() { kinds[i] = kindOf(t.Context(), h, asked("mallory", "it")) })
			}
			calls.Wait()
			stuck := 0
			for _, kind := range kinds {
				if kind == fault.KindTimeout {
					stuck++
				} else {
					require.Equal(t, fault.KindServiceUnavailable, kind)
				}
			}
			require.Equal(t, want, stuck, "bound %d", bound)
			close(g.open)
			synctest.Wait()
			require.Empty(t, kindOf(t.Context(), h, asked("mallory", "it")))
		})
	}
}

// TestCancelledHandlersWindDown cancels many calls whose handlers take their time to
// clean up: none of them is stuck, and nobody is refused.
func TestCancelledHandlersWindDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(0)
		h := limited(log)(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			time.Sleep(4 * time.Second)
			return nil, ctx.Err()
		})
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				require.Equal(t, fault.KindCancelled, kindOf(ctx, h, asked("", "it")))
			})
		}
		calls.Wait()
		time.Sleep(time.Minute)
		require.NotContains(t, log.String(), "is stuck")
	})
}

type canaryError struct{}

func (canaryError) Error() string { return "open /srv/" + harness.Canary }

var errCanary = canaryError{}

// TestLateHandlerDoesNotDisturb lets stuck handlers end, with failures of their own
// that middlewares inside annotate, while their calls are answered.
func TestLateHandlerDoesNotDisturb(t *testing.T) {
	log := harness.NewLog(0)
	for range tries() {
		synctest.Test(t, func(t *testing.T) {
			inner := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
				res, err := next(ctx, c.Method(), req)
				if f := c.Judge(res, err); f != nil {
					f.Guide(failure.Guidance{Retry: &fault.Retry{ShouldRetry: true, Reason: "of the late one"}})
				}
				return res, err
			})
			got := harness.Call(t, rawAt, ignores(limit+grace, harness.Fail(errCanary)),
				correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(nil),
				deadline.New(&deadline.Options{Limit: limit, Logger: slog.New(slog.DiscardHandler)}), inner)
			require.Equal(t, fault.KindTimeout, got.Fault().Kind())
			require.NotContains(t, got.Text(), "of the late one")
			synctest.Wait()
		})
	}
	require.Len(t, log.Records(), tries(), "one record a call")
}

func TestNoGoroutineIsLeft(t *testing.T) {
	harness.NoLeaks(t)
	g := gate{make(chan struct{})}
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{"good": harness.Succeed(), "bad": harness.Fail(errCanary), "panic": harness.Panic(1), "stuck": g.handler},
		Middleware: []mcp.Middleware{deadline.New(&deadline.Options{
			Limit: time.Minute, Tools: map[string]time.Duration{"stuck": time.Millisecond}, Grace: time.Millisecond, MaxStuck: -1,
		})},
	})
	var calls sync.WaitGroup
	for _, name := range []string{"good", "bad", "panic", "stuck"} {
		for range 8 {
			calls.Add(1)
			go func() {
				defer calls.Done()
				for range 10 {
					s.CallTool(t.Context(), name, nil)
				}
			}()
		}
	}
	calls.Wait()
	close(g.open)
}

// TestTheEndOfTheServer: a handler that the end of the server cuts is waited for, as long as it may take.
func TestTheEndOfTheServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		cause   error
		handler harness.Handler
		answer  time.Duration
		kind    fault.Kind
	}{
		{"it winds down", drain.ErrShutdown, ignores(10*time.Second, harness.Fail(errors.New("interrupted"))), 10 * time.Second, fault.KindServiceUnavailable},
		{"it never returns", drain.ErrShutdown, ignores(time.Hour, harness.Succeed()), limit + grace, fault.KindTimeout},
		{"its caller gave up", nil, ignores(10*time.Second, harness.Succeed()), 5 * time.Second, fault.KindCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Second, func() { end(c.cause) })
				start := time.Now()
				h := deadline.New(&deadline.Options{Limit: limit})(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
					return c.handler(ctx, req)
				})
				f, failed := middleware.FaultOf(h(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}))
				require.True(t, failed)
				require.Equal(t, c.kind, f.Kind())
				require.Equal(t, c.answer, time.Since(start))
				time.Sleep(2 * time.Hour) // until the handler has ended
			})
		})
	}
}
