package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
)

// ask makes one call and returns how it was refused, nil if it was not.
func ask(h mcp.MethodHandler, owner, tool string) *fault.Error {
	f, _ := middleware.FaultOf(h(context.Background(), middleware.MethodCallTool, request(owner, tool)))
	return f
}

// waitOf is the wait that a refusal tells.
func waitOf(f *fault.Error) time.Duration {
	retry, _ := f.Retry()
	return time.Duration(retry.RetryAfterSeconds * float64(time.Second))
}

func TestRefusalIsToldInEveryShape(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log, ran := harness.NewLog(slog.LevelInfo), 0
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{"it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
				ran++
				return harness.Success(req), nil
			}},
			Middleware: []mcp.Middleware{limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 2, Per: time.Hour}}, Logger: log.Logger()})},
		})
		for range 2 {
			require.Equal(t, "fine", s.Call(t, "it").Text())
		}
		got := s.Call(t, "it")
		require.Contains(t, got.Text(), "Rate limited: at most 2 calls in 1 h for each caller.\nSuggestion: Make fewer calls.\nRetry: ")
		require.Contains(t, got.Text(), "Nothing was changed by this call.")
		require.Equal(t, 2, ran, "the handler ran")
		require.Equal(t, fault.KindRateLimited, got.Fault().Kind())
		require.Equal(t, "owner", got.Machine()["details"].(map[string]any)["limit"])
		require.Contains(t, log.Only(t)["msg"], "no identity")
	})
}

func TestTheWaitIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 6, Per: time.Minute, Burst: 2}}, Wait: -1})(succeed)
		for range 100 {
			require.Nil(t, ask(h, "ada", "a"))
			require.Nil(t, ask(h, "ada", "a"))
			require.Equal(t, 10*time.Second, waitOf(ask(h, "ada", "a")))
			require.Nil(t, ask(h, "bob", "a"), "the limit of somebody else")
			time.Sleep(10*time.Second - time.Millisecond)
			require.Equal(t, time.Millisecond, waitOf(ask(h, "ada", "a")))
			time.Sleep(time.Millisecond)
			require.Nil(t, ask(h, "ada", "a"))
			time.Sleep(time.Minute)
		}
	})
}

func TestScopes(t *testing.T) {
	one := func(l limit.Limit) mcp.MethodHandler {
		l.Calls, l.Per = 1, time.Hour
		return limit.New(&limit.Options{Limits: []limit.Limit{l}})(succeed)
	}
	for _, c := range []struct {
		name                            string
		limit                           limit.Limit
		same, otherTool, otherOwner, no bool // refused
	}{
		{"owner", limit.Limit{}, true, true, false, false},
		{"tool", limit.Limit{Scope: limit.PerTool}, true, false, true, false},
		{"both", limit.Limit{Scope: limit.PerOwnerAndTool}, true, false, false, false},
		{"all", limit.Limit{Scope: limit.ForAll}, true, true, true, true},
		{"named", limit.Limit{Tools: []string{"a"}}, true, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := one(c.limit)
			require.Nil(t, ask(h, "ada", "a"))
			require.Equal(t, c.same, ask(h, "ada", "a") != nil)
			require.Equal(t, c.otherTool, ask(h, "ada", "b") != nil)
			require.Equal(t, c.otherOwner, ask(h, "bob", "a") != nil)
			require.Equal(t, c.no, ask(h, "cyd", "c") != nil)
		})
	}
	h := one(limit.Limit{Methods: []string{"tools/list"}})
	list := func() *fault.Error {
		f, _ := middleware.FaultOf(h(t.Context(), "tools/list", &mcp.ListToolsRequest{}))
		return f
	}
	require.Nil(t, list())
	require.Equal(t, fault.KindRateLimited, list().Kind())
	require.Nil(t, ask(h, "", "a"))
	h = one(limit.Limit{})
	for range 3 {
		require.Nil(t, list(), "a list is free")
		_, err := h(t.Context(), "ping", &mcp.ServerRequest[*mcp.PingParams]{})
		require.NoError(t, err)
	}
}

