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
	// grace is how long a function that was told to stop has for returning, before it
	// is left behind.
	grace = 100 * time.Millisecond

	// maxReserve is the most of a deadline that is kept for the answer.
	maxReserve = time.Second
)

// Run runs fn for every item, several at a time, and returns when all are done or
// the batch was stopped: by an option, or because ctx ended. What was done until
// then is in the result, and the items that were not begun are there as [NotRun].
// The items of the result are in the order of the input.
//
// Inside a call that passes mcpchain's middlewares and has a progress token, its caller is
// told how many items have finished, of how many, and how many failed: four times a second
// at most, and at the end, before the answer. Only the first batch of a call tells.
//
// A function that does not return when its context ends is left behind a tenth of a
// second later, and its item has failed; nothing else of Run outlives it. opts may
// be nil. Run panics when fn is nil or an option is wrong. It keeps items, which
// must not be changed as long as the result is used.
func Run[In, Out any](ctx context.Context, items []In, fn func(context.Context, In) (Out, error), opts *RunOptions[In]) *Result[Out] {
	o := resolved("batch.Run: RunOptions", opts)
	if fn == nil {
		panic("batch.Run: fn is nil; give the function that is run for every item")
	}
	return newBatch(ctx, items, func(ctx context.Context, i int) (Out, error) { return fn(ctx, items[i]) }, &o).run(ctx)
}

// newBatch returns a batch of a function that gets the index of the item.
func newBatch[In, Out any](ctx context.Context, items []In, fn func(context.Context, int) (Out, error), o *RunOptions[In]) *batch[In, Out] {
	b := &batch[In, Out]{
		failer: newFailer(ctx), o: o, items: items, fn: fn, idle: make(chan struct{}),
		outcomes: make([]Item[Out], len(items)), states: make([]state, len(items)),
	}
	for i := range items {
		b.outcomes[i].Index, b.outcomes[i].Status = i, NotRun
		if o.Key != nil {
			b.outcomes[i].Key = safe.Text(func() string { return o.Key(items[i]) })
		}
	}
	if b.part == 0 { // what a client is told must increase, so only one batch can tell
		b.notify = newNotifier(ctx, b.c.Request())
	}
	return b
}

func (b *batch[In, Out]) run(ctx context.Context) *Result[Out] {
	b.limit(ctx)
	defer b.cancel()
	workers := min(b.o.Concurrency, len(b.items))
	b.workers = workers + 1
	for range workers {
		go b.work()
	}
	b.wait()
	return b.result()
}

// A batch is what runs the items of one Run: some workers, which are goroutines, and
// the goroutine that called Run, which waits for them.
type batch[In, Out any] struct {
	*failer
	o     *RunOptions[In]
	items []In
	fn    func(context.Context, int) (Out, error)

	ctx    context.Context //nolint:containedctx // for the function: ends with the batch
	cancel context.CancelFunc
	why    string        // why ctx ends when it does so by itself
	grace  time.Duration // for what runs when ctx ends
	idle   chan struct{} // closed when no worker is left

	mu          sync.Mutex // never held while code of the user's runs
	outcomes    []Item[Out]
	states      []state
	workers     int // that were not left behind, and one for whoever starts them
	begun       int
	finished    int
	failures    int
	stuck       int // functions that were left behind and have not returned
	stopped     string
	interrupted bool // an item ran when ctx ended

	notify *notifier // nil if nobody asked
}

// A state says who decides what becomes of an item: its worker while it runs, and then
// whoever was the first to take it.
type state uint8

const (
	waiting state = iota
	running       // with the functions of the user's, which may not return
	ended         // they returned
	left          // they did not: what they return is dropped, and their worker is one too many
)

// An ending is what the functions of the user's made of an item.
type ending[Out any] struct {
	status Status
	value  Out
	err    error
	late   *fault.Error // what is said of an err that came with the end of the context, unless somebody worded it
}

// limit makes the context of the batch, which ends a little before that of the caller.
func (b *batch[In, Out]) limit(ctx context.Context) {
	left, limited := b.o.Advanced.Budget, b.o.Advanced.Budget > 0
	b.grace, b.why = grace, byBudget
	if deadline, ok := ctx.Deadline(); ok {
		until := time.Until(deadline)
		reserve := min(until/10, maxReserve)
		b.grace = max(time.Millisecond, min(grace, reserve/2))
		if until -= reserve; !limited || until < left {
			left, limited, b.why = until, true, byDeadline
		}
	}
	if limited {
		b.ctx, b.cancel = context.WithTimeout(ctx, left) //nolint:gosec // run calls it
	} else {
		b.ctx, b.cancel = context.WithCancel(ctx) //nolint:gosec // run calls it
	}
}

// wait returns when no worker is left.
func (b *batch[In, Out]) wait() {
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
		for i := range b.items {
			b.giveUp(i, b.over())
		}
		<-b.idle
	}
}

// work is a worker: it runs one item after the other.
func (b *batch[In, Out]) work() {
	i, more := 0, true
	// If more is still set, the function or a log handler called runtime.Goexit. A second
	// one does not keep deferred calls from being run.
	defer func() {
		if more {
			go b.work()
		}
	}()
	defer func() {
		if more {
			more = b.end(i, ending[Out]{status: Failed, err: errGoexit})
		}
	}()
	for i, more = b.next(); more; i, more = b.next() {
		if more = b.end(i, b.call(i)); !more {
			return
		}
	}
}

