package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// obey makes a call as the answers say, until they say nothing more. It returns the waits.
func obey(t *testing.T, s *harness.Session, args map[string]any) (waits []float64, last harness.Answer) {
	t.Helper()
	for {
		last = s.CallTool(t.Context(), "it", args)
		if last.Fault() == nil {
			return waits, last
		}
		said, _ := last.Fault().Retry()
		if !said.ShouldRetry {
			return waits, last
		}
		waits = append(waits, said.RetryAfterSeconds)
		time.Sleep(time.Duration(said.RetryAfterSeconds * float64(time.Second)))
	}
}

// untilThen fails with err until a time has passed since the first call.
func untilThen(outage time.Duration, err error, runs *int) harness.Handler {
	var first time.Time
	return func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		*runs++
		if first.IsZero() {
			first = time.Now()
		}
		if time.Since(first) < outage {
			return nil, err
		}
		return harness.Success(req), nil
	}
}

// An outage of two and a half minutes is survived in at most eight calls, by a caller who does as told.
func TestAnOutageIsSurvived(t *testing.T) {
	for name, err := range map[string]error{
		"a service":    retryError(t, http.StatusServiceUnavailable, nil),
		"a limit":      retryError(t, http.StatusTooManyRequests, nil),
		"refused":      errRefused,
		"reset":        errReset,
		"a timeout":    context.DeadlineExceeded,
		"a fault":      fault.Unavailable("the bank"),
		"its own wait": fault.RateLimited("the bank", 40*time.Second),
	} {
		for _, outage := range []time.Duration{2 * time.Second, 20 * time.Second, 75 * time.Second, 150 * time.Second} {
			t.Run(fmt.Sprint(name, " ", outage), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					runs := 0
					_, last := obey(t, annotated(t, readOnly, nil, untilThen(outage, err, &runs)), nil)
					require.Equal(t, "fine", last.Text())
					require.LessOrEqual(t, runs, 8)
				})
			})
		}
	}
}

func retryError(t *testing.T, status int, header http.Header) error {
	t.Helper()
	err := retry.FromResponse(&http.Response{StatusCode: status, Header: header, Body: http.NoBody, Request: &http.Request{Method: http.MethodGet}})
	require.Error(t, err)
	return err
}

// What does not come back is given up after five minutes, and the user is told.
func TestAnOutageForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, began := 0, time.Now()
		s := annotated(t, readOnly, nil, untilThen(time.Hour, errRefused, &runs))
		waits, last := obey(t, s, nil)
		for i, about := range []float64{5, 15, 45, 60, 60} {
			require.GreaterOrEqual(t, waits[i], about)
			require.LessOrEqual(t, waits[i], 1.25*about)
		}
		require.GreaterOrEqual(t, time.Since(began), 5*time.Minute)
		require.Less(t, time.Since(began), 7*time.Minute)
		require.Contains(t, last.Text(), fmt.Sprintf("\nRetry: not now. It has failed for 5 min (%d calls). Tell the user; it may work again later.", runs))
		said, _ := last.Fault().Retry()
		require.Equal(t, fault.Retry{RetryAfterSeconds: 300, Reason: fault.NotNow, Fact: fmt.Sprintf("It has failed for 5 min (%d calls)", runs)}, said)
		require.Equal(t, fault.RetryNo, middleware.HintOf(last.Fault()).Retry)

		// Another host has not failed: its first failure takes the wait alone.
		said, _ = s.CallTool(t.Context(), "it", map[string]any{"host": "b"}).Fault().Retry()
		require.True(t, said.ShouldRetry)
		require.Equal(t, 2, said.NextAttempt)
	})
}

// A call before its time is told what is left of the wait, and costs the schedule nothing.
func TestACallBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := annotated(t, readOnly, &retry.Options{InitialInterval: time.Minute}, untilThen(time.Hour, errRefused, &runs))
		first, _ := s.Call(t, "it").Fault().Retry()
		time.Sleep(10 * time.Second)
		for range 5 {
			said, _ := s.Call(t, "it").Fault().Retry()
			require.InDelta(t, first.RetryAfterSeconds-10, said.RetryAfterSeconds, 0)
		}
		time.Sleep(time.Duration(first.RetryAfterSeconds-10) * time.Second)
		said, _ := s.Call(t, "it").Fault().Retry()
		require.GreaterOrEqual(t, said.RetryAfterSeconds, 180.0)
	})
}

