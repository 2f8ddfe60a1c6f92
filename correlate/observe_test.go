package correlate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
)

var silent = slog.New(slog.DiscardHandler)

// An observer keeps the events of tools, prompts, resources and completions.
type observer struct {
	mu     sync.Mutex
	events []correlate.Event
	ids    []string
}

func (o *observer) observe(ctx context.Context, e correlate.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e.Method != call.MethodInitialize && e.Method != call.MethodDiscover {
		o.events = append(o.events, e)
		o.ids = append(o.ids, correlate.ID(ctx))
	}
}

func (o *observer) take() []correlate.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	events := o.events
	o.events = nil
	return events
}

func TestEvents(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		var seen observer
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{
				"good": harness.Succeed(), "bad": harness.Fail(errSecret), "none": harness.Fail(fault.NotFound("file", "a")),
				"own": harness.Fail(fault.New("deployment_in_progress", "m").WithParty(fault.PartyUpstream)), "panics": harness.Panic(errSecret),
			},
			Middleware: []mcp.Middleware{mcprecover.New(nil), correlate.New(&correlate.Options{Logger: silent, Observe: seen.observe}), mask.New(nil), mcprecover.New(nil)},
		})
		seen.take()
		for _, name := range []string{"good", "bad", "none", "own", "panics"} {
			answer := s.Call(t, name)
			events := seen.take()
			require.Len(t, events, 1, name)
			e := events[0]
			require.Equal(t, at.Shape.Method(), e.Method)
			if at.Shape.Tool() {
				require.Equal(t, name, e.Tool)
			} else {
				require.Empty(t, e.Tool)
			}
			require.Equal(t, 1, e.Attempts)
			require.EqualValues(t, 1, e.InFlight)
			require.Positive(t, e.Duration)
			require.False(t, e.Part)
			require.Empty(t, e.Refused)
			want := map[string]correlate.Event{
				"good":   {Outcome: "ok"},
				"bad":    {Outcome: "internal_error", Kind: fault.KindInternal, Party: fault.PartyServer},
				"none":   {Outcome: "not_found", Kind: fault.KindNotFound, Party: fault.PartyCaller},
				"own":    {Outcome: "tool_error", Kind: call.Other, Party: fault.PartyUpstream},
				"panics": {Outcome: "panic", Kind: fault.KindInternal, Party: fault.PartyServer},
			}[name]
			require.Equal(t, want, correlate.Event{Outcome: e.Outcome, Kind: e.Kind, Party: e.Party}, name)
			require.Equal(t, name == "good", e.Err == nil)
			if name != "good" {
				require.Equal(t, answer.Reference(), seen.ids[len(seen.ids)-1], "the exemplar is the caller's reference")
			}
		}
	})
}

// TestNoLabelOfACallers proves that a name that a caller invented is no label, whatever
// refuses the call, and that the server is not asked for its tools again and again.
func TestNoLabelOfACallers(t *testing.T) {
	var seen observer
	lists := 0
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{"fails": harness.Fail(errSecret), "good": harness.Succeed()},
		Middleware: []mcp.Middleware{
			correlate.New(&correlate.Options{Logger: silent, Observe: seen.observe}),
			limit.New(&limit.Options{Limits: []limit.Limit{{Scope: limit.ForAll, Calls: 20, Burst: 20}}, Wait: -1}),
			func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == call.MethodListTools {
						lists++
					}
					return next(ctx, method, req)
				}
			},
		},
	})
	seen.take()
	labels := map[string]bool{}
	began := time.Now()
	for i := range 200 {
		s.CallTool(t.Context(), fmt.Sprintf("evil-%d", i), nil)
	}
	s.CallTool(t.Context(), strings.Repeat("x", 1<<20), nil)
	require.LessOrEqual(t, lists, 2+int(time.Since(began)/time.Second))
	refused := 0
	for _, e := range seen.take() {
		labels[e.Tool] = true
		if e.Refused == "limit" {
			refused++
			require.Equal(t, correlate.Outcome("rate_limited"), e.Outcome)
		}
	}
	require.Equal(t, map[string]bool{call.Other: true}, labels)
	require.Positive(t, refused)
}

func TestAToolThatOnlyFailsHasItsName(t *testing.T) {
	for _, shape := range []harness.Shape{harness.ServerRaw, harness.WrapTool, harness.WrapAddTool} {
		var seen observer
		s := harness.Start(t, harness.Place{Shape: shape, Era: harness.Current}, harness.Setup{
			Handlers:   map[string]harness.Handler{"fails": harness.Fail(errSecret)},
			Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: silent, Observe: seen.observe})},
		})
		seen.take()
		s.Call(t, "fails")
		require.Equal(t, "fails", seen.take()[0].Tool, shape)
	}
}

