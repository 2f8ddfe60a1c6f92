package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
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
	"github.com/mcpchain/mcpchain/store"
)

// taker is a shared store whose buckets are never full again.
type taker struct {
	mu    sync.Mutex
	taken map[string]int
	asked [][]store.Tokens
	fail  func(ctx context.Context) error
}

func (s *taker) Take(ctx context.Context, tokens ...store.Tokens) (wait time.Duration, of int, err error) {
	s.mu.Lock()
	s.asked = append(s.asked, tokens)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return 0, 0, fail(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range tokens {
		if s.taken[t.Key]+t.N > t.Burst && t.Interval > wait {
			wait, of = t.Interval, i
		}
	}
	if wait > 0 {
		return wait, of, nil
	}
	for _, t := range tokens {
		s.taken[t.Key] += t.N
	}
	return 0, -1, nil // there is none to be named
}

// failing makes it fail from now on, or answer again for nil.
func (s *taker) failing(fail func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// total returns how many tokens were taken of all buckets.
func (s *taker) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, taken := range s.taken {
		n += taken
	}
	return n
}

func (s *taker) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func TestSharedStore(t *testing.T) {
	shared := &taker{taken: map[string]int{}}
	server := func() mcp.MethodHandler {
		return limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 3, Per: time.Hour, Running: 2}, {Scope: limit.ForAll, Running: 9}}, Wait: -1, Shared: shared})(succeed)
	}
	one, two := server(), server()
	require.Nil(t, ask(one, "ada", "a"))
	require.Nil(t, ask(two, "ada", "b"))
	require.Nil(t, ask(one, "ada", "c"))
	refused := ask(two, "ada", "a")
	require.Equal(t, 20*time.Minute, waitOf(refused), "the servers count together")
	require.Equal(t, "at most 3 calls in 1 h for each caller", refused.Message())
	require.Nil(t, ask(two, "bob", "a"))
	require.Len(t, shared.taken, 2)
	for key := range shared.taken {
		require.NotContains(t, key, "ada")
		require.Less(t, len(key), 100)
	}
}

// TestSharedIsAskedOnceForAllLimits, and the narrowest wait is not taken for the longest.
func TestSharedIsAskedOnceForAllLimits(t *testing.T) {
	shared := &taker{taken: map[string]int{}}
	h := limit.New(&limit.Options{Limits: []limit.Limit{
		{Calls: 9, Per: time.Hour},
		{Scope: limit.PerOwnerAndTool, Calls: 9, Per: time.Hour},
		{Scope: limit.PerTool, Calls: 1, Per: time.Hour, Running: 5},
		{Scope: limit.ForAll, Calls: 9, Per: time.Minute},
		{Name: "places", Running: 5},
	}, Wait: -1, Shared: shared})(succeed)
	require.Nil(t, ask(h, "ada", "heavy"))
	require.Len(t, shared.asked, 1)
	require.Len(t, shared.asked[0], 4, "what runs at once is each server's own")
	for _, t4 := range shared.asked[0] {
		require.Equal(t, 1, t4.N)
	}
	require.Equal(t, 4, shared.total())
	for range 10 {
		require.Equal(t, "at most 1 call in 1 h for this tool", ask(h, "bob", "heavy").Message())
	}
	require.Equal(t, 4, shared.total(), "a call that one limit refuses takes of none")
	require.Len(t, shared.asked, 11)
}