// Twenty arguments are one outage: each is told to come back at the same time.
func TestAnOutageHasOneSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := annotated(t, readOnly, nil, untilThen(time.Hour, errRefused, &runs))
		for i := range 20 {
			said, _ := s.CallTool(t.Context(), "it", map[string]any{"n": i}).Fault().Retry()
			require.LessOrEqual(t, said.RetryAfterSeconds, 6.0)
			require.Equal(t, 2, said.NextAttempt, "the count is that of the arguments")
		}
	})
}

// The success of other arguments ends no outage; that of the same ends it.
func TestWhatEndsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := map[string]bool{`{"host":"a"}`: true, `{"host":"c"}`: true}
		s := annotated(t, readOnly, nil, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			if down[string(req.GetParams().(*mcp.CallToolParamsRaw).Arguments)] {
				return nil, errRefused
			}
			return harness.Success(req), nil
		})
		ask := func(host string) float64 {
			f := s.CallTool(t.Context(), "it", map[string]any{"host": host}).Fault()
			if f == nil {
				return 0
			}
			said, _ := f.Retry()
			return said.RetryAfterSeconds
		}
		require.LessOrEqual(t, ask("a"), 6.0)
		time.Sleep(time.Minute)
		require.GreaterOrEqual(t, ask("a"), 15.0)
		require.Zero(t, ask("b"))
		time.Sleep(time.Minute)
		require.GreaterOrEqual(t, ask("c"), 45.0)
		down[`{"host":"a"}`] = false
		require.Zero(t, ask("a"))
		require.LessOrEqual(t, ask("c"), 6.0, "the outage began anew")
	})
}

// An equal hopeless call that nothing explains runs at most twelve times in ten minutes, and a trial is let
// through two minutes after the last.
func TestALoopOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Duration
		began := time.Now()
		s := annotated(t, nil, nil, func(context.Context, mcp.Request) (mcp.Result, error) {
			runs = append(runs, time.Since(began))
			return nil, errors.New("index out of range")
		})
		var texts []string
		for time.Since(began) < 10*time.Minute {
			texts = append(texts, s.Call(t, "it").Text())
			time.Sleep(3 * time.Second)
		}
		require.LessOrEqual(t, len(runs), 12)
		require.GreaterOrEqual(t, len(runs), 9)
		for i := 6; i < len(runs); i++ {
			require.LessOrEqual(t, runs[i]-runs[i-1], 123*time.Second)
		}
		require.NotContains(t, texts[1], "Retry:")
		require.Contains(t, texts[2], "\nRetry: unknown. This exact call has failed 3 times in 6 s with the same error. Try another way, or tell the user what does not work.")
		require.Contains(t, texts[6], "Repeated failure: this exact call has failed 6 times, so it is not made for the next 27 s. Its last error was: Internal error: the server failed unexpectedly.\n"+
			"Retry: not now. Calls with other arguments are made as before. Tell the user; it may work again later.")
	})
}

// Of other callers a stranger learns only that there are several, and since which minute.
func TestWhatIsKnownOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, hidden := range []bool{false, true} {
			owner := ""
			s := annotated(t, readOnly, &retry.Options{HideOthers: hidden, Owner: func(context.Context, mcp.Request) string { return owner }}, harness.Fail(errRefused))
			facts := []string{}
			for _, owner = range []string{"ann", "bob", "bob", "cy", "ann"} {
				said, _ := s.CallTool(t.Context(), "it", nil).Fault().Retry()
				facts = append(facts, said.Fact)
			}
			several := "This tool has failed for several callers since " + time.Now().UTC().Format("15:04") + " UTC"
			if hidden {
				several = ""
			}
			require.Equal(t, []string{"", "", "", several, several}, facts)
		}
	})
}

