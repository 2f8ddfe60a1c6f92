package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// do calls a handler once through middlewares, with a context, and returns what a
// middleware further out sees.
func do(ctx context.Context, h func(ctx context.Context) error, mw ...mcp.Middleware) (err error) {
	outer := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		var res mcp.Result
		res, err = next(ctx, c.Method(), req)
		return res, err
	})
	handler := func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{}, h(ctx)
	}
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
	_, _ = outer(middleware.Chain(mw...)(handler))(ctx, middleware.MethodCallTool, req)
	return err
}

type ctxKey struct{}

func TestContextOfTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := context.WithValue(context.Background(), ctxKey{}, "value")
		var handler, plain, timed context.Context
		var stopped []string
		var ended time.Time
		err := do(parent, func(ctx context.Context) error {
			handler = ctx
			at, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, limit, time.Until(at))
			require.Equal(t, "value", ctx.Value(ctxKey{}))
			require.NotNil(t, call.FromContext(ctx))
			require.NoError(t, ctx.Err())
			require.NoError(t, context.Cause(ctx))

			var cancel, cancelTimed context.CancelFunc
			plain, cancel = context.WithCancel(ctx)
			defer cancel()
			timed, cancelTimed = context.WithTimeout(ctx, time.Hour)
			defer cancelTimed()
			context.AfterFunc(ctx, func() { stopped = append(stopped, "after") })
			early, cancelEarly := context.WithCancel(ctx)
			cancelEarly() // takes itself from the list
			require.Error(t, early.Err())

			<-timed.Done()
			ended = time.Now()
			<-plain.Done()
			<-ctx.Done()
			return timed.Err()
		}, deadline.New(&deadline.Options{Limit: limit}))
		synctest.Wait()
		require.NotZero(t, ended)
		require.Equal(t, []string{"after"}, stopped)
		for _, ctx := range []context.Context{handler, plain, timed} {
			require.Equal(t, context.DeadlineExceeded, ctx.Err())
			var cause *deadline.LimitError
			require.ErrorAs(t, context.Cause(ctx), &cause)
			require.Equal(t, &deadline.LimitError{Limit: limit}, cause)
			var timeout interface{ Timeout() bool }
			require.ErrorAs(t, context.Cause(ctx), &timeout)
			require.True(t, timeout.Timeout())
		}
		later, cancel := context.WithCancel(handler)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, later.Err())
		require.NoError(t, context.WithoutCancel(handler).Err())

		requireLimit(t, deadline.LimitError{Limit: limit, Err: context.DeadlineExceeded}, err)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "deadline: the limit of 30s was reached; the handler stopped: context deadline exceeded")
	})
}

func TestContextEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handler, child context.Context
		require.NoError(t, do(t.Context(), func(ctx context.Context) error {
			handler = ctx
			var cancel context.CancelFunc
			child, cancel = context.WithCancel(ctx)
			t.Cleanup(cancel) // it must end before
			return nil
		}, deadline.New(nil)))
		require.Equal(t, context.Canceled, handler.Err())
		synctest.Wait()
		require.Equal(t, context.Canceled, child.Err())
		<-handler.Done()
		done := make(chan struct{})
		context.AfterFunc(handler, func() { close(done) })
		<-done
		deadline.Pause(handler)() // nothing happens

		// As package context does when a context is made at the moment at which it ends.
		called := make(chan struct{})
		stop := handler.(interface{ AfterFunc(func()) func() bool }).AfterFunc(func() { close(called) })
		<-called
		require.False(t, stop())
	})
}

func TestCauseOfTheClientIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		require.Error(t, do(ctx, func(ctx context.Context) error {
			child, stop := context.WithCancel(ctx)
			defer stop()
			<-child.Done()
			require.Equal(t, context.Canceled, child.Err())
			require.Equal(t, reason, context.Cause(child))
			require.Equal(t, reason, context.Cause(ctx))
			return nil
		}, deadline.New(nil)))
		synctest.Wait()
	})
}