// TestSharedTokensAreForCallsThatRun: what this server refuses, or what goes away while it
// waits, is never asked about.
func TestSharedTokensAreForCallsThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, end := &taker{taken: map[string]int{}}, make(chan struct{})
		var stats limit.Seen
		h := limit.NewSeen(&stats, 0, &limit.Options{Limits: []limit.Limit{
			{Calls: 100, Per: time.Hour},
			{Scope: limit.ForAll, Running: 1},
			{Name: "closed", Tools: []string{"closed"}, Calls: -1},
		}, Wait: time.Second, Shared: shared})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			<-end
			return fine, nil
		})
		var calls sync.WaitGroup
		calls.Go(func() { require.Nil(t, ask(h, "ada", "a")) })
		synctest.Wait()
		require.Equal(t, 1, shared.total())

		require.NotNil(t, ask(h, "bob", "closed"))
		require.NotNil(t, ask(h, "bob", "a"), "its patience ends")
		gone, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		f, _ := middleware.FaultOf(h(gone, middleware.MethodCallTool, request("bob", "a")))
		require.Equal(t, fault.KindTimeout, f.Kind())
		for range 16 {
			calls.Go(func() { require.Nil(t, ask(h, "bob", "a")) })
		}
		synctest.Wait()
		require.NotNil(t, ask(h, "bob", "a"), "the queue is full")
		require.Equal(t, 1, shared.total())
		require.Equal(t, 1, shared.questions())

		close(end)
		calls.Wait()
		require.Equal(t, 17, shared.total(), "each got its place, and then its tokens")

		shared.taken = map[string]int{shared.asked[0][0].Key: 100}
		require.NotNil(t, ask(h, "ada", "a"))
		require.Zero(t, stats.Running()+stats.Queued(), "a call that the store refuses gives its place back")
		require.Nil(t, ask(h, "bob", "a"))
	})
}

// TestAStoreThatFails is asked once, and then again after five seconds by one call. Each server
// counts for itself meanwhile, and says so once a minute.
func TestAStoreThatFails(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"gone":           func(context.Context) error { return errors.New(harness.Canary) },
		"hangs":          func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"hangs for ever": func(context.Context) error { time.Sleep(2 * time.Second); return nil },
		"panics":         func(context.Context) error { panic(harness.Canary) },
		"exits":          func(context.Context) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, shared := harness.NewLog(slog.LevelInfo), &taker{taken: map[string]int{}, fail: fail}
				h := limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 3, Per: time.Hour, Running: 1}, {Scope: limit.ForAll, Calls: 100}}, Wait: -1, Shared: shared, Logger: log.Logger()})(succeed)
				start := time.Now()
				for range 3 {
					require.Nil(t, ask(h, "ada", "a"))
				}
				require.Equal(t, 20*time.Minute, waitOf(ask(h, "ada", "a")).Round(time.Second), "the server counts for itself")
				require.Nil(t, ask(h, "bob", "a"))
				require.LessOrEqual(t, time.Since(start), 300*time.Millisecond, "nobody else waits for it")
				require.Equal(t, 1, shared.questions())
				for i := range 11 {
					time.Sleep(5 * time.Second)
					before := time.Now()
					var at sync.WaitGroup
					for j := range 10 {
						at.Go(func() { _ = ask(h, fmt.Sprint("cyd", j), "a") })
					}
					at.Wait()
					require.Equal(t, 2+i, shared.questions(), "one call tries it")
					require.LessOrEqual(t, time.Since(before), 300*time.Millisecond)
				}
				require.Len(t, log.Records(), 1)
				require.Contains(t, log.Records()[0]["msg"], "the shared store of package limit does not answer; each server counts for itself meanwhile")

				shared.failing(nil)
				time.Sleep(6 * time.Second)
				for range 3 {
					require.Nil(t, ask(h, "ada", "a"), "it counts again, and knows of nothing")
				}
				require.NotNil(t, ask(h, "ada", "a"))
			})
		})
	}
}

