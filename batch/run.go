package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/fault"
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
		idle: make(chan struct{}), states: make([]state, len(items)),
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

// A batch runs the items of one Run. Its workers are goroutines; the goroutine that called
// Run waits for them.
type batch[Out any] struct {
	fn          func(context.Context, int) (Out, error)
	concurrency int
	limit       time.Duration
	maxFailures int
	notify      notify // nil if the caller asked for no progress

	ctx   context.Context //nolint:containedctx // for the function: ends with the batch
	grace time.Duration   // for what runs when ctx ends
	idle  chan struct{}   // closed when no worker is left

	mu          sync.Mutex // never held while user code runs
	result      Result[Out]
	states      []state
	workers     int // that were not left behind, and one for the goroutine that starts them
	begun       int
	finished    int
	failures    int
	stuck       int  // functions that were left behind and have not returned
	interrupted bool // an item ran when ctx ended
}

// A state says who sets the outcome of an item: its worker or the one that leaves it
// behind, whichever is first to take it.
type state uint8

const (
	waiting state = iota
	running       // in the user's function, which may not return
	ended         // it returned
	left          // it did not return in time: its result is dropped, and its worker ends when it returns
)

func (b *batch[Out]) run(ctx context.Context) *Result[Out] {
	end := func() {}
	if b.notify != nil {
		end = progress(ctx, b.notify, func() (done, failed, total int) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.finished, b.failures, len(b.states)
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
	workers := min(b.concurrency, len(b.states))
	b.workers = workers + 1
	for range workers {
		go b.work()
	}
	b.wait()
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

// wait returns when no worker is left.
func (b *batch[Out]) wait() {
	b.mu.Lock()
	b.leave()
	b.mu.Unlock()
	select {
	case <-b.idle:
		return
	case <-b.ctx.Done():
	}
	select {
	case <-b.idle:
	case <-time.After(b.grace):
		for i := range b.states {
			b.giveUp(i, b.over())
		}
		<-b.idle
	}
}

// work is a worker: it runs one item after the other.
func (b *batch[Out]) work() {
	i, more := 0, true
	defer func() { // if more is still set, the function called runtime.Goexit
		if more {
			var none Out
			if b.end(i, none, nil, errGoexit) {
				go b.work()
			}
		}
	}()
	for i, more = b.next(); more; i, more = b.next() {
		value, late, err := b.call(i)
		if more = b.end(i, value, late, err); !more {
			return
		}
	}
}

// next begins an item. If there is none, it takes the worker off and reports false.
func (b *batch[Out]) next() (i int, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun == len(b.states) || b.result.Stopped != "" || b.ctx.Err() != nil {
		b.leave()
		return 0, false
	}
	i = b.begun
	b.begun++
	b.states[i] = running
	b.result.failer.begin(b.ctx, i)
	return i, true
}

// leave takes a worker off. It is called with the mutex.
func (b *batch[Out]) leave() {
	if b.workers--; b.workers == 0 {
		close(b.idle)
	}
}

// call runs the user's function for an item. late replaces an error that came with the end
// of the item's time, unless that error was worded for callers.
func (b *batch[Out]) call(i int) (value Out, late *fault.Error, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked(p, 1)
		}
	}()
	ctx, limit := context.Context(&b.result.failer.items[i]), b.limit
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		overdue := time.AfterFunc(limit+grace, func() { b.giveUp(i, fault.Timeout(theItem, limit)) })
		defer overdue.Stop()
	}
	if value, err = b.fn(ctx, i); err != nil && limit > 0 && ctx.Err() != nil && safe.Is(err, context.DeadlineExceeded) {
		late = fault.Timeout(theItem, limit)
	}
	return value, late, err
}

// end keeps how an item ended. It reports false when the item was left behind meanwhile.
func (b *batch[Out]) end(i int, value Out, late *fault.Error, err error) bool {
	interrupted := false
	if over := b.ctx.Err(); err != nil && over != nil && safe.Is(err, over) {
		interrupted, late = true, b.over()
	}
	b.mu.Lock()
	if was := b.states[i]; was != running { // left, or ended, and then something ended the goroutine
		if was == left {
			b.stuck--
			b.result.failer.returned(i)
		}
		b.mu.Unlock()
		return was == ended
	}
	b.states[i] = ended
	b.result.Items[i].Value = value
	b.interrupted = b.interrupted || interrupted
	if err == nil {
		b.result.Items[i].Status = Succeeded
		b.finished++
	}
	b.mu.Unlock()
	if err != nil {
		b.fail(i, err, late)
	}
	return true
}

// fail sets the failure of an item that the caller of fail has taken.
func (b *batch[Out]) fail(i int, err error, late *fault.Error) {
	how := failed{public: fault.Generic(fault.KindInternal)}
	defer func() { // deferred, because looking at the failure may end the goroutine
		b.mu.Lock()
		defer b.mu.Unlock()
		item := &b.result.Items[i]
		item.Status, item.Err, item.failed = Failed, how.public, how
		b.finished++
		b.failures++
		if b.maxFailures > 0 && b.failures >= b.maxFailures {
			b.result.Stopped = byFailures
		}
	}()
	how = b.result.failer.failed(i, err, late)
}

// theItem is how this package's own failures name the item; its key stands beside it.
const theItem = "the item"

var (
	errGoexit = errors.New("batch: the function called runtime.Goexit")
	errStuck  = errors.New("batch: the function did not return when its context ended, and was left behind")
)

// giveUp leaves behind an item that still runs, and starts another worker in the place of
// the item's, unless too many were left behind.
func (b *batch[Out]) giveUp(i int, why *fault.Error) {
	b.mu.Lock()
	if b.states[i] != running {
		b.mu.Unlock()
		return
	}
	b.states[i] = left
	b.stuck++
	b.interrupted = b.interrupted || b.ctx.Err() != nil
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.stuck <= b.concurrency {
			go b.work()
		} else {
			b.leave()
		}
	}()
	b.result.failer.left(i)
	b.fail(i, why.Because(errStuck), nil)
}

// shutDown reports whether the server's shutdown has ended the batch.
func (b *batch[Out]) shutDown() bool { return safe.Is(context.Cause(b.ctx), classify.ErrShutdown) }

// over returns the failure of an item that was running when the context of the batch
// ended.
func (b *batch[Out]) over() *fault.Error {
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
