package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
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
			o := Options{
				Limits: []Limit{
					{Calls: 1 + g.IntN(5), Per: time.Minute, Burst: 1 + g.IntN(5), Running: g.IntN(3)},
					{Scope: PerOwnerAndTool, Calls: 1 + g.IntN(3), Per: time.Hour},
					{Scope: PerTool, Tools: []string{"t1"}, Running: 1},
					{Scope: ForAll, Running: 20},
				},
				Wait: time.Duration(g.IntN(3)-1) * time.Second,
			}
			l := newLimiter(o)
			l.table.most = []int{1 + g.IntN(20), 1000}[seed%2]
			var mu sync.Mutex
			began := map[string][]time.Time{}
			run := func(ctx context.Context, owner, tool string, lasts time.Duration) {
				req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool}, Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: owner}}}
				a := &candidate{ctx: ctx, req: req, tool: tool, method: middleware.MethodCallTool, limits: l.methods[middleware.MethodCallTool] | l.tools[tool]}
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
						if l.table.most < 1000 {
							most *= 2
						}
						require.LessOrEqual(t, j-i+1, most, "%s, seed %d", name, seed)
					}
				}
			}
			seen := Seen{l}
			require.Zero(t, seen.Running()+seen.Queued())
			time.Sleep(3 * time.Hour)
			for range 10 {
				run(t.Context(), "o0", "t0", 0)
			}
			l.table.sound(t)
			require.LessOrEqual(t, len(l.table.buckets), 2)
		})
	}
}
