package batch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
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
// A function that does not return when its context ends is left behind a tenth of a
// second later, and its item has failed; nothing else of Run outlives it. opts may
// be nil. Run panics when fn is nil or an option is wrong. It keeps items, which
// must not be changed as long as the result is used.
func Run[In, Out any](ctx context.Context, items []In, fn func(context.Context, In) (Out, error), opts *RunOptions[In]) *Result[Out] {
	o := resolved("batch.Run: RunOptions", opts)
	if fn == nil {
		panic("batch.Run: fn is nil; give the function that is run for every item")
	}
	return run(ctx, items, fn, &o)
}

func run[In, Out any](ctx context.Context, items []In, fn func(context.Context, In) (Out, error), o *RunOptions[In]) *Result[Out] {
	b := newBatch(ctx, items, fn, o)
	b.work()
	return b.result()
}

// A batch is what runs the items of one Run: some workers, which are goroutines, and
// the goroutine that called Run, which waits for them.
type batch[In, Out any] struct {
	*failer
	o     *RunOptions[In]
	items []In
	fn    func(context.Context, In) (Out, error)

	ctx    context.Context //nolint:containedctx // for the function: ends with the batch
	cancel context.CancelFunc
	limit  StopReason    // why ctx ends when it does so by itself
	grace  time.Duration // for what runs when ctx ends
	idle   chan struct{} // closed when no worker is left

	mu          sync.Mutex // never held while code of the user's runs
	outcomes    []Item[Out]
	workers     map[*worker]struct{}
	begun       int
	finished    int
	failures    int
	stuck       int // functions that were left behind and have not returned
	stopped     StopReason
	interrupted bool // an item ran when ctx ended

	telling sync.Mutex
}

// A worker runs one item after the other. The mutex of its batch guards it.
type worker struct {
	index int
	busy  bool // with the functions of the user's, which may not return
	lost  bool // left behind: what it returns is dropped
}

func newBatch[In, Out any](ctx context.Context, items []In, fn func(context.Context, In) (Out, error), o *RunOptions[In]) *batch[In, Out] {
	b := &batch[In, Out]{
		o: o, items: items, fn: fn, limit: StoppedByBudget, grace: grace, idle: make(chan struct{}),
		outcomes: make([]Item[Out], len(items)), workers: make(map[*worker]struct{}),
	}
	for i := range items {
		b.outcomes[i].Index, b.outcomes[i].Key = i, b.key(items[i])
	}
	b.failer = &failer{ctx: ctx, c: call.FromContext(ctx), idempotent: o.Idempotent}
	if b.c != nil {
		b.part = b.c.Part()
		if o.Advanced.Progress == nil && b.part == 0 { // what a client is told must increase, so only one batch can tell
			o.Advanced.Progress = Notify(ctx, b.c.Request())
		}
	}
	left, limited := o.Advanced.Budget, o.Advanced.Budget > 0
	if deadline, ok := ctx.Deadline(); ok {
		until := time.Until(deadline)
		reserve := min(until/10, maxReserve)
		until -= reserve
		b.grace = max(time.Millisecond, min(grace, reserve/2))
		if !limited || until < left {
			left, limited, b.limit = until, true, StoppedByDeadline
		}
	}
	if limited {
		b.ctx, b.cancel = context.WithTimeout(ctx, left) //nolint:gosec // result calls it
	} else {
		b.ctx, b.cancel = context.WithCancel(ctx) //nolint:gosec // result calls it
	}
	return b
}

func (b *batch[In, Out]) key(in In) (key string) {
	if b.o.Key == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			key = ""
		}
	}()
	return b.o.Key(in)
}

// work returns when no worker is left.
func (b *batch[In, Out]) work() {
	b.mu.Lock()
	for range min(b.o.Concurrency, len(b.items)) {
		b.hire()
	}
	b.leave()
	b.mu.Unlock()
	select {
	case <-b.idle:
		return
	case <-b.ctx.Done():
	}
	late := time.NewTimer(b.grace)
	defer late.Stop()
	select {
	case <-b.idle:
	case <-late.C:
		b.giveUpAll()
		<-b.idle
	}
}

// hire starts a worker. It is called with the mutex.
func (b *batch[In, Out]) hire() {
	w := &worker{}
	b.workers[w] = struct{}{}
	go b.run(w)
}

// leave ends the batch when no worker is left. It is called with the mutex.
func (b *batch[In, Out]) leave() {
	if len(b.workers) == 0 {
		close(b.idle)
	}
}

func (b *batch[In, Out]) run(w *worker) {
	returned := false
	defer func() {
		if !returned { // the function, or a log handler, called runtime.Goexit
			go b.run(w)
		}
	}()
	var more bool
	if w.busy { // and was in a goroutine that has exited
		more = b.end(w, Failed, nil, errGoexit)
	} else {
		more = b.begin(w)
	}
	for more {
		status, value, err := b.call(w)
		more = b.end(w, status, &value, err)
	}
	returned = true
}

func (b *batch[In, Out]) begin(w *worker) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next(w)
}

// next gives a worker its next item. It reports false when there is none. It is called
// with the mutex.
func (b *batch[In, Out]) next(w *worker) bool {
	if b.begun == len(b.items) || b.stopped != "" || b.ctx.Err() != nil {
		delete(b.workers, w)
		b.leave()
		return false
	}
	w.index, w.busy = b.begun, true
	b.begun++
	return true
}

