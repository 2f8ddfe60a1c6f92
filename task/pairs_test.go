package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
)

// TestWithDeadline: the limit of package deadline is that of the work, and After is that of the wait.
func TestWithDeadline(t *testing.T) {
	for name, deaf := range map[string]bool{"stops": false, "does not stop": true} {
		t.Run(name, func(t *testing.T) {
			inStandard(t, func(t *testing.T, s *server) {
				s.standard.Deadline = deadline.New(&deadline.Options{Limit: 40 * time.Second, Logger: slog.New(slog.DiscardHandler)})
				goOn := make(chan struct{})
				defer close(goOn)
				s.more = func(server *mcp.Server) {
					mcp.AddTool(server, &mcp.Tool{Name: "report"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
						if !deaf {
							<-ctx.Done()
							return nil, nil, ctx.Err()
						}
						<-goOn
						return nil, nil, nil
					})
				}
				s.start(t, nil)
				began := time.Now()
				id := idOf(t, s.CallTool(t.Context(), "report", nil))
				require.Equal(t, 20*time.Second, time.Since(began))
				got := s.result(t, id)
				require.InDelta(t, 40, time.Since(began).Seconds(), 0.2)
				require.Equal(t, fault.KindTimeout, got.Fault().Kind())
				require.Contains(t, got.Text(), "did not finish within 40 s")
			})
		})
	}
}

// TestWithReplay: a call with a key is done once, however long it takes and however often it is repeated.
func TestWithReplay(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
		s.standard.Replay = replay.New(&replay.Options{Owner: s.opts.Owner})
		s.report(t)
		call := func(key string) harness.Answer {
			res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "report", Arguments: map[string]any{"word": "50s"}, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key}})
			return harness.Answer{Result: res, Err: err}
		}
		id := idOf(t, call("k"))
		require.Equal(t, id, idOf(t, call("k")), "while it runs")
		require.Equal(t, "fine", s.result(t, id).Text())
		began := time.Now()
		require.Equal(t, "fine", call("k").Text(), "when it has ended")
		require.Zero(t, time.Since(began))
		require.EqualValues(t, 1, s.runs.Load())
		idOf(t, call("another"))
		require.EqualValues(t, 2, s.runs.Load())
	})
}

// TestWithReplayForUnknownCallers: task cannot tell that two calls are the same, and replay runs them once.
func TestWithReplayForUnknownCallers(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner = func(context.Context, mcp.Request) string { return "" }
		s.standard.Replay = replay.New(&replay.Options{Owner: func(context.Context, mcp.Request) string { return "alice" }})
		s.report(t)
		call := func() harness.Answer {
			res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "report", Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "k"}})
			return harness.Answer{Result: res, Err: err}
		}
		first, second := idOf(t, call()), idOf(t, call())
		require.NotEqual(t, first, second)
		require.Equal(t, "fine", s.result(t, first).Text())
		got := s.result(t, second)
		require.Equal(t, "KEY_IN_USE", got.Fault().Code(), "replay has waited for the first")
		require.EqualValues(t, 1, s.runs.Load())
	})
}

// TestCancelWithReplay: task_cancel stops a call with a key, and a repetition is told what is known.
func TestCancelWithReplay(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
		s.standard.Replay = replay.New(&replay.Options{Owner: s.opts.Owner})
		s.report(t)
		params := &mcp.CallToolParams{Name: "report", Arguments: map[string]any{"word": "30m"}, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "k"}}
		res, err := s.Client.CallTool(t.Context(), params)
		id := idOf(t, harness.Answer{Result: res, Err: err})
		began := time.Now()
		require.Contains(t, s.ask(t, "task_cancel", id).Text(), "It was told to stop.")
		got := s.result(t, id)
		require.Zero(t, time.Since(began))
		require.Equal(t, fault.KindCancelled, got.Fault().Kind())
		require.EqualValues(t, 1, s.runs.Load())
	})
}

// TestLimitWithReplay: the Limit of the work is that of a call with a key, too.
func TestLimitWithReplay(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Limit = 5*time.Minute + 7*time.Second
		s.opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
		s.standard.Replay = replay.New(&replay.Options{Owner: s.opts.Owner})
		s.report(t)
		began := time.Now()
		res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "report", Arguments: map[string]any{"word": "30m"}, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "k"}})
		got := s.result(t, idOf(t, harness.Answer{Result: res, Err: err}))
		require.Equal(t, s.opts.Limit, time.Since(began))
		require.Equal(t, fault.KindTimeout, got.Fault().Kind())
	})
}

