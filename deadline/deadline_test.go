package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestStuckHandlerIsAnswered(t *testing.T) {
	each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(0)
		s := harness.Start(t, at, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": ignores(time.Hour, harness.Succeed())},
			Middleware: []mcp.Middleware{limited(log)},
		})
		var got harness.Answer
		require.Equal(t, limit+grace, took(func() { got = s.Call(t, "it") }))
		require.Contains(t, got.Text(), "did not finish within 30 s. It was told to stop, but is still running")
		requireKind(t, fault.KindTimeout, got)
		retry := got.Fault().Data().Retry
		if at.Shape.Tool() {
			require.Equal(t, fault.EffectUnknown, retry.Effect)
			require.False(t, retry.ShouldRetry)
			require.Contains(t, got.Text(), "Retry: not the same call: it is still running after 30 s. It may still take effect.")
		} else {
			require.Equal(t, fault.EffectNone, retry.Effect)
			require.False(t, retry.ShouldRetry)
			require.EqualValues(t, 504, got.Protocol().Code)
		}
		require.Contains(t, log.String(), `"msg":"mcp handler is stuck"`)
		require.NotContains(t, log.String(), "ended late")

		time.Sleep(time.Hour)
		synctest.Wait()
		late := log.Records()[len(log.Records())-1]
		require.Equal(t, "mcp handler ended late", late["msg"])
		require.Equal(t, "ok", late["outcome"])
		require.InDelta(t, float64((time.Hour - limit - grace).Milliseconds()), late["late_ms"], 0)
		require.NotContains(t, s.Sent(), "fine")
	})
}

func TestHandlerThatStopsIsTold(t *testing.T) {
	each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(0)
		var got harness.Answer
		require.Equal(t, limit, took(func() { got = harness.Call(t, at, obeys(), limited(log)) }))
		require.Contains(t, got.Text(), "did not finish within 30 s. It was told to stop, and did.")
		requireKind(t, fault.KindTimeout, got)
		require.NotContains(t, log.String(), "stuck")
		require.NotContains(t, log.String(), "late")
	})
}

// TestWorkElsewhere: a handler that only waited for another process does not prove by its return that the
// work has stopped.
func TestWorkElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("proxy: %w", &call.ElsewhereError{Err: context.Cause(ctx)})
		}
		log := harness.NewLog(0)
		got := harness.Call(t, rawAt, waits, limited(log))
		require.Equal(t, "Timeout: the tool did not finish within 30 s. It was told to stop. Whether it did is not known.\n"+
			"Suggestion: Ask for less at a time, or for another form, if the tool allows it.\n"+
			"Retry: not the same call: it may still be running. It may still take effect.\n"+
			"Reference: "+got.Reference(), got.Text())
		require.NotContains(t, log.String(), "stopped:")
		require.Contains(t, log.String(), "it is not known whether the work has stopped")
	})
}

// TestErrorAtTheLimit returns an error at the moment at which the time is up: whichever
// comes first, the caller is told of the limit.
func TestErrorAtTheLimit(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			got := harness.Call(t, rawAt, ignores(limit, harness.Fail(errors.New("i/o timeout"))), deadline.New(&deadline.Options{Limit: limit}))
			require.Contains(t, got.Text(), "Timeout: the tool did not finish within 30 s. It was told to stop, and did.\n")
		})
	}
}

// TestCancelledInTheGrace has a client that gives up while the handler, whose time is
// over, has not stopped.
func TestCancelledInTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(limit+grace/2, cancel)
		var err error
		require.Equal(t, limit+grace/2, took(func() {
			err = do(ctx, func(context.Context) error { time.Sleep(time.Hour); return nil }, deadline.New(&deadline.Options{Limit: limit}))
		}))
		f, _ := middleware.FaultOf(nil, err)
		require.Equal(t, fault.KindCancelled, f.Kind())
		time.Sleep(time.Hour)
	})
}

// TestManySlowLists bounds how many lists are asked at the same time.
func TestManySlowLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		slow := middleware.ForMethods(func(mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) {
				asked.Add(1)
				time.Sleep(time.Hour)
				panic("the list fails in the end")
			}
		}, call.MethodListTools)
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": obeys()},
			Middleware: []mcp.Middleware{deadline.New(&deadline.Options{Limit: limit}), slow},
		})
		var calls sync.WaitGroup
		for range 50 {
			calls.Add(1)
			go func() { defer calls.Done(); s.CallTool(t.Context(), "it", nil) }()
		}
		require.LessOrEqual(t, took(calls.Wait), limit+grace)
		require.EqualValues(t, 16, asked.Load())
		time.Sleep(2 * time.Hour)
	})
}

// tries is how often a test is made whose outcome depends on what comes first.
func tries() int {
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		return 300
	}
	return 50
}