func TestEventsOfThoseThatNeverReturn(t *testing.T) {
	var seen observer
	var stats correlate.Stats
	mw := correlate.New(&correlate.Options{Logger: silent, Observe: seen.observe, Stats: &stats})
	func() {
		defer func() { _ = recover() }()
		_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("boom") }, mw)
	}()
	require.Equal(t, correlate.Outcome("panic"), seen.take()[0].Outcome)
	var wait sync.WaitGroup
	wait.Go(func() {
		_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			runtime.Goexit()
			return nil, nil
		}, mcprecover.New(nil), mw)
	})
	wait.Wait()
	require.Equal(t, correlate.Outcome("internal_error"), seen.take()[0].Outcome)
	require.Zero(t, stats.InFlight.Load())
}

func TestAHookThatPanics(t *testing.T) {
	var stats correlate.Stats
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers:   map[string]harness.Handler{"good": harness.Succeed(), "bad": harness.Fail(fault.NotFound("file", "a"))},
		Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: silent, Stats: &stats, Observe: func(context.Context, correlate.Event) { panic("no") }})},
	})
	require.Equal(t, "fine", s.Call(t, "good").Text())
	require.Equal(t, fault.KindNotFound, s.Call(t, "bad").Fault().Kind())
	require.Zero(t, stats.InFlight.Load())
}

// TestCallbacksThatEndTheirGoroutine: the call is answered, recorded and counted as it would be without them.
func TestCallbacksThatEndTheirGoroutine(t *testing.T) {
	for _, end := range []func(){runtime.Goexit, func() { panic("no") }} {
		id := func(context.Context, mcp.Request) string { end(); return "mine" }
		log := harness.NewLog(slog.LevelDebug)
		var stats correlate.Stats
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers: map[string]harness.Handler{"good": harness.Succeed(), "bad": harness.Fail(fault.NotFound("file", "a"))},
			Middleware: []mcp.Middleware{correlate.New(&correlate.Options{
				Logger: log.Logger(), Stats: &stats, NewID: id, Observe: func(context.Context, correlate.Event) { end() },
				Attrs:    func(context.Context, mcp.Request) []slog.Attr { end(); return nil },
				Advanced: correlate.Advanced{CallerID: id},
			})},
		})
		require.Equal(t, "fine", s.Call(t, "good").Text())
		bad := s.Call(t, "bad")
		require.Equal(t, fault.KindNotFound, bad.Fault().Kind())
		require.Len(t, bad.Reference(), 36, "a UUID")
		require.Equal(t, "not_found", log.Records()[len(log.Records())-1]["outcome"])
		require.Contains(t, log.String(), `"tool":"good"`)
		require.NotContains(t, log.String(), "caller_id")
		harness.Eventually(t, func() bool { return stats.InFlight.Load() == 0 })

		var broken atomic.Bool
		log = harness.NewLog(slog.LevelInfo)
		s = harness.Start(t, rawAt, harness.Setup{
			Handlers: map[string]harness.Handler{"bad": harness.Fail(fault.NotFound("file", "a"))},
			Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: log.Logger(), Level: func(correlate.Outcome) slog.Level {
				if broken.Load() {
					end()
				}
				return slog.LevelError
			}})},
		})
		broken.Store(true)
		require.Equal(t, fault.KindNotFound, s.Call(t, "bad").Fault().Kind())
		require.Equal(t, "INFO", log.Records()[len(log.Records())-1]["level"])
	}
}

// TestStuckAndInFlight follows a handler that does not heed its context.
func TestStuckAndInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen observer
		var stats correlate.Stats
		var inside atomic.Int64
		mw := middleware.Chain(correlate.New(&correlate.Options{Logger: silent, Observe: seen.observe, Stats: &stats}),
			deadline.New(&deadline.Options{Limit: time.Second, Logger: silent}))
		_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			inside.Store(stats.InFlight.Load())
			time.Sleep(time.Minute)
			return &mcp.CallToolResult{}, nil
		}, mw)
		require.EqualValues(t, 1, inside.Load())
		require.EqualValues(t, 1, seen.take()[0].Stuck)
		require.EqualValues(t, 1, stats.Stuck.Load())
		require.Zero(t, stats.InFlight.Load())
		time.Sleep(2 * time.Minute)
		require.Zero(t, stats.Stuck.Load())
	})
}