// TestWithDrain: Shutdown waits for a call behind a handle, and its answer is kept before Shutdown returns.
func TestWithDrain(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		d := &drain.Drain{}
		s.opts.Store = store.NewMemory(nil)
		s.opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
		s.standard.Drain = drain.New(&drain.Options{Drain: d})
		s.report(t)
		other := &server{at: s.at, opts: s.opts}
		other.report(t)

		began := time.Now()
		id := s.handle(t, "report", "5m")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		require.NoError(t, d.Shutdown(ctx))
		require.Equal(t, 5*time.Minute, time.Since(began))
		require.Equal(t, fault.KindServiceUnavailable, s.ask(t, "task_result", id).Fault().Kind(), "another server answers now")
		require.Equal(t, "fine", other.ask(t, "task_result", id).Text())
		require.Equal(t, 5*time.Minute, time.Since(began), "it waits for nothing")
	})
}

// TestCutByDrain: when the grace is over, the context of the handler ends, and its caller is told so by another server.
func TestCutByDrain(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		d := &drain.Drain{}
		s.opts.Store = store.NewMemory(nil)
		s.opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
		s.standard.Drain = drain.New(&drain.Options{Drain: d})
		s.report(t)
		other := &server{at: s.at, opts: s.opts}
		other.report(t)

		id := s.handle(t, "report", "5m")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		require.NoError(t, d.Shutdown(ctx), "it has ended within Drain.Grace")
		require.Equal(t, time.Minute, time.Since(began))
		got := other.ask(t, "task_result", id)
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, fault.KindServiceUnavailable, got.Fault().Kind())
		require.Contains(t, got.Text(), "this server was replaced before the call had finished")
	})
}

// TestWithAudit: the record has the begin and the end of the call, with the time that it took.
func TestWithAudit(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		var mu sync.Mutex
		var records []string
		s.standard.Audit = audit.New(&audit.Options{Log: audit.NewLog(func(entries []audit.Entry) error {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range entries {
				records = append(records, fmt.Sprint(e.Record.Event, " ", e.Record.Target, " ", e.Record.Outcome, " ", e.Record.DurationMS))
			}
			return nil
		}, nil)})
		s.report(t)
		id := s.handle(t, "report", "50s")
		mu.Lock()
		require.Equal(t, []string{"begin report  0"}, records, "the handle is not its end")
		mu.Unlock()
		s.result(t, id)
		require.Subset(t, records, []string{"begin report  0", "end report ok 50000", "call task_result ok 20000"})
		require.Len(t, slices.DeleteFunc(records, func(r string) bool { return !strings.Contains(r, " report ") }), 2)
	})
}

// TestWithLimit: a call behind a handle runs for the limits, and its answer can be fetched while all places are taken.
func TestWithLimit(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.Owner = func(context.Context, mcp.Request) string { return "alice" }
		s.standard.Limit = limit.New(&limit.Options{Owner: s.opts.Owner, Logger: slog.New(slog.DiscardHandler), Limits: []limit.Limit{
			{Name: "places", Running: 2}, {Name: "rate", Calls: 9, Per: 24 * time.Hour},
		}})
		s.report(t)
		first, second := s.handle(t, "report", "10m"), s.handle(t, "report", "20m")
		refused := s.CallTool(t.Context(), "report", map[string]any{"word": "1s"})
		require.Equal(t, fault.KindRateLimited, refused.Fault().Kind())
		require.Contains(t, refused.Text(), "at most 2 calls may run at once")

		idOf(t, s.ask(t, "task_result", first))
		var both sync.WaitGroup
		for _, id := range []string{first, second} {
			both.Go(func() {
				if got := s.ask(t, "task_result", id); statusOf(got) != "running" {
					t.Error(got.Text())
				}
			})
		}
		both.Wait()
		require.Contains(t, s.ask(t, "task_cancel", second).Text(), "It was told to stop.")
		synctest.Wait()
		require.Equal(t, "fine", s.CallTool(t.Context(), "report", map[string]any{"word": "1s"}).Text(), "a place is free")

		// Of nine calls two were begun, four fetched, cancelled or asked, and one ran; the refused one is free.
		s.ask(t, "task_result", second)
		s.ask(t, "task_result", second)
		got := s.ask(t, "task_result", second)
		require.Equal(t, fault.KindRateLimited, got.Fault().Kind())
		require.Contains(t, got.Text(), "at most 9 calls")
	})
}

