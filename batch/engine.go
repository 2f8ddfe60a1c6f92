package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An engine runs one batch. The goroutine that called Run watches over the workers:
// it hands on outcomes where somebody takes them, and gives up items that are stuck.
type engine[In, Out any] struct {
	*failer
	o  *RunOptions[In]
	fn func(context.Context, In) (Out, error)

	ctx     context.Context //nolint:containedctx // for the function: ends with the batch, as the engine does
	cancel  context.CancelFunc
	limit   StopReason // why ctx ends when it does so by itself
	over    error      // with what ctx had ended when the batch had
	plain   bool       // an item is one call of the function, without limit or repetition
	count   bool       // somebody wants to know how many items have finished
	began   time.Time
	grace   time.Duration // for what runs when ctx ends
	pulling bool          // the source may block

	source source[In]
	total  int // items, or -1

	// Outcomes have a place, or are sent to the watching goroutine, which takes them.
	places []Item[Out]
	send   chan<- outcome[In, Out]
	take   func(In, *Item[Out])

	stopping    atomic.Uint32 // a stopCode
	failures    atomic.Int64
	finished    atomic.Int64
	interrupted atomic.Bool // an item ran when ctx ended

	workers []*worker[In, Out] // those that are not given up; of the watching goroutine
	live    atomic.Int64
	stuck   atomic.Int64
	idle    chan struct{} // closed when the last worker has left

	telling sync.Mutex
	broken  atomic.Pointer[brokenSource]
}

// brokenSource is what a sequence did instead of giving an item.
type brokenSource struct{ value any }

func newEngine[In, Out any](ctx context.Context, fn func(context.Context, In) (Out, error), o *RunOptions[In]) *engine[In, Out] {
	e := &engine[In, Out]{
		o: o, fn: fn, limit: StoppedByBudget, grace: grace, idle: make(chan struct{}),
		plain: o.Timeout == 0 && o.Attempts == 1 && o.Skip == nil,
	}
	e.failer = &failer{ctx: ctx, c: call.FromContext(ctx), idempotent: o.Idempotent}
	if e.c != nil {
		e.part = e.c.Part()
		if o.Progress == nil && e.part == 0 { // what a client is told must increase, so only one batch can tell
			o.Progress = Notify(ctx, e.c.Request())
		}
	}
	e.count = o.MaxFailureRate > 0 || o.Progress != nil
	left, limited := o.Budget, o.Budget > 0
	if deadline, ok := ctx.Deadline(); ok {
		until := time.Until(deadline)
		reserve := min(until/10, maxReserve)
		until -= reserve
		e.grace = max(time.Millisecond, min(grace, reserve/2))
		if !limited || until < left {
			left, limited, e.limit = until, true, StoppedByDeadline
		}
	}
	if limited {
		e.ctx, e.cancel = context.WithTimeout(ctx, left) //nolint:gosec // run calls it
	} else {
		e.ctx, e.cancel = context.WithCancel(ctx) //nolint:gosec // run calls it
	}
	return e
}

// run runs the batch with n workers.
func (e *engine[In, Out]) run(n int, outcomes <-chan outcome[In, Out]) {
	defer func() {
		e.over = e.ctx.Err()
		e.cancel()
		e.source.close()
	}()
	_, e.pulling = e.source.(*sequence[In])
	if n == 0 || e.ctx.Err() != nil {
		e.tell(true)
		return
	}
	if e.o.Timeout > 0 {
		e.began = time.Now()
	}
	e.live.Store(int64(n))
	e.workers = make([]*worker[In, Out], n)
	for i := range e.workers {
		e.workers[i] = &worker[In, Out]{e: e}
		go e.workers[i].run()
	}
	watched := false
	defer func() {
		if !watched { // yield panicked
			e.stop(stopYield)
			e.take = func(In, *Item[Out]) {}
			e.watch(outcomes)
		}
	}()
	e.watch(outcomes)
	watched = true
	if b := e.broken.Load(); b != nil {
		panic(b.value)
	}
	e.tell(true)
}

// watch returns when there is nobody left who works.
func (e *engine[In, Out]) watch(outcomes <-chan outcome[In, Out]) {
	ended := e.ctx.Done()
	var alarm <-chan time.Time
	if e.o.Timeout > 0 {
		alarm = time.After(e.o.Timeout + grace)
	}
	var o outcome[In, Out]
	for {
		select {
		case <-e.idle:
			for len(outcomes) > 0 {
				o = <-outcomes
				e.take(o.in, &o.item)
			}
			return
		case o = <-outcomes:
			e.take(o.in, &o.item)
		case <-ended:
			ended = nil
			e.source.close()
			alarm = time.After(e.grace)
		case <-alarm:
			alarm = time.After(e.giveUp())
		}
	}
}

// broke stops the batch because its sequence panicked with p, or called runtime.Goexit
// when p is nil. The goroutine that called Run goes on with the panic.
func (e *engine[In, Out]) broke(p any) {
	if p == nil {
		p = "batch: the sequence of the items called runtime.Goexit"
	}
	e.broken.Store(&brokenSource{value: p})
	e.stop(stopBroken)
}

// stop lets nobody begin another item.
func (e *engine[In, Out]) stop(code stopCode) {
	e.stopping.CompareAndSwap(0, uint32(code))
	if code == stopYield {
		e.stopping.Store(uint32(code))
		e.cancel()
	}
}

func (e *engine[In, Out]) stopped() bool { return e.stopping.Load() != 0 || e.ctx.Err() != nil }

// fail makes a failed item of one for which the function failed.
func (e *engine[In, Out]) fail(item *Item[Out], err error) {
	item.Status = Failed
	item.Err, item.Recoverable, item.mark = e.failed(item.Index, err)
	if e.count {
		e.finished.Add(1) // first, so that never more have failed than have finished
	}
	failures := e.failures.Add(1)
	if limit := e.o.MaxFailures; limit > 0 && failures >= int64(limit) {
		e.stop(stopFailures)
	}
	if rate, n := e.o.MaxFailureRate, e.finished.Load(); rate > 0 && n >= minForRate && float64(failures) > rate*float64(n) {
		e.stop(stopRate)
	}
	e.tell(false)
}

// tell tells how far the batch is, unless somebody is about to.
func (e *engine[In, Out]) tell(end bool) {
	if e.o.Progress == nil {
		return
	}
	if end {
		e.telling.Lock()
	} else if !e.telling.TryLock() {
		return
	}
	defer e.telling.Unlock()
	defer func() { _ = recover() }() // it must not cost the items that are done
	failed := e.failures.Load()      // before what has finished, which is counted first
	e.o.Progress(Progress{Done: int(e.finished.Load()), Failed: int(failed), Total: e.total, End: end})
}

func (e *engine[In, Out]) safeKey(in In) (key string) {
	if e.o.Key == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			key = ""
		}
	}()
	return e.o.Key(in)
}

// result returns the result to which outcomes are added.
func (e *engine[In, Out]) result() *Result[Out] {
	return &Result[Out]{failer: e.failer, keyName: e.o.KeyName, output: e.o.Output}
}

// ended says in the result why the batch did not run to its end, if it did not.
func (e *engine[In, Out]) ended(r *Result[Out]) {
	code := stopCode(e.stopping.Load())
	switch {
	case e.source.exhausted() && r.NotRun == 0 && !e.interrupted.Load():
	case code != 0:
		r.Stopped = stopReasons[code]
	case safe.Is(e.over, context.DeadlineExceeded):
		r.Stopped = e.limit
	case e.over != nil:
		r.Stopped = StoppedByCancel
	default:
		r.Stopped = StoppedByStuck
	}
}
