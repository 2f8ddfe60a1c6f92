package bench_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/batch"
)

const (
	items   = 10_000
	workers = 16
)

// contenders run fn once for each of n items, workers at a time, and keep the values.
// Only batch also keeps errors apart, isolates a panic and can be stopped; errgroup
// stops at the first error and does not survive a panic.
var contenders = []struct {
	name string
	run  func(ctx context.Context, in []int, fn func(context.Context, int) (int, error))
}{
	{"batch.Run", func(ctx context.Context, in []int, fn func(context.Context, int) (int, error)) {
		batch.Run(ctx, in, fn, &batch.RunOptions[int]{Concurrency: workers})
	}},
	{"errgroup", func(ctx context.Context, in []int, fn func(context.Context, int) (int, error)) {
		out := make([]int, len(in))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(workers)
		for i := range in {
			g.Go(func() (err error) {
				out[i], err = fn(ctx, in[i])
				return err
			})
		}
		_ = g.Wait()
	}},
	{"conc/pool", func(ctx context.Context, in []int, fn func(context.Context, int) (int, error)) {
		p := pool.NewWithResults[int]().WithContext(ctx).WithMaxGoroutines(workers)
		for i := range in {
			p.Go(func(ctx context.Context) (int, error) { return fn(ctx, in[i]) })
		}
		_, _ = p.Wait()
	}},
	{"conc/iter", func(ctx context.Context, in []int, fn func(context.Context, int) (int, error)) {
		mapper := iter.Mapper[int, int]{MaxGoroutines: workers}
		_, _ = mapper.MapErr(in, func(i *int) (int, error) { return fn(ctx, *i) })
	}},
}

// BenchmarkNothing is what each item costs beside the work: items that do nothing.
func BenchmarkNothing(b *testing.B) {
	compare(b, items, func(_ context.Context, i int) (int, error) { return i, nil })
}

// BenchmarkShort is the timer's floor: items that sleep for 100 µs. Sixteen at a time
// cannot take less than a sixteenth of that each, and where the operating system wakes
// nobody before a millisecond is over, not less than a sixteenth of a millisecond.
func BenchmarkShort(b *testing.B) {
	compare(b, 1000, func(_ context.Context, i int) (int, error) {
		time.Sleep(100 * time.Microsecond)
		return i, nil
	})
}

func compare(b *testing.B, n int, fn func(context.Context, int) (int, error)) {
	in := make([]int, n)
	for i := range in {
		in[i] = i
	}
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.run(b.Context(), in, fn)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
		})
	}
}

// TestContendersDoTheSame keeps the comparison honest: each calls fn once an item.
func TestContendersDoTheSame(t *testing.T) {
	for _, c := range contenders {
		var calls, sum atomic.Int64
		c.run(t.Context(), []int{1, 2, 3, 4}, func(_ context.Context, i int) (int, error) {
			calls.Add(1)
			sum.Add(int64(i))
			return i, nil
		})
		if calls.Load() != 4 || sum.Load() != 10 {
			t.Errorf("%s: %d calls, sum %d", c.name, calls.Load(), sum.Load())
		}
	}
}

// TestRatios prints what an item that does nothing costs with each contender, beside
// batch.Run: the least of interleaved rounds, because a shared machine has no constant
// speed. batch.Run is no slower than those that start a goroutine an item.
func TestRatios(t *testing.T) {
	const rounds = 15
	in := make([]int, items)
	least := make([]time.Duration, len(contenders))
	for range rounds {
		for i, c := range contenders {
			began := time.Now()
			c.run(t.Context(), in, func(_ context.Context, i int) (int, error) { return i, nil })
			if took := time.Since(began); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	t.Logf("%-10s %8s %18s", "", "ns/item", "batch.Run is")
	for i, c := range contenders {
		ratio := float64(least[0]) / float64(least[i])
		t.Logf("%-10s %8.1f %12.2f times", c.name, float64(least[i].Nanoseconds())/items, ratio)
		if (c.name == "errgroup" || c.name == "conc/pool") && ratio > 1 {
			t.Errorf("batch.Run is %.2f times as slow as %s", ratio, c.name)
		}
	}
}
