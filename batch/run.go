package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// grace is how long a function has to return after its context ended, before it is
	// left behind.
	grace = 100 * time.Millisecond

	// maxReserve is the most of a deadline that is kept for the answer.
	maxReserve = time.Second
)

// Run runs fn for every item, several at a time, and returns when all are done or
// the batch was stopped: by MaxFailures, or because ctx ended. It ends before the deadline
// of ctx by a tenth of the time that is left, at most a second, so that there is time for
// the answer. What was done until then is in the result, and the items that were not begun
// are there as [NotRun]. The items of the result are in the order of the input.
//
// Inside a call that passes mcpchain's middlewares and has a progress token, the client is
// notified how many items have finished, of how many, and how many failed: at most four
// times a second, and at the end, before the answer. Only the first batch of a call sends
// notifications.
//
// A function that does not return when its context ends is left behind a tenth of a
// second later, and its item has failed. Apart from such functions, nothing of Run goes
// on when it has returned. opts may be nil. Run panics when fn is nil or an option is
// wrong. It keeps items, which must not be changed as long as the result is used.
func Run[In, Out any](ctx context.Context, items []In, fn func(context.Context, In) (Out, error), opts *RunOptions[In]) *Result[Out] {
	o := resolved("batch.Run: RunOptions", opts)
	if fn == nil {
		panic("batch.Run: fn is nil; give the function that is run for every item")
	}
	return newBatch(ctx, items, func(ctx context.Context, i int) (Out, error) { return fn(ctx, items[i]) }, &o).run(ctx)
}

// newBatch returns a batch of a function that gets the index of the item.
func newBatch[In, Out any](ctx context.Context, items []In, fn func(context.Context, int) (Out, error), o *RunOptions[In]) *batch[Out] {
	b := &batch[Out]{
		fn: fn, concurrency: o.Concurrency, limit: o.Limit, maxFailures: o.MaxFailures,
		result: Result[Out]{
			Items: make([]Item[Out], len(items)), failer: newFailer(ctx, len(items)), send: func(i int) any { return items[i] },
			listName: "items", keyName: o.KeyName, maxBytes: o.MaxBytes,
		},
	}
	for i := range items {
		item := &b.result.Items[i]
		item.Index, item.Status = i, NotRun
		if o.Key != nil {
			item.Key = safe.Text(func() string { return o.Key(items[i]) })
		}
	}
	if b.result.failer.part == 0 { // progress must increase, so only one batch of a call can report it
		b.notify = notifying(b.result.failer.c.Request())
	}
	return b
}

// A batch runs the items of one Run. Its workers are goroutines, which run the function apart; the
// goroutine that called Run waits for them.
type batch[Out any] struct {
	fn          func(context.Context, int) (Out, error)
	concurrency int
	limit       time.Duration
	maxFailures int
	notify      notify // nil if the caller asked for no progress

	ctx   context.Context //nolint:containedctx // for the function: ends with the batch
	grace time.Duration   // for what runs when its context ends

	mu          sync.Mutex // never held while user code runs
	result      Result[Out]
	begun       int
	finished    int
	failures    int
	stuck       int  // functions that were left behind and have not returned
	interrupted bool // an item ran when ctx ended
}

