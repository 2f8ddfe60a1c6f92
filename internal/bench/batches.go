package main

import (
	"context"
	"runtime"
	"sync"

	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/batch"
)

const workers = 16

type work func(context.Context, int) (int, error)

// kept is what a contender knows of each item at the end.
type kept struct {
	values []int
	errs   []error
	items  []batch.Item[int]
}

// contenders run fn once for each item, workers at a time, and keep the values and the
// errors of all items: none stops at the first. batch.Run also isolates a panic, says of each
// failure what it is and whether to send the item again, and can be stopped.
var contenders = []struct {
	name, panics string
	run          func(ctx context.Context, in []int, fn work) kept
}{
	{"errgroup", "ends the process", func(ctx context.Context, in []int, fn work) kept {
		out, errs := make([]int, len(in)), make([]error, len(in))
		var g errgroup.Group
		g.SetLimit(workers)
		for i := range in {
			g.Go(func() error {
				out[i], errs[i] = fn(ctx, in[i])
				return nil
			})
		}
		_ = g.Wait()
		return kept{out, errs, nil}
	}},
	{"conc `pool`", "panics in the caller", func(ctx context.Context, in []int, fn work) kept {
		out, errs := make([]int, len(in)), make([]error, len(in))
		p := pool.New().WithMaxGoroutines(workers)
		for i := range in {
			p.Go(func() { out[i], errs[i] = fn(ctx, in[i]) })
		}
		p.Wait()
		return kept{out, errs, nil}
	}},
	{"conc `iter`", "panics in the caller", func(ctx context.Context, in []int, fn work) kept {
		out, errs := make([]int, len(in)), make([]error, len(in))
		iterator := iter.Iterator[int]{MaxGoroutines: workers}
		iterator.ForEachIdx(in, func(i int, item *int) { out[i], errs[i] = fn(ctx, *item) })
		return kept{out, errs, nil}
	}},
	{"by hand, a worker pool", "ends the process", func(ctx context.Context, in []int, fn work) kept {
		out, errs := make([]int, len(in)), make([]error, len(in))
		next := make(chan int)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for i := range next {
					out[i], errs[i] = fn(ctx, in[i])
				}
			})
		}
		for i := range in {
			next <- i
		}
		close(next)
		wg.Wait()
		return kept{out, errs, nil}
	}},
	{"`batch.Run`", "is the failure of one item", func(ctx context.Context, in []int, fn work) kept {
		return kept{items: batch.Run(ctx, in, fn, &batch.RunOptions[int]{Concurrency: workers}).Items}
	}},
}

// batches compares what a list of items costs beside the work: the items do nothing.
func batches() *table {
	t := &table{
		title: "A list of items that do nothing, 16 at a time", first: "", jobs: "100 items | 10 of 100 fail | 10,000 items | a panic", reference: 0, slack: 3,
		note: "Times as ratios to the first row. All keep the value or the error of each item; `batch.Run` also says what each failure is, and whether to send the item again.",
	}
	for _, c := range contenders {
		list := func(n, failing int) func() {
			in := numbers(n)
			fn := func(_ context.Context, i int) (int, error) {
				if i < failing {
					return 0, errSecret
				}
				return i, nil
			}
			return func() { runtime.KeepAlive(c.run(context.Background(), in, fn)) }
		}
		t.add(c.name, []func(){list(100, 0), list(100, 10), list(10_000, 0)}, c.panics)
	}
	return t
}

func numbers(n int) []int {
	in := make([]int, n)
	for i := range in {
		in[i] = i
	}
	return in
}
