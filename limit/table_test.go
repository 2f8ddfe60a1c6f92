package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/middleware"
)

// sound checks what always holds of a table.
func (t *table) sound(tb testing.TB) {
	tb.Helper()
	require.LessOrEqual(tb, len(t.buckets), t.most)
	require.EqualValues(tb, len(t.buckets), t.count.Load())
	named, due := map[uint64]int{}, 0
	for key, b := range t.buckets {
		require.Equal(tb, key, b.key)
		require.True(tb, b.due || b.running > 0 || b.waiters > 0, "it is in force, or will be looked at")
		if b.named {
			named[b.owner]++
		}
		if b.due {
			due++
		}
	}
	require.Equal(tb, named, t.named)
	require.Len(tb, t.due, due)
	for _, d := range t.due {
		require.Same(tb, t.buckets[d.bucket.key], d.bucket)
		require.True(tb, d.bucket.due)
	}
	require.LessOrEqual(tb, len(t.spare), maxSpare)
	for _, b := range t.spare {
		require.NotSame(tb, t.buckets[b.key], b)
	}
}

// TestLimitsHoldWhateverOthersDo runs calls of any owners, tools and lengths at any times through
// tables that have room, and through those that are much too small: no owner ever has more calls,
// of any tool, than its limits allow, nor than those and the common ones together; and when all
// have ended and are full again nothing is kept.
func TestLimitsHoldWhateverOthersDo(t *testing.T) {
	seeds := uint64(10)
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		seeds = 30
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			g := rand.New(rand.NewPCG(seed, 0))
			var stats Stats
			o := Options{
				Limits: []Limit{
					{Calls: 1 + g.IntN(5), Per: time.Minute, Burst: 1 + g.IntN(5), Running: g.IntN(3)},
					{Scope: PerOwnerAndTool, Calls: 1 + g.IntN(3), Per: time.Hour},
					{Scope: PerTool, Tools: []string{"t1"}, Running: 1},
					{Scope: ForAll, Running: 20},
				},
				MaxBuckets: []int{1 + g.IntN(20), 1000}[seed%2], Wait: time.Duration(g.IntN(3)-1) * time.Second, Queue: 3, Stats: &stats,
			}
			l := newLimiter(o)
			var mu sync.Mutex
			began := map[string][]time.Time{}
			run := func(ctx context.Context, owner, tool string, lasts time.Duration) {
				req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool}, Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: owner}}}
				a := &candidate{ctx: ctx, req: req, tool: tool, method: middleware.MethodCallTool, limits: l.methods[middleware.MethodCallTool] | l.tools[tool], hold: hold{cost: 1}}
				if l.admit(a) != nil {
					return
				}
				defer l.release(a)
				mu.Lock()
				began[owner] = append(began[owner], time.Now())
				began[owner+" "+tool] = append(began[owner+" "+tool], time.Now())
				mu.Unlock()
				time.Sleep(lasts)
			}
			var calls sync.WaitGroup
			for range 400 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+g.IntN(5))*time.Second)
				owner, tool, lasts := fmt.Sprint("o", g.IntN(8)), fmt.Sprint("t", g.IntN(6)), time.Duration(g.IntN(3000))*time.Millisecond
				calls.Go(func() {
					defer cancel()
					run(ctx, owner, tool, lasts)
				})
				time.Sleep(time.Duration(g.IntN(4)) * time.Second)
				synctest.Wait()
				l.mu.Lock()
				l.table.sound(t)
				l.mu.Unlock()
			}
			calls.Wait()
			for name, times := range began {
				r := l.rules[0]
				if len(name) > 2 {
					r = l.rules[1]
				}
				for i := range times {
					for j := i; j < len(times); j++ {
						most := r.Burst + int(times[j].Sub(times[i])/r.interval)
						if o.MaxBuckets < 1000 {
							most *= 2
						}
						require.LessOrEqual(t, j-i+1, most, "%s, seed %d", name, seed)
					}
				}
			}
			require.Zero(t, stats.Running.Load()+stats.Queued.Load())
			time.Sleep(3 * time.Hour)
			for range 10 {
				run(t.Context(), "o0", "t0", 0)
			}
			l.table.sound(t)
			require.LessOrEqual(t, len(l.table.buckets), 2)
		})
	}
}

// TestIdleBucketsGo without a call, whichever limit is the longest, and in whichever order they came.
func TestIdleBucketsGo(t *testing.T) {
	for name, at := range map[string]int{"the long one first": 0, "in between": 3500, "the long one last": 6999} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stats Stats
				l := newLimiter(Options{Limits: []Limit{{Calls: 60}, {Name: "day", Tools: []string{"report"}, Calls: 1, Per: 24 * time.Hour}}, Wait: -1, Stats: &stats})
				for i := range 7000 {
					tool := "a"
					if i == at {
						tool = "report"
					}
					req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool}, Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: fmt.Sprint(i)}}}
					a := &candidate{ctx: t.Context(), req: req, tool: tool, method: middleware.MethodCallTool, limits: l.methods[middleware.MethodCallTool] | l.tools[tool], hold: hold{cost: 1}}
					require.NoError(t, l.admit(a))
					l.release(a)
				}
				require.EqualValues(t, 7001, stats.Buckets.Load())
				time.Sleep(2 * time.Minute)
				require.EqualValues(t, 1, stats.Buckets.Load(), "nobody calls any more")
				time.Sleep(24 * time.Hour)
				require.Zero(t, stats.Buckets.Load())
				runtime.KeepAlive(l) // or it may be freed before it sweeps
			})
		})
	}
}

// TestALimiterThatNobodyHasIsFreed, however long its limits are.
func TestALimiterThatNobodyHasIsFreed(t *testing.T) {
	gone := make(chan struct{})
	func() {
		l := newLimiter(Options{Limits: []Limit{{Calls: 1, Per: 24 * time.Hour}}, Wait: -1})
		runtime.AddCleanup(l, func(done chan struct{}) { close(done) }, gone)
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}}
		a := &candidate{ctx: t.Context(), req: req, tool: "a", method: middleware.MethodCallTool, limits: l.methods[middleware.MethodCallTool], hold: hold{cost: 1}}
		require.NoError(t, l.admit(a))
		l.release(a)
		require.NotNil(t, l.sweeper)
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-gone:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}