// TestCauseIsNoAnswer: a handler that returns the cause of its context did as it was told.
func TestCauseIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, deadline.New(nil))
		f, _ := middleware.FaultOf(nil, err)
		require.Equal(t, "the tool did not finish within 50 s. It was told to stop, and did.", f.Message())
	})
}

func TestLimitOfTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration // the deadline of the context
		want   time.Duration
		caller bool
	}{
		"not known":                   {0, limit, false},
		"by the context":              {20 * time.Second, 19 * time.Second, true},
		"a quarter at most":           {time.Second, 750 * time.Millisecond, true},
		"longer than the limit":       {time.Hour, limit, false},
		"the margin makes it shorter": {limit + time.Millisecond, limit + time.Millisecond - time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				var err error
				spent := took(func() {
					err = do(ctx, func(context.Context) error { time.Sleep(time.Hour); return nil }, deadline.New(&deadline.Options{Limit: limit}))
				})
				require.GreaterOrEqual(t, spent, c.want)
				require.LessOrEqual(t, spent, c.want+grace)
				if c.caller {
					require.Less(t, spent, c.want*4/3, "before the caller gives up")
				}
				requireLimit(t, deadline.LimitError{Limit: c.want, Caller: c.caller, Running: true}, err)
				f, _ := middleware.FaultOf(nil, err)
				require.Equal(t, fault.KindTimeout, f.Kind())
				if c.caller {
					require.Contains(t, f.Message(), ", which is what your own time limit for this call left.")
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

func TestNoTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		err := do(ctx, func(context.Context) error { panic("it ran") }, deadline.New(nil))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "no time was left to start")
		f, _ := middleware.FaultOf(nil, err)
		require.Equal(t, fault.EffectNone, f.Data().Retry.Effect)
	})
}

// TestDeadlineThatNobodyTold has a parent that ends with an error of a time limit but
// does not say so before.
func TestDeadlineThatNobodyTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		require.Equal(t, time.Second+grace, took(func() {
			err = do(hidden{ctx}, func(context.Context) error { time.Sleep(time.Hour); return nil }, deadline.New(nil))
		}))
		requireLimit(t, deadline.LimitError{Limit: time.Second, Caller: true, Running: true}, err)
		time.Sleep(time.Hour)
	})
}

type hidden struct{ context.Context }

func (hidden) Deadline() (time.Time, bool) { return time.Time{}, false }

func TestNested(t *testing.T) {
	second, minute := deadline.New(&deadline.Options{Limit: time.Second}), deadline.New(&deadline.Options{Limit: time.Minute})
	for name, c := range map[string]struct {
		mw    []mcp.Middleware
		depth int // clocks
	}{
		"the same twice":     {[]mcp.Middleware{second, second}, 1},
		"shorter one inside": {[]mcp.Middleware{minute, second}, 2},
		"longer one inside":  {[]mcp.Middleware{second, minute}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, obeying := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					var err error
					spent := took(func() {
						err = do(t.Context(), func(ctx context.Context) error {
							require.Equal(t, c.depth, deadline.Depth(ctx))
							if !obeying {
								time.Sleep(time.Hour)
							}
							<-ctx.Done()
							return ctx.Err()
						}, c.mw...)
					})
					var limitErr *deadline.LimitError
					require.ErrorAs(t, err, &limitErr)
					require.Equal(t, time.Second, limitErr.Limit)
					require.Equal(t, !obeying, limitErr.Running)
					require.False(t, limitErr.Caller)
					require.GreaterOrEqual(t, spent, time.Second)
					require.LessOrEqual(t, spent, time.Second+grace)
					time.Sleep(time.Hour)
				})
			}
		})
	}
}

// TestOuterLimitOfABatch ends an item by the limit of the whole batch, of which the
// item was not told.
func TestOuterLimitOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var item error
		batch := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			_, item = next(hidden{c.Below(ctx, "1", req)}, c.Method(), req)
			return nil, item
		})
		err := do(t.Context(), func(context.Context) error { time.Sleep(time.Hour); return nil },
			deadline.New(&deadline.Options{Limit: time.Second}), batch, deadline.New(&deadline.Options{Limit: time.Minute}))
		for _, err := range []error{item, err} {
			requireLimit(t, deadline.LimitError{Limit: time.Second, Running: true}, err)
		}
		time.Sleep(time.Hour)
	})
}