// TestWhileItWaitsForItsTurn: a call that waits for a place gets a handle when it has one, and lasts.
func TestWhileItWaitsForItsTurn(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.opts.After = 2 * time.Second
		s.standard.Limit = limit.New(&limit.Options{Limits: []limit.Limit{{Scope: limit.ForAll, Running: 1}}, Wait: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		s.report(t)
		first := s.handle(t, "report", "30s")
		second := s.handle(t, "report", "5m")
		require.Equal(t, "fine", s.result(t, first).Text())
		require.Equal(t, "fine", s.result(t, second).Text())
	})
}

// TestWithBudget: an answer is cut to its size when the call ends, and the rest can be read after it was fetched.
func TestWithBudget(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.standard.Budget = budget.New(&budget.Options{Size: 1000})
		rows := strings.Repeat("a row of words\n", 2000)
		s.start(t, map[string]harness.Handler{"report": harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: rows}}}
		})})
		inTime := s.CallTool(t.Context(), "report", map[string]any{"word": "1s"})
		got := s.result(t, s.handle(t, "report", "30s"))
		require.Len(t, got.Text(), len(inTime.Text()))
		require.Less(t, len(got.Text()), 10_000)
		last := got.Tool().Content[len(got.Tool().Content)-1].(*mcp.TextContent).Text
		_, cursor, ok := strings.Cut(last, `{"cursor":"`)
		require.True(t, ok, last)
		cursor, _, _ = strings.Cut(cursor, `"`)
		require.Contains(t, s.CallTool(t.Context(), "read_more", map[string]any{"cursor": cursor}).Text(), "a row of words")
	})
}

// TestWithBatch: the list form of a tool is one call, whose items run behind one handle.
func TestWithBatch(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.standard.Batch = batch.New(&batch.Options{Lists: []batch.List{{Tool: "report", Item: "word", As: "reports", Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}}}})
		s.report(t)
		began := time.Now()
		id := idOf(t, s.CallTool(t.Context(), "reports", map[string]any{"words": []string{"15s", "25s", "5s"}}))
		require.Equal(t, 20*time.Second, time.Since(began))
		got := s.result(t, id)
		require.Equal(t, 45*time.Second, time.Since(began))
		require.False(t, got.Tool().IsError)
		require.Contains(t, got.Text(), "All 3 items succeeded")
		require.EqualValues(t, 3, s.runs.Load())
		require.Contains(t, listed(t, s), "reports")
	})
}

// TestWithRetryServer: attempts of the server go on behind the handle.
func TestWithRetryServer(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.standard.RetryServer = retry.Server(&retry.ServerOptions{Repeatable: func(string) bool { return true }, InitialInterval: 10 * time.Second, Budget: time.Hour})
		n := 0
		s.start(t, map[string]harness.Handler{"report": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			if n++; n < 3 {
				return nil, fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)
			}
			return harness.Success(req), nil
		}})
		require.Equal(t, "fine", s.result(t, s.handle(t, "report", "15s")).Text())
		require.EqualValues(t, 3, s.runs.Load())
	})
}

// TestWithObserve: a chain that only observes gives no handles and lists no tools.
func TestWithObserve(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.standard.Observe = true
		s.report(t)
		require.Equal(t, "fine", s.CallTool(t.Context(), "report", nil).Text())
		require.Len(t, listed(t, s), 1)
	})
}

// TestInsideOfAnother: where a user's middleware stands outside, it sees the handle as the answer.
func TestInsideOfAnother(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.report(t)
		var mu sync.Mutex
		var seen []string
		s.Server.AddReceivingMiddleware(harness.Look(func(_ context.Context, res mcp.Result, _ error) {
			mu.Lock()
			defer mu.Unlock()
			if tool, ok := res.(*mcp.CallToolResult); ok {
				seen = append(seen, statusOf(harness.Answer{Result: tool}))
			}
		}))
		s.result(t, s.handle(t, "report", "30s"))
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []string{"running", "completed"}, seen)
	})
}

// TestInsideOfOurOwn: inside of Standard the middleware gives handles, too. Those outside take one for the end of its call;
// a failure is masked before it is kept.
func TestInsideOfOurOwn(t *testing.T) {
	inStandard(t, func(t *testing.T, s *server) {
		s.inner = []mcp.Middleware{task.New(&task.Options{After: 10 * time.Second})}
		s.opts.Tools = func(string) bool { return false }
		s.start(t, map[string]harness.Handler{"fails": harness.Fail(errors.New(harness.Canary)), "report": harness.Succeed()})
		s.standard = mcpchain.Options{}
		began := time.Now()
		id := s.handle(t, "fails", "30s")
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, fault.KindInternal, s.result(t, id).Fault().Kind())
		require.Equal(t, "fine", s.result(t, s.handle(t, "report", "30s")).Text())
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}