// TestRefusals are told apart from what a handler says itself.
func TestRefusals(t *testing.T) {
	var seen observer
	observe := correlate.New(&correlate.Options{Logger: silent, Observe: seen.observe})
	d := &drain.Drain{}
	chain := func(mw mcp.Middleware) func() {
		h := middleware.Chain(observe, mw)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, fault.RateLimited("it", 0) })
		return func() {
			_, _ = h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}})
		}
	}
	drained := chain(drain.New(&drain.Options{Drain: d}))
	drained()
	require.NoError(t, d.Shutdown(t.Context()))
	drained()
	limited := chain(limit.New(&limit.Options{Limits: []limit.Limit{{Scope: limit.ForAll, Calls: -1}}, Wait: -1}))
	limited()
	var refused []string
	for _, e := range seen.take() {
		refused = append(refused, e.Refused)
	}
	require.Equal(t, []string{"", "drain", "limit"}, refused)
}

func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen observer
		log := harness.NewLog(slog.LevelInfo)
		runs := 0
		_, _ = middleware.Chain(correlate.New(&correlate.Options{Logger: log.Logger(), Observe: seen.observe}), retry.Server(nil))(
			func(context.Context, string, mcp.Request) (mcp.Result, error) {
				runs++
				return nil, fault.Unavailable("it")
			})(t.Context(), middleware.MethodReadResource, &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "a:b"}})
		require.Equal(t, 3, runs)
		require.Equal(t, 3, seen.take()[0].Attempts)
		require.EqualValues(t, 3, log.Only(t)["attempts"])
	})
}

// TestParts proves that an item that fails has an event and a record of its own.
func TestParts(t *testing.T) {
	var seen observer
	log := harness.NewLog(slog.LevelInfo)
	_, err := handler(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		return batch.Run(ctx, []int{1, 2, 3}, func(_ context.Context, i int) (int, error) {
			if i == 2 {
				return 0, errSecret
			}
			return i, nil
		}, nil).ToolResult(), nil
	}, correlate.New(&correlate.Options{Logger: log.Logger(), Observe: seen.observe}))
	require.NoError(t, err)
	events := seen.take()
	require.Len(t, events, 2)
	require.True(t, events[0].Part)
	require.Equal(t, correlate.Outcome("internal_error"), events[0].Outcome)
	require.False(t, events[1].Part)
	r := log.Only(t)
	require.Equal(t, "mcp part of a call", r["msg"])
	require.True(t, strings.HasSuffix(r["reference"].(string), ".1"))
}

// TestPartsAreNotInFlight, also where what records calls stands inside of what divides them.
func TestPartsAreNotInFlight(t *testing.T) {
	var seen observer
	var stats correlate.Stats
	_, err := middleware.Chain(batch.New(&batch.Options{Lists: []batch.List{{Tool: "get", Item: "id", As: "gets"}}}),
		correlate.New(&correlate.Options{Logger: slog.New(slog.DiscardHandler), Observe: seen.observe, Stats: &stats}))(
		func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == call.MethodListTools {
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "get", InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)}}}, nil
			}
			if strings.Contains(string(call.ArgumentsOf(req)), "bad") {
				return nil, errSecret
			}
			return &mcp.CallToolResult{}, nil
		})(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "gets", Arguments: json.RawMessage(`{"ids":["a","bad"]}`)}})
	require.NoError(t, err)
	require.Zero(t, stats.InFlight.Load())
	events := seen.take()
	require.Len(t, events, 1, "of the item that failed")
	require.True(t, events[0].Part)
	require.Equal(t, correlate.Outcome("internal_error"), events[0].Outcome)
}

// TestManyObserved proves that there is one event for each call.
func TestManyObserved(t *testing.T) {
	var stats correlate.Stats
	var calls [5]atomic.Int64
	mw := correlate.New(&correlate.Options{Logger: silent, Stats: &stats, Observe: func(_ context.Context, e correlate.Event) {
		calls[e.Tool[1]-'0'].Add(1)
	}})
	h := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for i := range 500 {
				_, _ = h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: fmt.Sprint("t", i%5)}})
			}
		})
	}
	wait.Wait()
	for i := range calls {
		require.EqualValues(t, 1600, calls[i].Load())
	}
	require.Zero(t, stats.InFlight.Load())
}
