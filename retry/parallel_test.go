package retry_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/retry"
)

// slowly fails after a second, and counts its runs.
func slowly(err error, runs *atomic.Int32) harness.Handler {
	return func(context.Context, mcp.Request) (mcp.Result, error) {
		runs.Add(1)
		time.Sleep(time.Second)
		return nil, err
	}
}

// Calls that are made at the same time do not know of each other's failures: they are
// no repetitions, and no streak.
func TestCallsAtTheSameTimeCountAsOne(t *testing.T) {
	for _, tc := range []struct {
		name     string
		argument func(i int) any
		err      error
		then     string // what is said of the next failure
	}{
		{"the same call", func(int) any { return "same" }, errRefused, "(attempt 3)"},
		{"the same hopeless call", func(int) any { return "same" }, fault.NotFound("file", "x"), "Retry: no. The same call will fail again."},
		{"varied calls", func(i int) any { return i }, fault.NotFound("file", "x"), "Retry: no. The same call will fail again."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				s := annotated(t, readOnly, nil, slowly(tc.err, &runs))
				var wg sync.WaitGroup
				for i := range 30 {
					wg.Go(func() {
						text := s.CallTool(t.Context(), "it", map[string]any{"n": tc.argument(i)}).Text()
						assertNoLoop(t, text)
					})
				}
				wg.Wait()
				text := s.CallTool(t.Context(), "it", map[string]any{"n": tc.argument(30)}).Text()
				require.Contains(t, text, tc.then)
				require.EqualValues(t, 31, runs.Load())
			})
		})
	}
}

func assertNoLoop(t *testing.T, text string) {
	t.Helper()
	for _, no := range []string{"This exact call", "is not made", "calls of this tool have failed"} {
		assert.NotContains(t, text, no)
	}
}

// Waves of calls are as many repetitions as there are waves.
func TestWavesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := annotated(t, readOnly, nil, slowly(fault.NotFound("file", "x"), &runs))
		wave := func() {
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() { s.Call(t, "it") })
			}
			wg.Wait()
		}
		for range 6 {
			wave()
		}
		require.EqualValues(t, 30, runs.Load())
		require.Contains(t, s.Call(t, "it").Text(), "this exact call has failed 6 times, so")
		require.EqualValues(t, 30, runs.Load())
	})
}

// The items of a batch were chosen at once. However many of them fail, the others are
// run; an item that fails again and again is still known.
func TestItemsOfABatchAreNoStreak(t *testing.T) {
	type in struct {
		ID string `json:"id"`
	}
	var runs atomic.Int32
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: []mcp.Middleware{
			batch.New(&batch.Options{Lists: []batch.List{{Tool: "get_user", Item: "id", As: "get_users", Items: "ids"}}}),
			retry.New(nil),
		},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "get_user", Annotations: readOnly},
				func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
					runs.Add(1)
					return nil, nil, fault.New(fault.KindInternal, "the table is gone")
				})
		},
	})
	var ids []string
	for i := range 60 {
		ids = append(ids, fmt.Sprint("u", i))
	}
	got := s.CallTool(t.Context(), "get_users", map[string]any{"ids": ids})
	require.EqualValues(t, 60, runs.Load())
	require.NotContains(t, got.Text(), "is not made")
	for _, id := range ids[:25] {
		s.CallTool(t.Context(), "get_users", map[string]any{"ids": []string{id}})
	}
	require.Contains(t, s.CallTool(t.Context(), "get_user", map[string]any{"id": "other"}).Text(), "One more try does no harm.")
	for range 5 {
		s.CallTool(t.Context(), "get_users", map[string]any{"ids": ids[:1]})
	}
	require.Contains(t, s.CallTool(t.Context(), "get_users", map[string]any{"ids": ids[:1]}).Text(), "this exact call has failed 6 times")
}

// Equal items of a batch are one failure, however many wait for their turn.
func TestEqualItemsOfABatchCountAsOne(t *testing.T) {
	type in struct {
		ID string `json:"id"`
	}
	var runs atomic.Int32
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: []mcp.Middleware{
			batch.New(&batch.Options{Lists: []batch.List{{Tool: "get_user", Item: "id", As: "get_users", Items: "ids"}}}),
			retry.New(nil),
		},
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "get_user", Annotations: readOnly},
				func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
					runs.Add(1)
					return nil, nil, fault.NotFound("user", in.ID)
				})
		},
	})
	ids := slices.Repeat([]string{"bob"}, 60)
	for range 5 {
		require.NotContains(t, s.CallTool(t.Context(), "get_users", map[string]any{"ids": ids}).Text(), "Repeated failure")
	}
	require.EqualValues(t, 5*60, runs.Load())
	require.Contains(t, s.CallTool(t.Context(), "get_users", map[string]any{"ids": ids}).Text(), "this exact call has failed 6 times")
}

// The largest values that there are mean what they say.
func TestOptionsWithoutEnd(t *testing.T) {
	t.Run("attempts", func(t *testing.T) {
		s := annotated(t, readOnly, nil, said(fault.Retry{ShouldRetry: true, MaxAttempts: math.MaxInt}))
		for range 9 {
			require.Contains(t, s.Call(t, "it").Text(), "Retry: yes, after ")
		}
	})
	t.Run("attempts of all", func(t *testing.T) {
		s := annotated(t, readOnly, &retry.Options{MaxAttempts: math.MaxInt}, limited(time.Second))
		for range 9 {
			require.Contains(t, s.Call(t, "it").Text(), "Retry: yes, after ")
		}
	})
	t.Run("before it is escalated", func(t *testing.T) {
		s := annotated(t, readOnly, &retry.Options{RefuseAfter: math.MaxInt}, said(fault.Retry{ShouldRetry: true, MaxAttempts: 60}))
		for range 9 {
			require.Contains(t, s.Call(t, "it").Text(), "Retry: yes, after ")
		}
	})
	t.Run("a wait, and an attempt that is none", func(t *testing.T) {
		s := annotated(t, readOnly, nil, said(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1e308, NextAttempt: -4}))
		require.Contains(t, s.Call(t, "it").Text(), "Retry: not now: possible again in 720 h; tell the user.")
	})
}