// TestRunningAndQueue runs calls of two owners through one place.
func TestRunningAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stats limit.Seen
		var mu sync.Mutex
		var order []string
		h := limit.NewSeen(&stats, 0, &limit.Options{
			Limits: []limit.Limit{{Scope: limit.ForAll, Running: 1}}, Wait: 10*time.Second + 500*time.Millisecond,
		})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			mu.Lock()
			order = append(order, req.(*mcp.CallToolRequest).Params.Name)
			mu.Unlock()
			time.Sleep(time.Second)
			return fine, nil
		})
		var calls sync.WaitGroup
		var refused []*fault.Error
		for _, name := range append([]string{"a1", "a2", "a3", "b1", "b2"}, slices.Repeat([]string{"a"}, 15)...) {
			calls.Go(func() {
				if f := ask(h, name[:1], name); f != nil {
					mu.Lock()
					refused = append(refused, f)
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		require.Equal(t, 1, stats.Running())
		require.Equal(t, 18, stats.Queued())
		calls.Wait()
		require.Equal(t, "a1 a2 b1 a3 b2 a a a a a a", strings.Join(order, " "), "in turns, each in order, for ten seconds")
		require.Len(t, refused, 1+8, "one found sixteen of its own waiting, and eight waited for too long")
		require.Contains(t, refused[0].Text(), "Rate limited: at most 1 call may run at once for all callers together.")
		require.Zero(t, stats.Running()+stats.Queued())
	})
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := limit.New(&limit.Options{Limits: []limit.Limit{{Running: 1}}})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return fine, nil
		})
		running, stop := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() { _, _ = h(running, middleware.MethodCallTool, request("ada", "a")) })
		synctest.Wait()

		start := time.Now()
		require.Equal(t, fault.KindRateLimited, ask(h, "ada", "a").Kind())
		require.Equal(t, 2*time.Second, time.Since(start))

		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f, _ := middleware.FaultOf(h(gone, middleware.MethodCallTool, request("ada", "a")))
		require.Equal(t, fault.KindTimeout, f.Kind())
		require.Equal(t, 3*time.Second, time.Since(start))

		stop()
		calls.Wait()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := h(done, middleware.MethodCallTool, request("ada", "a"))
		require.NoError(t, err, "nobody holds it any more")
	})
}

// TestWaitingForTokens lets calls wait for a rate.
func TestWaitingForTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		start := time.Now()
		h := limit.New(&limit.Options{
			Limits: []limit.Limit{{Scope: limit.ForAll, Calls: 1, Per: time.Second, Burst: 3}}, Wait: time.Minute,
		})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, fmt.Sprintf("%s@%.0f", req.(*mcp.CallToolRequest).Params.Name, time.Since(start).Seconds()))
			return fine, nil
		})
		var calls sync.WaitGroup
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			calls.Go(func() { require.Nil(t, ask(h, fmt.Sprint(i), name)) })
			synctest.Wait()
		}
		calls.Wait()
		require.Equal(t, "a@0 b@0 c@0 d@1 e@2", strings.Join(order, " "))
	})
}

// TestWhatComesTooLateDoesNotWait, although others wait, and the place is taken for which it would
// have to wait first; whoever counts the tokens.
func TestWhatComesTooLateDoesNotWait(t *testing.T) {
	for name, shared := range map[string]*taker{"alone": nil, "without the store": {fail: func(context.Context) error { return errors.New(harness.Canary) }}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := &limit.Options{
					Limits: []limit.Limit{{Scope: limit.ForAll, Running: 1}, {Calls: 1, Per: time.Hour}}, Wait: time.Minute, Logger: slog.New(slog.DiscardHandler),
				}
				if shared != nil {
					opts.Shared = shared
				}
				h := limit.New(opts)(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
					<-ctx.Done()
					return fine, nil
				})
				ctx, cancel := context.WithCancel(t.Context())
				var calls sync.WaitGroup
				for _, owner := range []string{"ada", "bob"} {
					calls.Go(func() { _, _ = h(ctx, middleware.MethodCallTool, request(owner, "a")) })
					synctest.Wait()
				}
				start := time.Now()
				require.Equal(t, time.Hour, waitOf(ask(h, "ada", "a")))
				require.Zero(t, time.Since(start))
				cancel()
				calls.Wait()
			})
		})
	}
}