// TestPatienceIsOne: a call that waited for its place, and finds the store gone, has waited
// that long when it would wait for its tokens.
func TestPatienceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := func(context.Context) error { return errors.New("gone") }
		shared, start := &taker{taken: map[string]int{}, fail: gone}, time.Now()
		h := limit.New(&limit.Options{
			Limits: []limit.Limit{{Scope: limit.ForAll, Running: 1}, {Calls: 1, Per: 9 * time.Second}}, Wait: 3 * time.Second,
			Shared: shared, Logger: slog.New(slog.DiscardHandler),
		})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			if req.(*mcp.CallToolRequest).Params.Name == "slow" {
				time.Sleep(2 * time.Second)
			}
			return fine, nil
		})
		require.Nil(t, ask(h, "bob", "a"), "the token of this server")
		time.Sleep(5 * time.Second)
		shared.failing(nil)
		var calls sync.WaitGroup
		calls.Go(func() { require.Nil(t, ask(h, "ada", "slow")) })
		synctest.Wait()
		calls.Go(func() {
			require.NotNil(t, ask(h, "bob", "a"))
			require.Equal(t, 7*time.Second, time.Since(start), "its token comes after two more seconds, and its patience ends after one")
		})
		synctest.Wait()
		shared.failing(gone)
		calls.Wait()
	})
}

// TestTheOrderHoldsWithoutTheStore: calls that wait for their place while the store is left alone
// do not lose it.
func TestTheOrderHoldsWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		shared := &taker{fail: func(context.Context) error { return errors.New("gone") }}
		h := limit.New(&limit.Options{
			Limits: []limit.Limit{{Scope: limit.ForAll, Running: 1}, {Calls: 9}}, Wait: time.Minute, Shared: shared, Logger: slog.New(slog.DiscardHandler),
		})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			mu.Lock()
			order = append(order, req.(*mcp.CallToolRequest).Params.Name)
			mu.Unlock()
			time.Sleep(time.Second)
			return fine, nil
		})
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() { require.Nil(t, ask(h, fmt.Sprint("owner", i), fmt.Sprint(i))) })
			synctest.Wait()
		}
		calls.Wait()
		require.Equal(t, []string{"0", "1", "2", "3"}, order)
		require.Equal(t, 1, shared.questions())
	})
}

// TestACallerThatHasGoneIsNotTheStoresFault.
func TestACallerThatHasGoneIsNotTheStoresFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &taker{taken: map[string]int{}, fail: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
				return nil
			}
		}}
		h := limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 9}}, Wait: -1, Shared: shared})(succeed)
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, _ = h(ctx, middleware.MethodCallTool, request("ada", "a"))
			cancel()
			require.Equal(t, i+1, shared.questions(), "it is asked again")
		}
	})
}

// TestAStoreThatNamesNoBucket is one that failed.
func TestAStoreThatNamesNoBucket(t *testing.T) {
	for _, of := range []int{-1, 1, 9} {
		log := harness.NewLog(slog.LevelInfo)
		h := limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 1}}, Wait: -1, Shared: wrong(of), Logger: log.Logger()})(succeed)
		require.Nil(t, ask(h, "ada", "a"))
		require.NotNil(t, ask(h, "ada", "a"))
		require.Contains(t, log.Only(t)["error"], "out of range")
	}
}

type wrong int

func (w wrong) Take(context.Context, ...store.Tokens) (wait time.Duration, of int, err error) {
	return time.Second, int(w), nil
}

// TestStuckStoresAreNotAskedForEver: questions that never end are few.
func TestStuckStoresAreNotAskedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		shared := &taker{taken: map[string]int{}, fail: func(context.Context) error { <-end; return nil }}
		h := limit.New(&limit.Options{Limits: []limit.Limit{{Calls: 1 << 20}}, Wait: -1, Shared: shared, Logger: slog.New(slog.DiscardHandler)})(succeed)
		for range 100 {
			require.Nil(t, ask(h, "ada", "a"))
			time.Sleep(6 * time.Second)
		}
		require.Equal(t, 16, shared.questions())
		shared.failing(nil)
		close(end)
		synctest.Wait()
		require.Nil(t, ask(h, "ada", "a"))
		require.Equal(t, 17, shared.questions(), "they have ended, and it is asked again")
	})
}