func TestPause(t *testing.T) {
	const thinking = 5 * time.Minute
	for name, c := range map[string]struct {
		limit, within time.Duration
		thinking      time.Duration
		want          time.Duration
	}{
		"does not count":         {limit, 0, thinking, limit + thinking},
		"for so long only":       {limit, 0, time.Hour, limit + 10*time.Minute},
		"the caller gives up":    {limit, 2 * time.Minute, thinking, 2*time.Minute - time.Second},
		"and the margin is kept": {time.Hour, 2 * time.Minute, thinking, 2*time.Minute - time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				require.Equal(t, c.want, took(func() {
					err := do(ctx, func(ctx context.Context) error {
						time.Sleep(10 * time.Second)
						resume := deadline.Pause(ctx)
						inner := deadline.Pause(ctx) // they overlap
						select {
						case <-time.After(c.thinking):
						case <-ctx.Done():
						}
						inner()
						resume()
						resume() // more than once
						<-ctx.Done()
						return ctx.Err()
					}, deadline.New(&deadline.Options{Limit: c.limit}), deadline.New(&deadline.Options{Limit: 24 * time.Hour}))
					var limitErr *deadline.LimitError
					require.ErrorAs(t, err, &limitErr)
				}))
			})
		})
	}
}

// TestPauseAtTheLimit pauses at the moment at which the timer fires.
func TestPauseAtTheLimit(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			err := do(t.Context(), func(ctx context.Context) error {
				time.Sleep(limit)
				resume := deadline.Pause(ctx)
				time.Sleep(time.Minute)
				resume()
				return ctx.Err()
			}, deadline.New(&deadline.Options{Limit: limit}))
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			time.Sleep(time.Hour)
		})
	}
}

func TestPauseOutsideOfACall(t *testing.T) {
	deadline.Pause(context.Background())()
}

// TestSending has a person who thinks for minutes before the client answers.
func TestSending(t *testing.T) {
	const thinking = 5 * time.Minute
	for _, pausing := range []bool{true, false} {
		for name, ask := range map[string]harness.Handler{
			"the handler asks": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				_, err := req.GetSession().(*mcp.ServerSession).Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: schema})
				if err != nil {
					return nil, err
				}
				return harness.Success(req), nil
			},
			"the SDK asks for it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
				if req.(*mcp.CallToolRequest).Params.InputResponses != nil {
					return harness.Success(req), nil
				}
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "sure?", RequestedSchema: schema}}}, nil
			},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Older}, harness.Setup{
						Handlers:   map[string]harness.Handler{"it": ask},
						Middleware: []mcp.Middleware{deadline.New(&deadline.Options{Limit: limit})},
						Client: &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							select {
							case <-time.After(thinking):
							case <-ctx.Done():
							}
							return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
						}},
						More: func(server *mcp.Server) {
							if pausing {
								server.AddSendingMiddleware(deadline.Sending())
							}
						},
					})
					got := s.Call(t, "it")
					if pausing {
						require.Equal(t, "fine", got.Text())
					} else {
						require.Equal(t, fault.KindTimeout, got.Fault().Kind())
					}
					time.Sleep(time.Hour)
				})
			})
		}
	}
}

var schema = map[string]any{"type": "object", "properties": map[string]any{}}

func TestSendingLetsNotificationsAndPingsPass(t *testing.T) {
	for method, moved := range map[string]bool{"ping": false, "notifications/progress": false, "elicitation/create": true} {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, do(t.Context(), func(ctx context.Context) error {
				at, _ := ctx.Deadline()
				_, err := deadline.Sending()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
					time.Sleep(time.Second)
					return nil, nil
				})(ctx, method, nil)
				now, _ := ctx.Deadline()
				require.Equal(t, moved, now.Equal(at.Add(time.Second)), method)
				require.Equal(t, !moved, now.Equal(at), method)
				return err
			}, deadline.New(nil)))
		})
	}
}