func TestResultThatIsThereWins(t *testing.T) {
	harness.NoLeaks(t)
	for name, after := range map[string]time.Duration{"at the limit": limit, "within the grace": limit + grace/2} {
		t.Run(name, func(t *testing.T) {
			for range tries() { // which comes first is chance
				synctest.Test(t, func(t *testing.T) {
					got := harness.Call(t, rawAt, ignores(after, harness.Succeed()), deadline.New(&deadline.Options{Limit: limit}))
					require.Equal(t, "fine", got.Text())
				})
			}
		})
	}
}

// TestOneAnswerAtTheEndOfTheGrace returns at the very moment at which the handler is
// given up: the result is either the answer or recorded, never both, never neither.
func TestOneAnswerAtTheEndOfTheGrace(t *testing.T) {
	for range tries() {
		synctest.Test(t, func(t *testing.T) {
			log := harness.NewLog(0)
			s := harness.Start(t, rawAt, harness.Setup{
				Handlers:   map[string]harness.Handler{"it": ignores(limit+grace, harness.Succeed())},
				Middleware: []mcp.Middleware{limited(log)},
			})
			got := s.Call(t, "it")
			synctest.Wait()
			recorded := 0
			for _, r := range log.Records() {
				if r["msg"] == "mcp handler ended late" {
					recorded++
				}
			}
			if got.Fault() == nil {
				require.Equal(t, "fine", got.Text())
				require.Zero(t, recorded)
			} else {
				require.Equal(t, fault.KindTimeout, got.Fault().Kind())
				require.Equal(t, 1, recorded)
			}
		})
	}
}

func TestWhatTheHandlerSaysOnPurposeStands(t *testing.T) {
	stopped := func(err error) harness.Handler {
		return func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return nil, err
		}
	}
	synctest.Test(t, func(t *testing.T) {
		mw := deadline.New(&deadline.Options{Limit: limit})
		got := harness.Call(t, rawAt, stopped(fault.New(fault.KindConflict, "half of it was done")), mw)
		require.Equal(t, fault.KindConflict, got.Fault().Kind())
		got = harness.Call(t, rawAt, stopped(&jsonrpc.Error{Code: 7, Message: "seven"}), mw)
		require.EqualValues(t, 7, got.Protocol().Code)
		got = harness.Call(t, rawAt, stopped(errors.New("query interrupted")), mw)
		require.Equal(t, fault.KindTimeout, got.Fault().Kind())
		require.NotContains(t, got.Text(), "interrupted")
	})
}

// cyclic is an error that wraps itself, and wild one whose methods panic.
type (
	cyclic struct{}
	wild   struct{}
)

func (c cyclic) Error() string { return "cyclic" }
func (c cyclic) Unwrap() error { return c }
func (wild) Error() string     { panic("Error") }
func (wild) Unwrap() error     { panic("Unwrap") }
func (wild) Is(error) bool     { panic("Is") }

func TestStrangeErrorsAreSurvived(t *testing.T) {
	for _, err := range []error{cyclic{}, wild{}, errors.Join(cyclic{}, wild{}), (*deadline.LimitError)(nil)} {
		synctest.Test(t, func(t *testing.T) {
			for _, h := range []harness.Handler{
				func(ctx context.Context, _ mcp.Request) (mcp.Result, error) { <-ctx.Done(); return nil, err },
				ignores(time.Hour, harness.Fail(err)),
			} {
				log := harness.NewLog(0)
				got := harness.Call(t, rawAt, h, limited(log))
				require.Equal(t, fault.KindTimeout, got.Fault().Kind())
				time.Sleep(time.Hour)
				synctest.Wait()
				require.NotEmpty(t, log.Records())
			}
		})
	}
}

func TestPanicAndGoexit(t *testing.T) {
	each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(0)
		got := harness.Call(t, at, harness.Panic(harness.Canary), limited(log))
		requireKind(t, fault.KindInternal, got)
		require.Contains(t, got.Text(), "Internal error: ")
		record := log.Only(t)
		require.Equal(t, "panic: "+harness.Canary, record["error"])
		require.Contains(t, record["stack"], "internal/harness/harness.go")

		log = harness.NewLog(0)
		got = harness.Call(t, at, func(context.Context, mcp.Request) (mcp.Result, error) {
			runtime.Goexit()
			return nil, nil
		}, limited(log))
		requireKind(t, fault.KindInternal, got)
		require.Contains(t, log.Only(t)["error"], "runtime.Goexit")
	})
}

func TestLatePanicIsSurvivedAndRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(0)
		got := harness.Call(t, rawAt, ignores(time.Hour, harness.Panic(harness.Canary)), limited(log))
		require.Equal(t, fault.KindTimeout, got.Fault().Kind())
		time.Sleep(time.Hour)
		synctest.Wait()
		records := log.Records()
		late := records[len(records)-1]
		require.Equal(t, "mcp handler ended late", late["msg"])
		require.Equal(t, "ERROR", late["level"])
		require.Equal(t, "panic", late["outcome"])
		require.Contains(t, late["stack"], "internal/harness/harness.go")
		require.Equal(t, got.Reference(), late["reference"])
	})
}

