package batch

import (
	"context"
	"iter"
	"sync/atomic"
)

// Run runs fn for every item, several at a time, and returns when all are done or
// the batch was stopped: by an option, or because ctx ended. What was done until
// then is in the result, and the items that were not begun are there as [NotRun].
// The items of the result are in the order of the input.
//
// A function that does not return when its context ends is left behind a tenth of a
// second later, and its item has failed; nothing else of Run outlives it. opts may
// be nil. Run panics when fn is nil or an option is wrong. It keeps items, which
// must not be changed as long as the result is used.
func Run[In, Out any](ctx context.Context, items []In, fn func(context.Context, In) (Out, error), opts *RunOptions[In]) *Result[Out] {
	o := resolved("Run", opts)
	if fn == nil {
		panic("batch.Run: fn is nil; give the function that is run for every item")
	}
	outcomes := make([]Item[Out], len(items))
	e := newEngine(ctx, fn, &o)
	e.source = &slice[In]{items: items}
	e.places = outcomes
	e.total = len(items)
	e.run(min(o.Concurrency, len(items)), nil)

	r := e.result()
	for i := range outcomes {
		item := &outcomes[i]
		if item.Status == NotRun {
			item.Index, item.Key = i, e.safeKey(items[i])
		}
		r.add(item)
	}
	r.Items = outcomes
	keep(r, func(i int) In { return items[i] }, o.RetryItem)
	e.ended(r)
	return r
}

// RunSeq is [Run] for a sequence, of which it reads an item when there is a worker
// for it. When the batch is stopped the rest of the sequence is not read, and is not
// in the result. A panic of the sequence goes to the caller of RunSeq.
func RunSeq[In, Out any](ctx context.Context, items iter.Seq[In], fn func(context.Context, In) (Out, error), opts *RunOptions[In]) *Result[Out] {
	o := resolved("RunSeq", opts)
	needs("RunSeq", items, fn)
	var (
		outcomes []Item[Out]
		inputs   []In
	)
	r := stream(ctx, items, fn, func(in In, item Item[Out]) bool {
		for len(outcomes) <= item.Index { // they come in any order, but there is no gap in the end
			var none In
			outcomes, inputs = append(outcomes, Item[Out]{}), append(inputs, none)
		}
		outcomes[item.Index], inputs[item.Index] = item, in
		return true
	}, &o)
	r.Items = outcomes
	keep(r, func(i int) In { return inputs[i] }, o.RetryItem)
	return r
}

// Stream runs fn for the items of a sequence and hands each outcome to yield as soon
// as there is one, with its item: in no particular order, unless the concurrency
// is 1. It keeps none of them, so that memory does not grow with their number, and
// the result has counts, but no items. An item that was read but not begun when the
// batch was stopped is handed on as [NotRun]. yield is called by the goroutine that called
// Stream and holds up the batch while it runs; when it returns false the batch is
// stopped, and outcomes of items that run are dropped.
//
// The rest is as with [RunSeq].
func Stream[In, Out any](ctx context.Context, items iter.Seq[In], fn func(context.Context, In) (Out, error), yield func(In, Item[Out]) bool, opts *RunOptions[In]) *Result[Out] {
	o := resolved("Stream", opts)
	needs("Stream", items, fn)
	if yield == nil {
		panic("batch.Stream: yield is nil; give the function that takes the outcomes")
	}
	return stream(ctx, items, fn, yield, &o)
}

func needs[In, Out any](function string, items iter.Seq[In], fn func(context.Context, In) (Out, error)) {
	switch {
	case items == nil:
		panic("batch." + function + ": items is nil; give the sequence of the items")
	case fn == nil:
		panic("batch." + function + ": fn is nil; give the function that is run for every item")
	}
}

func stream[In, Out any](ctx context.Context, items iter.Seq[In], fn func(context.Context, In) (Out, error), yield func(In, Item[Out]) bool, o *RunOptions[In]) *Result[Out] {
	e := newEngine(ctx, fn, o)
	r := e.result()
	outcomes := make(chan outcome[In, Out], o.Concurrency)
	e.source = newSequence(items, e.remember)
	e.total = -1
	e.send = outcomes
	e.take = func(in In, item *Item[Out]) {
		if e.stopping.Load() == uint32(stopYield) {
			return
		}
		r.add(item)
		if !yield(in, *item) {
			e.stop(stopYield)
		}
	}
	e.run(o.Concurrency, outcomes)
	e.ended(r)
	return r
}

type outcome[In, Out any] struct {
	in   In
	item Item[Out]
}

// A source gives the items, to several workers at the same time.
type source[In any] interface {
	// next returns the next item with its place, and false when there is none.
	next() (int, In, bool)
	// close says that no more items are wanted. It does not wait.
	close()
	// exhausted reports whether next has returned false because there was none.
	exhausted() bool
}

// slice is the source of a slice.
type slice[In any] struct {
	items []In
	begun atomic.Int64
}

func (l *slice[In]) next() (i int, in In, ok bool) {
	if i = int(l.begun.Add(1) - 1); i >= len(l.items) {
		return 0, in, false
	}
	return i, l.items[i], true
}

func (l *slice[In]) close() {}

func (l *slice[In]) exhausted() bool { return l.begun.Load() >= int64(len(l.items)) }