// call runs the functions of the user's for one item.
func (b *batch[In, Out]) call(w *worker) (status Status, value Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			status, err = Failed, classify.NewPanicError(p, 1)
		}
	}()
	in := b.items[w.index]
	ctx, limit := b.ctx, b.o.Timeout
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
		index := w.index
		late := time.AfterFunc(limit+grace, func() { b.giveUp(w, index, fault.Timeout(theItem, limit).Because(errStuck)) })
		defer late.Stop()
	}
	if skip := b.o.Advanced.Skip; skip != nil && skip(in) {
		return Skipped, value, nil
	}
	switch value, err = b.fn(ctx, in); {
	case err == nil:
		return Succeeded, value, nil
	case limit > 0 && ctx.Err() != nil && safe.Is(err, context.DeadlineExceeded):
		err = &endedError{err, fault.Timeout(theItem, limit)}
	}
	return Failed, value, err
}

// end takes the outcome of an item and begins the next one. It reports false when there is
// none, or when the worker was left behind meanwhile.
func (b *batch[In, Out]) end(w *worker, status Status, value *Out, err error) bool {
	interrupted := false
	if status == Failed {
		if over := b.ctx.Err(); over != nil && safe.Is(err, over) {
			interrupted, err = true, &endedError{err, b.over()}
		}
	}
	b.mu.Lock()
	w.busy = false
	if w.lost {
		b.stuck--
		b.mu.Unlock()
		return false
	}
	item := &b.outcomes[w.index]
	if value != nil {
		item.Value = *value
	}
	b.interrupted = b.interrupted || interrupted
	if status != Failed {
		item.Status = status
		b.finished++
	}
	if status != Failed && b.o.Advanced.Progress == nil { // with the mutex taken once an item
		defer b.mu.Unlock()
		return b.next(w)
	}
	b.mu.Unlock()
	if status == Failed {
		b.fail(item, err)
	}
	b.tell(false)
	return b.begin(w)
}

// fail makes a failed item, of which nobody else knows, of one for which the functions
// failed.
func (b *batch[In, Out]) fail(item *Item[Out], err error) {
	failed := failedItem{public: fault.Generic(fault.KindInternal)}
	defer func() { // also when a log handler calls runtime.Goexit
		b.mu.Lock()
		defer b.mu.Unlock()
		item.Status, item.Err, item.Recoverable, item.quote = Failed, failed.public, failed.again, failed.quote
		b.finished++
		b.failures++
		if limit := b.o.MaxFailures; limit > 0 && b.failures >= limit && b.stopped == "" {
			b.stopped = StoppedByFailures
		}
	}()
	failed = b.failed(item.Index, err)
}

var (
	errGoexit = errors.New("batch: the function called runtime.Goexit")
	errStuck  = errors.New("batch: the function did not return when its context ended, and was left behind")
)

// giveUp leaves a worker behind that still runs an item, and puts another one in its
// place unless too many were left behind.
func (b *batch[In, Out]) giveUp(w *worker, index int, err error) {
	b.mu.Lock()
	if !w.busy || w.lost || w.index != index {
		b.mu.Unlock()
		return
	}
	w.lost = true
	b.stuck++
	b.interrupted = b.interrupted || b.ctx.Err() != nil
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.workers, w)
		if b.stuck <= b.o.Concurrency {
			b.hire()
		}
		b.leave()
	}()
	defer b.tell(false)
	b.fail(&b.outcomes[index], err)
}

// over is the failure of an item that ran when the context of the batch ended.
func (b *batch[In, Out]) over() *fault.Error {
	if errors.Is(b.ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.KindTimeout, theItem+" had not finished when the time for the batch was over")
	}
	return fault.New(fault.KindCancelled, theItem+" had not finished when the batch was stopped").
		WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}) // unlike a call that was given up
}

// giveUpAll leaves behind what still runs a while after the context of the batch ended.
func (b *batch[In, Out]) giveUpAll() {
	err := b.over().Because(errStuck)
	b.mu.Lock()
	busy := make(map[*worker]int, len(b.workers))
	for w := range b.workers {
		busy[w] = w.index
	}
	b.mu.Unlock()
	for w, index := range busy {
		b.giveUp(w, index, err)
	}
}

// tell tells how far the batch is, unless somebody is about to.
func (b *batch[In, Out]) tell(end bool) {
	if b.o.Advanced.Progress == nil {
		return
	}
	if end {
		b.telling.Lock()
	} else if !b.telling.TryLock() {
		return
	}
	defer b.telling.Unlock()
	defer func() { _ = recover() }() // it must not cost the items that are done
	b.mu.Lock()
	p := Progress{Done: b.finished, Failed: b.failures, Total: len(b.items), End: end}
	b.mu.Unlock()
	b.o.Advanced.Progress(p)
}

// result ends the batch.
func (b *batch[In, Out]) result() *Result[Out] {
	over := b.ctx.Err()
	b.cancel()
	b.tell(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	items, send := b.items, b.o.Advanced.RetryItem
	r := &Result[Out]{Items: b.outcomes, failer: b.failer, keyName: b.o.KeyName, listName: "items", output: b.o.Output}
	r.send = func(i int) any {
		if send != nil {
			return send(items[i])
		}
		return items[i]
	}
	r.count()
	switch {
	case r.NotRun == 0 && !b.interrupted:
	case b.stopped != "":
		r.Stopped = b.stopped
	case safe.Is(over, context.DeadlineExceeded):
		r.Stopped = b.limit
	case over != nil:
		r.Stopped = StoppedByCancel
	default:
		r.Stopped = StoppedByStuck
	}
	return r
}