func TestClientCancels(t *testing.T) {
	for name, h := range map[string]harness.Handler{"obeys": obeys(), "ignores": ignores(time.Hour, harness.Succeed())} {
		t.Run(name, func(t *testing.T) {
			each(t, []harness.Shape{harness.ServerTyped, harness.ServerRaw, harness.ServerResource, harness.WrapTool}, func(t *testing.T, at harness.Place) {
				log := harness.NewLog(-4)
				var answered time.Duration
				var told *fault.Error
				start := time.Now()
				s := harness.Start(t, at, harness.Setup{
					Handlers: map[string]harness.Handler{"it": h},
					Middleware: []mcp.Middleware{
						harness.Look(func(_ context.Context, res mcp.Result, err error) {
							answered = time.Since(start)
							told, _ = middleware.FaultOf(res, err)
						}),
						limited(log),
					},
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				s.CallContext(ctx, "it")
				synctest.Wait()
				require.Equal(t, time.Second, answered, "at once")
				require.Equal(t, fault.KindCancelled, told.Kind())
				require.NotContains(t, log.String(), "is stuck")
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if name == "ignores" {
					require.Contains(t, log.String(), "is stuck")
					require.Contains(t, log.String(), "ended late")
				} else {
					require.NotContains(t, log.String(), "is stuck")
				}
			})
		})
	}
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		h := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			ran.Add(1)
			if _, limited := ctx.Deadline(); !limited {
				return harness.Success(&mcp.CallToolRequest{}), nil
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers: map[string]harness.Handler{"a": h, "b": h, "c": h, "d": h},
			Middleware: []mcp.Middleware{deadline.New(&deadline.Options{
				Limit: 2 * time.Second,
				Tools: map[string]time.Duration{"b": time.Second, "c": -1, "d": 0},
			})},
		})
		require.Equal(t, 2*time.Second, took(func() { s.Call(t, "a") }))
		require.Equal(t, time.Second, took(func() { s.Call(t, "b") }))
		require.Equal(t, "fine", s.Call(t, "c").Text())
		require.Equal(t, 2*time.Second, took(func() { s.Call(t, "d") }))
		require.EqualValues(t, 4, ran.Load())
	})
}

func TestNoLimitMeansNothingAtAll(t *testing.T) {
	var at context.Context
	next := func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		at = ctx
		return &mcp.CallToolResult{}, nil
	}
	ctx := t.Context()
	h := deadline.New(&deadline.Options{Limit: -1, Tools: map[string]time.Duration{"other": limit}})(next)
	_, err := h(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{})
	require.NoError(t, err)
	require.Equal(t, ctx, at)
	for _, method := range []string{
		call.MethodListen, call.MethodInitialize, call.MethodPing, call.MethodListTools,
		"notifications/progress", call.MethodSetLevel, "acme/custom",
	} {
		_, err := deadline.New(nil)(next)(ctx, method, &mcp.ListToolsRequest{})
		require.NoError(t, err)
		require.Equal(t, ctx, at, method)
	}
}

func TestBadOptions(t *testing.T) {
	type limits = map[string]time.Duration
	for text, o := range map[string]deadline.Options{
		"deadline.New: Options.Tools has an empty name; give that of a tool":                    {Tools: limits{"": 1}},
		"deadline.New: Options.Limit is 1ns, which no handler can keep; give at least 1ms":      {Limit: 1},
		`deadline.New: Options.Tools["a"] is 5µs, which no handler can keep; give at least 1ms`: {Tools: limits{"a": 5 * time.Microsecond}},
		"deadline.New: Options.Limit is negative, and Tools has no limit, so nothing is limited; give one, or leave the middleware out": {
			Limit: -1, Tools: limits{"a": -1},
		},
	} {
		require.PanicsWithValue(t, text, func() { deadline.New(&o) })
	}
	require.NotPanics(t, func() {
		deadline.New(&deadline.Options{Grace: -1, MaxStuck: -1})
		deadline.New(&deadline.Options{MaxStuck: 50})
		deadline.New(&deadline.Options{Limit: -1, Tools: limits{"a": time.Second}})
	})
}

func TestCancelledIsNotATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("shutting down")
		handler := deadline.New(nil)(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			time.Sleep(time.Hour)
			return nil, nil
		})
		var seen error
		outer := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			res, err := next(ctx, c.Method(), req)
			seen = err
			require.Equal(t, "cancelled", c.Outcome(res, c.Judge(res, err)))
			return res, err
		})
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
		_, err := outer(handler)(ctx, middleware.MethodCallTool, req)
		require.NoError(t, err)
		require.ErrorIs(t, seen, context.Canceled)
		require.ErrorIs(t, seen, reason)
		f, _ := middleware.FaultOf(nil, seen)
		require.Equal(t, fault.KindCancelled, f.Kind())
		time.Sleep(time.Hour)

		_, err = outer(handler)(ctx, middleware.MethodCallTool, req) // cancelled before it starts
		require.NoError(t, err)
		require.ErrorIs(t, seen, reason)
	})
}