// TestTheQueueIsBounded for all owners together. Who needs nothing of what others wait for does
// not wait, and is not refused because the queue is full.
func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stats limit.Seen
		h := limit.NewSeen(&stats, 0, &limit.Options{
			Limits: []limit.Limit{
				{Scope: limit.PerTool, Tools: []string{"slow"}, Running: 1},
				{Scope: limit.ForAll, Calls: 16, Per: time.Second, Burst: 100}, // so that those that wait fit in a minute, and no more
				{Name: "places", Scope: limit.ForAll, Running: 200},
			},
			Wait: time.Minute,
		})(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			if req.(*mcp.CallToolRequest).Params.Name == "slow" {
				<-ctx.Done()
			}
			return fine, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for i := range 1025 { // one runs
			calls.Go(func() { _, _ = h(ctx, middleware.MethodCallTool, request(fmt.Sprint(i), "slow")) })
		}
		synctest.Wait()
		require.Equal(t, 1024, stats.Queued())
		start := time.Now()
		require.NotNil(t, ask(h, "ada", "slow"))
		require.Nil(t, ask(h, "ada", "quick"))
		require.NotNil(t, ask(h, "7", "slow"))
		require.Nil(t, ask(h, "7", "quick"))
		require.Zero(t, time.Since(start))
		cancel()
		calls.Wait()
		require.Zero(t, stats.Queued()+stats.Running())
	})
}

func TestPanicsAndExitsFreeTheirPlace(t *testing.T) {
	var stats limit.Seen
	h := limit.NewSeen(&stats, 0, &limit.Options{Limits: []limit.Limit{{Running: 1}}, Wait: -1})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		switch req.(*mcp.CallToolRequest).Params.Name {
		case "panic":
			panic(harness.Canary)
		case "exit":
			runtime.Goexit()
		}
		return fine, nil
	})
	require.Panics(t, func() { _ = ask(h, "ada", "panic") })
	require.Nil(t, ask(h, "ada", "a"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ask(h, "ada", "exit")
	}()
	<-done
	require.Nil(t, ask(h, "ada", "a"))
	require.Zero(t, stats.Running())
}

func TestOwnerFunctions(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	var stats limit.Seen
	h := limit.NewSeen(&stats, 0, &limit.Options{
		Limits: []limit.Limit{{Calls: 2, Per: time.Hour, Running: 1}}, Wait: -1, Logger: log.Logger(),
		Owner: func(_ context.Context, req mcp.Request) string {
			switch name := req.(*mcp.CallToolRequest).Params.Name; name {
			case "panics":
				panic(harness.Canary)
			default:
				return name
			}
		},
	})(succeed)
	require.Nil(t, ask(h, "", "panics"))
	require.Nil(t, ask(h, "", ""), "of whom nothing is known")
	require.NotNil(t, ask(h, "", "panics"), "they share one bucket")
	require.NotNil(t, ask(h, "", ""))
	require.Nil(t, ask(h, "", "ada"))
	require.Zero(t, stats.Running())
	require.Len(t, log.Records(), 2, "each thing is said once: %s", log)

	evil := limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 1, Per: time.Hour}}, Logger: slog.New(panics{slog.DiscardHandler})})(succeed)
	require.Nil(t, ask(evil, "", "a"), "a log that panics")
}

type panics struct{ slog.Handler }

func (panics) Enabled(context.Context, slog.Level) bool { panic(harness.Canary) }

// TestLimitsThatMakeNoSense names the field and the repair.
func TestLimitsThatMakeNoSense(t *testing.T) {
	for want, o := range map[string]limit.Options{
		"Options.Limits[0] limits nothing; set Calls or Running":      {Limits: []limit.Limit{{}}},
		"Options.Limits[0].Running is negative":                       {Limits: []limit.Limit{{Running: -1}}},
		"Options.Limits[0].Per is negative":                           {Limits: []limit.Limit{{Calls: 1, Per: -1}}},
		"Options.Limits[0].Burst is negative":                         {Limits: []limit.Limit{{Calls: 1, Burst: -1}}},
		"Options.Limits[0] has a Burst or a Per without Calls":        {Limits: []limit.Limit{{Running: 1, Burst: 1}}},
		"Options.Limits[0].Calls is 5 in 1ns, more than":              {Limits: []limit.Limit{{Calls: 5, Per: 1}}},
		"would not be full again within 100 years":                    {Limits: []limit.Limit{{Calls: 1, Burst: math.MaxInt, Per: 1 << 62}}},
		"Options.Limits[0].Scope is none of":                          {Limits: []limit.Limit{{Calls: 1, Scope: 9}}},
		"Options.Limits[0].Tools has an empty name":                   {Limits: []limit.Limit{{Calls: 1, Tools: []string{""}}}},
		`Options.Limits[0].Methods names "initialize"`:                {Limits: []limit.Limit{{Calls: 1, Methods: []string{"initialize"}}}},
		`Options.Limits[1].Name is "owner", as that of another limit`: {Limits: []limit.Limit{{Calls: 1}, {Calls: 1}}},
		"Options.Limits has 9 limits; give 8 at most":                 {Limits: make([]limit.Limit, 9)},
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				require.Contains(t, text, want)
				require.True(t, strings.HasPrefix(text, "limit.New: "), text)
			}()
			limit.New(&o)
		}()
	}
	for range 9 {
		require.Nil(t, ask(limit.New(nil)(succeed), "ada", "a"))
		require.Nil(t, ask(limit.New(&limit.Options{Limits: []limit.Limit{}})(succeed), "ada", "a"), "no limits")
	}
}