// A call that was given up is not made a second time while it runs, unless its tool only reads.
func TestAHangIsNotRepeated(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations *mcp.ToolAnnotations
		owner       func(context.Context, mcp.Request) string
		runs        int // until the first handler has returned
	}{
		"it may write":           {nil, nil, 1},
		"it is idempotent":       {harmless, nil, 1},
		"it only reads":          {readOnly, nil, 3},
		"its caller is unknown":  {nil, func(context.Context, mcp.Request) string { return "" }, 3},
		"its caller has a name":  {nil, func(context.Context, mcp.Request) string { return "ann" }, 1},
		"no caller is like them": {nil, func(context.Context, mcp.Request) string { panic("own") }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				log := harness.NewLog(slog.LevelError + 1)
				middlewares := chain(log, &retry.Options{Owner: tc.owner})
				middlewares = slices.Insert(middlewares, 4, deadline.New(&deadline.Options{Limit: 20 * time.Second, Logger: log.Logger()}))
				s := harness.Start(t, rawAt, harness.Setup{
					Middleware: middlewares,
					More: func(s *mcp.Server) {
						s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: tc.annotations},
							func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
								if runs.Add(1); string(req.Params.Arguments) != `{"other":true}` {
									time.Sleep(90 * time.Second)
								}
								return harness.Success(req).(*mcp.CallToolResult), nil
							})
					},
				})
				for range 3 {
					got := s.CallTool(t.Context(), "it", nil)
					require.Contains(t, got.Text(), "\nSuggestion: Ask for less at a time, or for another form, if the tool allows it.\nRetry: not the same call: it is still running after 2")
					said, _ := got.Fault().Retry()
					require.False(t, said.ShouldRetry)
					require.Zero(t, said.RetryAfterSeconds)
					require.Equal(t, fault.StillRunning, said.Reason)
				}
				require.EqualValues(t, tc.runs, runs.Load())
				require.Equal(t, "fine", s.CallTool(t.Context(), "it", map[string]any{"other": true}).Text())
				time.Sleep(2 * time.Minute)
				s.CallTool(t.Context(), "it", nil)
				require.EqualValues(t, tc.runs+2, runs.Load(), "it has ended")
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// A call that stops at its limit is tried again, and given up the third time: each try costs the whole limit.
func TestACallThatRunsIntoItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(slog.LevelError + 1)
		s := harness.Start(t, rawAt, harness.Setup{
			Middleware: slices.Insert(chain(log, nil), 4, deadline.New(&deadline.Options{Limit: 20 * time.Second, Logger: log.Logger()})),
			More: func(s *mcp.Server) {
				s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: readOnly},
					func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					})
			},
		})
		waits, last := obey(t, s, nil)
		require.Len(t, waits, 2)
		require.Contains(t, last.Text(), "\nSuggestion: Ask for less at a time, or for another form, if the tool allows it.\nRetry: not now. It has failed for 6")
		require.Contains(t, last.Text(), " (3 calls). Tell the user; it may work again later.")
	})
}

// A trusted reader learns whether a tool fails for all its callers, and whether other calls of it succeed.
func TestWhatATrustedReaderKnowsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner, log := "", harness.NewLog(slog.LevelError+1)
		s := harness.Start(t, rawAt, harness.Setup{
			Middleware: []mcp.Middleware{
				mask.New(&mask.Options{Logger: log.Logger(), Reader: mask.Trusted}),
				retry.New(&retry.Options{Owner: func(context.Context, mcp.Request) string { return owner }}),
			},
			Handlers: map[string]harness.Handler{"it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
				if string(req.GetParams().(*mcp.CallToolParamsRaw).Arguments) == `{"fine":true}` {
					return harness.Success(req), nil
				}
				return nil, errRefused
			}},
		})
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("15:04:05") + " UTC" }
		fact := func(who string, args map[string]any) string {
			owner = who
			time.Sleep(time.Second)
			f := s.CallTool(t.Context(), "it", args).Fault()
			if f == nil {
				return ""
			}
			said, _ := f.Retry()
			return said.Fact
		}
		require.Empty(t, fact("ann", nil))
		require.Equal(t, "This tool has failed for all callers since "+in(0), fact("bob", nil))
		require.Empty(t, fact("cy", map[string]any{"fine": true}))
		require.Equal(t, "Other calls of this tool have succeeded meanwhile", fact("bob", nil))
		require.Equal(t, "This tool has failed for all callers since "+in(0), fact("dan", nil), "since its last success")
		require.Empty(t, fact("dan", map[string]any{"fine": true}))
		require.Empty(t, fact("eve", map[string]any{"eve": true}), "she is the first since then")
		time.Sleep(20 * time.Minute)
		require.Empty(t, fact("ann", nil), "it is forgotten")
	})
}