func (b *batch[Out]) run(ctx context.Context) *Result[Out] {
	end := func() {}
	if b.notify != nil {
		end = progress(ctx, b.notify, func() (done, failed, total int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.finished, b.failures, len(b.result.Items)
		})
	}
	var cancel context.CancelFunc
	b.grace = grace
	if deadline, ok := ctx.Deadline(); ok {
		until := time.Until(deadline)
		reserve := min(until/10, maxReserve)
		b.grace = max(time.Millisecond, min(grace, reserve/2))
		b.ctx, cancel = context.WithTimeout(ctx, until-reserve)
	} else {
		b.ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	var workers sync.WaitGroup
	for range min(b.concurrency, len(b.result.Items)) {
		workers.Go(b.work)
	}
	workers.Wait()
	over, shutdown := b.ctx.Err(), b.shutDown()
	cancel()
	end()
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.result
	r.count()
	switch {
	case r.NotRun == 0 && !b.interrupted:
		r.Stopped = ""
	case r.Stopped != "":
	case safe.Is(over, context.DeadlineExceeded):
		r.Stopped = byDeadline
	case shutdown:
		r.Stopped = byShutdown
	case over != nil:
		r.Stopped = byCancel
	default:
		r.Stopped = byStuck
	}
	return &r
}

// work is a worker: it runs one item after the other, as long as not too many were left behind.
func (b *batch[Out]) work() {
	for {
		if i, more := b.next(); !more || !b.item(i) {
			return
		}
	}
}

// next begins an item. It reports false if none is left or the batch has stopped.
func (b *batch[Out]) next() (i int, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun == len(b.result.Items) || b.result.Stopped != "" || b.ctx.Err() != nil {
		return 0, false
	}
	i = b.begun
	b.begun++
	b.result.failer.begin(b.ctx, i)
	return i, true
}

// item runs the user's function for an item. It reports false if the function was left behind after too
// many others.
func (b *batch[Out]) item(i int) bool {
	ctx := context.Context(&b.result.failer.items[i])
	if b.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.limit)
		defer cancel()
	}
	work := apart.Go(func() (Out, error) { return b.fn(ctx, i) })
	if !work.Until(ctx.Done(), b.grace) {
		return b.leave(i, work.Done())
	}
	value, err := work.Result()
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.result.Items[i].Value, b.result.Items[i].Status = value, Succeeded
		b.finished++
		return true
	}
	b.result.Items[i].Value = value          // no other goroutine reads it yet
	b.fail(i, func() (*fault.Error, error) { // an error that came with the end of the item's time says less
		switch over := b.ctx.Err(); {
		case over != nil && safe.Is(err, over):
			return b.over(), err
		case b.limit > 0 && ctx.Err() != nil && safe.Is(err, context.DeadlineExceeded):
			return fault.Timeout(theItem, b.limit), err
		default:
			return nil, err
		}
	})
	return true
}

// leave leaves an item behind until its function has returned, and reports whether not too many were.
func (b *batch[Out]) leave(i int, returned <-chan struct{}) bool {
	b.mu.Lock()
	b.stuck++
	goOn := b.stuck <= b.concurrency
	b.mu.Unlock()
	change := call.Left(&b.result.failer.items[i])
	b.fail(i, func() (*fault.Error, error) {
		if b.ctx.Err() != nil {
			return nil, b.over().Because(errStuck)
		}
		return nil, fault.Timeout(theItem, b.limit).Because(errStuck)
	})
	go func() {
		<-returned
		change.Returned()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.stuck--
	}()
	return goOn
}

// fail sets the failure of an item. how returns its error, and a fault that replaces an error that was not
// worded for callers. how runs apart, because the methods of an error may end the goroutine.
func (b *batch[Out]) fail(i int, how func() (late *fault.Error, err error)) {
	got, failure := apart.Go(func() (failed, error) {
		late, err := how()
		return b.result.failer.failed(i, err, late), nil
	}).Result()
	if failure != nil {
		got = failed{public: fault.Generic(fault.KindInternal)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	item := &b.result.Items[i]
	item.Status, item.Err, item.failed = Failed, got.public, got
	b.finished++
	b.failures++
	if b.maxFailures > 0 && b.failures >= b.maxFailures {
		b.result.Stopped = byFailures
	}
}

// theItem is how this package's own failures name the item; its key stands beside it.
const theItem = "the item"

var errStuck = errors.New("batch: the function did not return when its context ended, and was left behind")

// shutDown reports whether the server's shutdown has ended the batch.
func (b *batch[Out]) shutDown() bool { return safe.Is(context.Cause(b.ctx), classify.ErrShutdown) }

// over returns the failure of an item that was running when the context of the batch ended. It notes
// that the batch was interrupted.
func (b *batch[Out]) over() *fault.Error {
	b.mu.Lock()
	b.interrupted = true
	b.mu.Unlock()
	if errors.Is(b.ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.KindTimeout, theItem+" had not finished when the time for the batch was over")
	}
	if b.shutDown() {
		return fault.New(fault.KindServiceUnavailable, "this server was replaced before "+theItem+" had finished").
			WithParty(fault.PartyServer).WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown})
	}
	return fault.New(fault.KindCancelled, theItem+" had not finished when the batch was stopped").
		WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}) // unlike a call that was given up
}