func TestClosedAndFarAway(t *testing.T) {
	h := limit.New(&limit.Options{Limits: []limit.Limit{{Tools: []string{"no"}, Calls: -1, Instead: "Call yes."}, {Calls: 1, Per: 50 * 365 * 24 * time.Hour}}})(succeed)
	f := ask(h, "ada", "no")
	require.Equal(t, "Rate limited: no calls are allowed here.\nSuggestion: Call yes.\nRetry: no. It will be refused again. Nothing was changed by this call.", f.Text())
	require.Nil(t, ask(h, "ada", "yes"), "a refusal takes nothing")
	require.InDelta(t, float64(50*365*24*time.Hour), float64(waitOf(ask(h, "ada", "yes"))), float64(time.Minute))
}

func TestNoAllocationForAKnownOwner(t *testing.T) {
	req := request("ada", "a")
	cost := func(mw mcp.Middleware) float64 {
		h := middleware.Chain(middleware.Render(nil), mw)(succeed)
		return testing.AllocsPerRun(1000, func() { _, _ = h(context.Background(), middleware.MethodCallTool, req) })
	}
	known := limit.Limit{Calls: 1 << 20, Per: 1 << 20 * time.Second, Running: 4}
	tool := known
	tool.Scope = limit.PerOwnerAndTool
	limited := limit.New(&limit.Options{Limits: []limit.Limit{known, tool, {Scope: limit.ForAll, Running: 4}}})
	require.InDelta(t, cost(nil), cost(limited), 0)
	require.InDelta(t, cost(nil), cost(middleware.Chain(limited, limited)), 0, "twice, as Standard has it")
}

func TestSetHeader(t *testing.T) {
	h := limit.New(&limit.Options{Limits: []limit.Limit{{Name: `a"b`, Calls: 2, Per: time.Minute}}, Wait: -1})(succeed)
	_ = ask(h, "ada", "a")
	_ = ask(h, "ada", "a")
	header := http.Header{}
	require.True(t, limit.SetHeader(header, ask(h, "ada", "a")))
	require.Equal(t, http.Header{
		"Retry-After": {"30"}, "Ratelimit": {`"a\"b";r=0;t=30`},
	}, header)
	header = http.Header{}
	require.False(t, limit.SetHeader(header, nil))
	require.False(t, limit.SetHeader(header, fault.RateLimited("the API", time.Second)))
	require.False(t, limit.SetHeader(header, fault.RateLimited("the API", time.Second).With("limit", "100 an hour")), "somebody else's")
	require.False(t, limit.SetHeader(header, fault.New(fault.KindRateLimited, "no").WithCode("LIMIT_REACHED").With("limit", "owner")))
	require.Empty(t, header)
}

// TestManyAtOnce runs what a mutex and a queue get wrong when they do.
func TestManyAtOnce(t *testing.T) {
	harness.NoLeaks(t)
	var stats limit.Seen
	var running, most int
	var mu sync.Mutex
	h := limit.NewSeen(&stats, 5, &limit.Options{
		Limits: []limit.Limit{{Running: 2}, {Scope: limit.PerTool, Running: 3}, {Scope: limit.ForAll, Calls: 1 << 20, Per: time.Second, Running: 5}},
		Wait:   time.Millisecond,
	})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(50 * time.Microsecond)
		mu.Lock()
		running--
		mu.Unlock()
		return fine, nil
	})
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+(i+j)%3)*500*time.Microsecond)
				_, _ = h(ctx, middleware.MethodCallTool, request(fmt.Sprint(i%7), fmt.Sprint(j%5)))
				cancel()
			}
		})
	}
	calls.Wait()
	require.LessOrEqual(t, most, 5)
	require.Zero(t, stats.Running())
	require.Zero(t, stats.Queued())
}