// A wait that one service asked for is not that of other arguments, which may need another service.
func TestAStatedWaitIsThatOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := annotated(t, readOnly, nil, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			if string(req.GetParams().(*mcp.CallToolParamsRaw).Arguments) == `{"host":"a"}` {
				return nil, fault.RateLimited("a", 24*time.Hour)
			}
			return nil, errRefused
		})
		said, _ := s.CallTool(t.Context(), "it", map[string]any{"host": "a"}).Fault().Retry()
		require.InDelta(t, 24*60*60, said.RetryAfterSeconds, 0)
		said, _ = s.CallTool(t.Context(), "it", map[string]any{"host": "b"}).Fault().Retry()
		require.LessOrEqual(t, said.RetryAfterSeconds, 75.0)
	})
}

// A call whose failure passes by itself is not refused, although its tool, or the call itself, was refused before.
func TestWhatPassesEndsAPause(t *testing.T) {
	for name, args := range map[string]func(i int) map[string]any{
		"the tool": func(i int) map[string]any { return map[string]any{"n": min(i, 20)} },
		"the call": func(int) map[string]any { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var err error = fault.New(fault.KindServiceUnavailable, "x").WithRetry(fault.Retry{Effect: fault.EffectCommitted})
				if name == "the tool" {
					err = errors.New("a bug")
				}
				s := annotated(t, readOnly, nil, func(context.Context, mcp.Request) (mcp.Result, error) { return nil, err })
				for i := range 21 {
					s.CallTool(t.Context(), "it", args(i))
				}
				require.Equal(t, fault.KindRepeatedFailure, s.CallTool(t.Context(), "it", args(20)).Fault().Kind())
				time.Sleep(2 * time.Minute)
				err = fault.New(fault.KindServiceUnavailable, "x")
				for range 3 {
					said, _ := s.CallTool(t.Context(), "it", args(20)).Fault().Retry()
					require.True(t, said.ShouldRetry)
					time.Sleep(time.Duration(said.RetryAfterSeconds) * time.Second)
				}
			})
		})
	}
}

// A handler that runs for half an hour is known all the time, and so are two of equal calls.
func TestALongHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		log := harness.NewLog(slog.LevelError + 1)
		s := harness.Start(t, rawAt, harness.Setup{
			Middleware: slices.Insert(chain(log, nil), 4, deadline.New(&deadline.Options{Limit: 20 * time.Second, Logger: log.Logger()})),
			More: func(s *mcp.Server) {
				s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}},
					func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						time.Sleep(30 * time.Minute / time.Duration(runs.Add(1)))
						return harness.Success(req).(*mcp.CallToolResult), nil
					})
			},
		})
		done := make(chan harness.Answer, 2)
		for range 2 {
			go func() { done <- s.CallTool(t.Context(), "it", nil) }()
			time.Sleep(time.Second)
		}
		<-done
		<-done
		for range 25 {
			time.Sleep(time.Minute)
			said, _ := s.CallTool(t.Context(), "it", nil).Fault().Retry()
			require.Equal(t, fault.StillRunning, said.Reason)
		}
		require.EqualValues(t, 2, runs.Load())
		time.Sleep(10 * time.Minute)
		s.CallTool(t.Context(), "it", nil)
		require.EqualValues(t, 3, runs.Load(), "both have ended")
		time.Sleep(time.Hour)
	})
}

