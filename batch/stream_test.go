package batch_test

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
)

func TestStreamKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int
		r := batch.Stream(t.Context(), count(20), func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(20-i) * time.Second)
			if i == 5 {
				return 0, errBroken
			}
			return 2 * i, nil
		}, func(in int, item batch.Item[int]) bool {
			require.Equal(t, in, item.Index)
			if item.Status == batch.Succeeded {
				require.Equal(t, 2*in, item.Value)
			}
			seen = append(seen, in)
			return true
		}, nil)
		require.ElementsMatch(t, numbers(20), seen)
		require.NotEqual(t, numbers(20), seen, "in the order in which they finish")
		require.Nil(t, r.Items)
		require.Equal(t, 20, r.Total)
		require.Equal(t, 19, r.Succeeded)
		require.Equal(t, 1, r.Failed)
		require.Empty(t, r.RetryItems())
		require.Equal(t, 1, r.ErrorSummary().ByType["internal_error"])
	})
}

func TestStreamInOrder(t *testing.T) {
	var seen []int
	batch.Stream(t.Context(), count(100), func(_ context.Context, i int) (int, error) { return i, nil },
		func(in int, _ batch.Item[int]) bool { seen = append(seen, in); return true }, &batch.RunOptions[int]{Concurrency: 1})
	require.Equal(t, numbers(100), seen)
}

func endless(yield func(int) bool) {
	for i := 0; ; i++ {
		if !yield(i) {
			return
		}
	}
}

func TestStreamStopsWhenItsConsumerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, closed := 0, false
		r := batch.Stream(t.Context(), func(yield func(int) bool) {
			defer func() { closed = true }()
			endless(yield)
		}, func(ctx context.Context, i int) (int, error) {
			if i > 40 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return i, nil
		}, func(int, batch.Item[int]) bool {
			seen++
			return seen < 10
		}, nil)
		require.Equal(t, 10, seen)
		require.Equal(t, 10, r.Total)
		require.Equal(t, batch.StoppedByConsumer, r.Stopped)
		require.True(t, closed)
	})
}

func TestStreamSurvivesItsConsumer(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("enough") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := false
				var panicked any
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { panicked = recover() }()
					batch.Stream(t.Context(), func(yield func(int) bool) {
						defer func() { closed = true }()
						endless(yield)
					}, func(context.Context, int) (int, error) { time.Sleep(time.Second); return 0, nil },
						func(int, batch.Item[int]) bool { end(); return true }, nil)
				}()
				<-done
				time.Sleep(time.Minute)
				require.True(t, closed)
				require.Equal(t, name == "panic", panicked == "enough")
			})
		})
	}
}

// TestConsumerPanicsOverAStuckItem: it hears of one from another place than of others.
func TestConsumerPanicsOverAStuckItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.PanicsWithValue(t, "enough", func() {
			batch.Stream(t.Context(), count(5), func(context.Context, int) (int, error) { time.Sleep(time.Hour); return 0, nil },
				func(_ int, item batch.Item[int]) bool { panic("enough") }, &batch.RunOptions[int]{Timeout: time.Second, Concurrency: 2})
		})
		time.Sleep(2 * time.Hour)
	})
}

// TestBrokenSequences: what a sequence does is the business of whoever called.
func TestBrokenSequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(n int, end func()) iter.Seq[int] {
			return func(yield func(int) bool) {
				for i := range n {
					if !yield(i) {
						return
					}
				}
				end()
			}
		}
		ran := 0
		fn := func(_ context.Context, i int) (int, error) { ran++; return i, nil }
		one := &batch.RunOptions[int]{Concurrency: 1}
		require.PanicsWithValue(t, "the cursor broke", func() {
			batch.RunSeq(t.Context(), after(3, func() { panic("the cursor broke") }), fn, one)
		})
		require.Equal(t, 3, ran)
		require.PanicsWithValue(t, "batch: the sequence of the items called runtime.Goexit", func() {
			batch.RunSeq(t.Context(), after(3, runtime.Goexit), fn, one)
		})
		require.Equal(t, 6, ran)
	})
}

// TestSlowSequence: outcomes do not wait for the next item, stuck items are given up
// meanwhile, and a sequence that does not listen is left behind.
func TestSlowSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var closed atomic.Bool
		var seen []time.Duration
		r := batch.Stream(ctx, func(yield func(int) bool) {
			defer func() { closed.Store(true) }()
			for i := range 3 {
				if !yield(i) {
					return
				}
			}
			time.Sleep(time.Hour)
			yield(3)
		}, func(_ context.Context, i int) (int, error) {
			if i == 2 {
				time.Sleep(time.Minute)
			}
			return i, nil
		}, func(_ int, item batch.Item[int]) bool {
			seen = append(seen, time.Since(began))
			if item.Status == batch.Failed {
				cancel()
			}
			return true
		}, &batch.RunOptions[int]{Timeout: time.Second})
		require.Equal(t, []time.Duration{0, 0, 1100 * time.Millisecond}, seen)
		require.Equal(t, 1200*time.Millisecond, time.Since(began))
		require.Equal(t, batch.StoppedByCancel, r.Stopped)
		require.Equal(t, 3, r.Total)
		require.False(t, closed.Load())
		time.Sleep(2 * time.Hour)
		require.True(t, closed.Load())
	})
}

// TestItemsThatWereReadAreNotLost: an item that comes when the batch has ended is not
// run, and is in the result.
func TestItemsThatWereReadAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := batch.RunSeq(ctx, func(yield func(int) bool) {
			_ = yield(7)
			cancel()
			_ = yield(8)
		}, func(_ context.Context, i int) (int, error) { return i, nil }, &batch.RunOptions[int]{Concurrency: 1})
		require.Equal(t, "+.", statuses(r.Items))
		require.Equal(t, []any{8}, r.RetryItems())
	})
}

// TestAMillionItems: memory follows the workers, not the items.
func TestAMillionItems(t *testing.T) {
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 1_000_000
	before, most, sum := live(), uint64(0), 0
	r := batch.Stream(t.Context(), count(n), func(_ context.Context, i int) ([]byte, error) { return make([]byte, 100), nil },
		func(i int, item batch.Item[[]byte]) bool {
			sum += len(item.Value)
			if i%100_000 == 99_999 {
				most = max(most, live())
			}
			return true
		}, &batch.RunOptions[int]{Concurrency: 16})
	require.Equal(t, n, r.Succeeded)
	require.Equal(t, 100*n, sum)
	require.Less(t, most, before+1<<20)
}
