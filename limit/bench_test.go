package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/middleware"
)

func request(owner, tool string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Name: tool},
		Extra:  &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: owner}},
	}
}

var fine = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}

func succeed(context.Context, string, mcp.Request) (mcp.Result, error) { return fine, nil }

// fairness runs 99 owners who call one after the other, with and without one who
// calls with 100 times the load of each, and returns the ratio of their 99th
// percentiles and Jain's index of what each of the 99 got done.
func fairness(tb testing.TB, opts *limit.Options, work, pause time.Duration) (ratio, jain float64) {
	const (
		owners = 99
		rounds = 20
	)
	measure := func(abuse bool) (p99 time.Duration, done []float64) {
		h := limit.New(opts)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			time.Sleep(work)
			return fine, nil
		})
		ctx, cancel := context.WithCancel(context.Background())
		var abusers, others sync.WaitGroup
		if abuse {
			for range 100 {
				abusers.Go(func() {
					for ctx.Err() == nil {
						_, _ = h(ctx, middleware.MethodCallTool, request("abuser", "search"))
						time.Sleep(pause)
					}
				})
			}
		}
		took, counts := make([][]time.Duration, owners), make([]float64, owners)
		for i := range owners {
			others.Go(func() {
				req := request(fmt.Sprintf("owner-%d", i), "search")
				time.Sleep(time.Duration(i) * pause / owners)
				for range rounds {
					start := time.Now()
					_, err := h(ctx, middleware.MethodCallTool, req)
					took[i] = append(took[i], time.Since(start))
					if err == nil {
						counts[i]++
					} else if !errors.Is(err, fault.KindRateLimited) {
						tb.Error(err)
					}
					time.Sleep(pause)
				}
			})
		}
		others.Wait()
		cancel()
		abusers.Wait()
		all := slices.Concat(took...)
		slices.Sort(all)
		return all[len(all)*99/100], counts
	}
	quiet, _ := measure(false)
	loud, counts := measure(true)
	tb.Logf("p99 %s without, %s with the abuser", quiet, loud)
	var sum, squares float64
	for _, c := range counts {
		sum, squares = sum+c, squares+c*c
	}
	return float64(loud) / float64(quiet), sum * sum / math.Max(1, squares*owners)
}

// fair are limits of which the abuser reaches its own and that for all.
func fair() *limit.Options {
	return &limit.Options{Limits: []limit.Limit{{Running: 8}, {Scope: limit.ForAll, Running: 12}}}
}

// BenchmarkFairness prints what one abuser with 100 times the load does to 99 others:
// the ratio of their 99th percentiles with and without it, and Jain's index. Where the
// machine is busy, TestFairness has the same in the time of a bubble.
func BenchmarkFairness(b *testing.B) {
	for b.Loop() {
		ratio, jain := fairness(b, fair(), 10*time.Millisecond, 200*time.Millisecond)
		b.ReportMetric(ratio, "p99-ratio")
		b.ReportMetric(jain, "jain")
	}
}

// TestFairness is BenchmarkFairness without what the machine adds.
func TestFairness(t *testing.T) {
	for name, opts := range map[string]*limit.Options{
		"own limit":         fair(),
		"only that for all": {Limits: []limit.Limit{{Scope: limit.ForAll, Running: 12}}},
		"a rate for all":    {Limits: []limit.Limit{{Scope: limit.ForAll, Calls: 1000, Per: time.Second, Burst: 1}}, Wait: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ratio, jain := fairness(t, opts, 10*time.Millisecond, 200*time.Millisecond)
				t.Logf("p99 ratio %.2f, Jain's index %.3f", ratio, jain)
				require.LessOrEqual(t, ratio, 2.0)
				require.Greater(t, jain, 0.95)
			})
		})
	}
}