// What another server says of time passes through unchanged, however often: a count is no "no".
func TestATimeOfAnotherServer(t *testing.T) {
	for _, want := range []fault.Retry{
		{RetryAfterSeconds: 300, Reason: fault.NotNow, Fact: "It has failed for 5 min (8 calls)"},
		{Reason: fault.StillRunning, Fact: "it is still running after 20 s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := annotated(t, readOnly, nil, harness.Fail(fault.New(fault.KindServiceUnavailable, "x").WithRetry(want)))
			for range 6 {
				said, _ := s.Call(t, "it").Fault().Retry()
				require.Equal(t, want, said)
			}
			said, _ := s.Call(t, "it").Fault().Retry()
			require.Equal(t, fault.NotNow, said.Reason, "it is refused for a time")
			require.InDelta(t, 30, said.RetryAfterSeconds, 0)
		})
	}
}

// An attempt beyond the limit that a fault names is not asked for.
func TestAnAttemptBeyondItsLimit(t *testing.T) {
	s := annotated(t, readOnly, nil, harness.Fail(fault.Unavailable("x").WithRetry(fault.Retry{ShouldRetry: true, NextAttempt: 4, MaxAttempts: 3})))
	said, _ := s.Call(t, "it").Fault().Retry()
	require.False(t, said.ShouldRetry)
}

// That nothing was changed proves no "no": the cause of an unknown error is as unknown as without a witness.
func TestAWitnessKnowsNoCause(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations *mcp.ToolAnnotations
		want        string
	}{
		"it only reads":    {readOnly, "\nRetry: yes (attempt 2 of 2). One more try does no harm. Nothing was changed by this call."},
		"it is idempotent": {harmless, "\nRetry: yes (attempt 2 of 2). One more try does no harm. Nothing was changed by this call."},
		"it may write":     {nil, "\nRetry: unknown. Nothing was changed by this call."},
	} {
		t.Run(name, func(t *testing.T) {
			got := annotated(t, tc.annotations, &retry.Options{Witnessed: always}, harness.Fail(errors.New("index out of range"))).Call(t, "it")
			require.Contains(t, got.Text(), tc.want)
		})
	}
}

// An outage begins with its own first failure: what failed before for another reason is no part of it.
func TestAnOutageBeginsWithItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := errors.New("index out of range")
		s := annotated(t, readOnly, nil, func(context.Context, mcp.Request) (mcp.Result, error) { return nil, err })
		s.Call(t, "it")
		time.Sleep(6 * time.Minute)
		err = errRefused
		said, _ := s.Call(t, "it").Fault().Retry()
		require.True(t, said.ShouldRetry)
		require.Equal(t, 3, said.NextAttempt)
	})
}

// What its caller gave up is not made a second time either while it runs, unless its tool only reads.
func TestACallThatItsCallerGaveUp(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations *mcp.ToolAnnotations
		runs        int32
	}{"it may write": {nil, 1}, "it only reads": {readOnly, 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				log := harness.NewLog(slog.LevelError + 1)
				s := harness.Start(t, rawAt, harness.Setup{
					Middleware: slices.Insert(chain(log, nil), 4, deadline.New(&deadline.Options{Limit: 10 * time.Minute, Logger: log.Logger()})),
					More: func(s *mcp.Server) {
						s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: tc.annotations},
							func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
								if runs.Add(1) == 1 {
									time.Sleep(5 * time.Minute)
								}
								return harness.Success(req).(*mcp.CallToolResult), nil
							})
					},
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s.CallTool(ctx, "it", nil)
				time.Sleep(time.Minute)
				got := s.CallTool(t.Context(), "it", nil)
				require.Equal(t, tc.runs, runs.Load(), got.Text())
				time.Sleep(5 * time.Minute)
				require.Equal(t, "fine", s.CallTool(t.Context(), "it", nil).Text())
				time.Sleep(time.Minute)
			})
		})
	}
}