// next begins an item. It reports false, and the worker has left, when there is none.
func (b *batch[In, Out]) next() (i int, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun == len(b.items) || b.stopped != "" || b.ctx.Err() != nil {
		b.leave()
		return 0, false
	}
	i = b.begun
	b.begun++
	b.states[i] = running
	return i, true
}

// leave takes a worker off. It is called with the mutex.
func (b *batch[In, Out]) leave() {
	if b.workers--; b.workers == 0 {
		close(b.idle)
	}
}

// call runs the functions of the user's for an item.
func (b *batch[In, Out]) call(i int) (e ending[Out]) {
	e.status = Failed
	defer func() {
		if p := recover(); p != nil {
			e.err = classify.NewPanicError(p, 1)
		}
	}()
	ctx, limit := b.ctx, b.o.Timeout
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		late := time.AfterFunc(limit+grace, func() { b.giveUp(i, fault.Timeout(theItem, limit)) })
		defer late.Stop()
	}
	if skip := b.o.Advanced.Skip; skip != nil && skip(b.items[i]) {
		e.status = Skipped
		return e
	}
	switch e.value, e.err = b.fn(ctx, i); {
	case e.err == nil:
		e.status = Succeeded
	case limit > 0 && ctx.Err() != nil && safe.Is(e.err, context.DeadlineExceeded):
		e.late = fault.Timeout(theItem, limit)
	}
	return e
}

// end keeps how an item ended. It reports false when the item was left behind meanwhile.
func (b *batch[In, Out]) end(i int, e ending[Out]) bool {
	interrupted := false
	if over := b.ctx.Err(); e.status == Failed && over != nil && safe.Is(e.err, over) {
		interrupted, e.late = true, b.over()
	}
	b.mu.Lock()
	if was := b.states[i]; was != running { // left, or ended, and then a log handler or the progress ended the goroutine
		if was == left {
			b.stuck--
		}
		b.mu.Unlock()
		return was == ended
	}
	b.states[i] = ended
	b.outcomes[i].Value = e.value
	b.interrupted = b.interrupted || interrupted
	if e.status != Failed {
		b.outcomes[i].Status = e.status
		b.finished++
	}
	b.mu.Unlock()
	if e.status == Failed {
		b.fail(i, e.err, e.late)
	}
	b.tell(false)
	return true
}

// fail makes a failed item of one that the caller has taken.
func (b *batch[In, Out]) fail(i int, err error, late *fault.Error) {
	public, quote := fault.Generic(fault.KindInternal), false
	defer func() { // also when a log handler calls runtime.Goexit
		b.mu.Lock()
		defer b.mu.Unlock()
		b.outcomes[i].Status, b.outcomes[i].Err, b.outcomes[i].quote = Failed, public, quote
		b.finished++
		b.failures++
		if limit := b.o.MaxFailures; limit > 0 && b.failures >= limit && b.stopped == "" {
			b.stopped = byFailures
		}
	}()
	public, quote = b.failed(i, err, late)
}

// theItem is what failures of ours call the item; its key stands beside it.
const theItem = "the item"

var (
	errGoexit = errors.New("batch: the function called runtime.Goexit")
	errStuck  = errors.New("batch: the function did not return when its context ended, and was left behind")
)

// giveUp leaves an item behind that still runs, and puts another worker in the place of
// its own unless too many were left behind.
func (b *batch[In, Out]) giveUp(i int, why *fault.Error) {
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
		if b.stuck <= b.o.Concurrency {
			go b.work()
		} else {
			b.leave()
		}
	}()
	defer b.tell(false)
	b.fail(i, why.Because(errStuck), nil)
}

// over is the failure of an item that ran when the context of the batch ended.
func (b *batch[In, Out]) over() *fault.Error {
	if errors.Is(b.ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.KindTimeout, theItem+" had not finished when the time for the batch was over")
	}
	return fault.New(fault.KindCancelled, theItem+" had not finished when the batch was stopped").
		WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}) // unlike a call that was given up
}

// tell tells how far the batch is, unless somebody is about to.
func (b *batch[In, Out]) tell(end bool) {
	if b.notify == nil {
		return
	}
	b.notify.tell(end, func() (done, failed, total int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.finished, b.failures, len(b.items)
	})
}

// result ends the batch.
func (b *batch[In, Out]) result() *Result[Out] {
	over := b.ctx.Err()
	b.cancel()
	b.tell(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	items, more := b.items, &b.o.Advanced
	r := &Result[Out]{
		Items: b.outcomes, failer: b.failer, listName: "items", keyName: b.o.KeyName,
		mode: more.Mode, maxBytes: more.MaxBytes, strict: more.ErrorWhenAnyFailed,
	}
	r.send = func(i int) any {
		if more.RetryItem != nil {
			return more.RetryItem(items[i])
		}
		return items[i]
	}
	r.count()
	switch {
	case r.NotRun == 0 && !b.interrupted:
	case b.stopped != "":
		r.Stopped = b.stopped
	case safe.Is(over, context.DeadlineExceeded):
		r.Stopped = b.why
	case over != nil:
		r.Stopped = byCancel
	default:
		r.Stopped = byStuck
	}
	return r
}
