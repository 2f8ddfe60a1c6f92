package batch

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// What a worker is about: the low bits of its state. The others count its items, so that
// nobody gives up an item for another that ran before.
const (
	between uint64 = iota // two items
	pulling               // reading the next item, for as long as the sequence likes
	running               // an item
	givenUp               // nobody waits for it any longer
)

const (
	phase   = 3 // the bits of the above
	oneItem = 4
)

// A worker is a goroutine that runs one item after the other.
type worker[In, Out any] struct {
	e       *engine[In, Out]
	state   atomic.Uint64
	attempt atomic.Int32
	began   atomic.Int64 // the attempt, since the engine began
	items   uint64       // of the state; the worker's own
	index   int          // this and what follows is read by others only after they have given up the worker
	key     string
	in      In
}

func (w *worker[In, Out]) run() {
	for more := true; more; {
		more = w.some()
	}
	w.gone()
}

// gone counts a worker that is gone.
func (w *worker[In, Out]) gone() {
	if w.state.Load()&phase == givenUp {
		w.e.stuck.Add(-1)
	} else {
		w.e.leave()
	}
}

// enter begins a phase that somebody may give up.
func (w *worker[In, Out]) enter(phase uint64) { w.state.Store(w.items | phase) }

// left ends it, to be between two items, and reports false when somebody did.
func (w *worker[In, Out]) left(phase uint64) bool {
	return w.state.CompareAndSwap(w.items|phase, w.items)
}

// giveUp gives up what a state said that the worker is about.
func (w *worker[In, Out]) giveUp(state uint64) bool {
	return w.state.CompareAndSwap(state, givenUp)
}

// some runs items until there are none, or the batch is stopped, or an item panics. It
// reports whether to go on.
func (w *worker[In, Out]) some() (more bool) {
	returned := false
	defer func() { // one for many items, because it is not free
		if !returned {
			more = w.crashed(recover())
		}
	}()
	for going := true; going; {
		going = !w.e.stopped() && w.next() && w.one()
	}
	returned = true
	return false
}

// next gets an item.
func (w *worker[In, Out]) next() (ok bool) {
	e := w.e
	if e.pulling {
		w.enter(pulling)
	}
	w.index, w.in, ok = e.source.next()
	if e.pulling {
		if !w.left(pulling) {
			return false
		}
		if ok && e.stopped() { // read, but not begun
			w.key = e.safeKey(w.in)
			w.deliver(&Item[Out]{Index: w.index, Key: w.key})
			return false
		}
	}
	return ok
}

// one runs an item. It reports false when it was given up meanwhile.
func (w *worker[In, Out]) one() bool {
	e := w.e
	w.items += oneItem
	w.key = ""
	if e.o.Key != nil {
		w.key = e.o.Key(w.in)
	}
	var (
		value Out
		err   error
	)
	skip, attempts := false, 1
	if e.plain {
		w.enter(running)
		value, err = e.fn(e.ctx, w.in)
	} else {
		w.attempt.Store(0)
		w.alarm()
		w.enter(running)
		if skip = e.o.Skip != nil && e.o.Skip(w.in); !skip {
			value, err = w.try()
			attempts = int(w.attempt.Load())
		}
	}
	if !w.left(running) {
		return false
	}
	if err == nil && !skip && e.places != nil {
		// What most items do, without a copy.
		item := &e.places[w.index]
		item.Index, item.Key, item.Value, item.Attempts, item.Status = w.index, w.key, value, attempts, Succeeded
		e.done()
		return true
	}
	item := Item[Out]{Index: w.index, Key: w.key, Value: value, Attempts: attempts, Status: Succeeded}
	switch {
	case skip:
		item.Status, item.Attempts = Skipped, 0
		e.done()
	case err == nil:
		e.done()
	default:
		w.fail(&item, err)
	}
	w.deliver(&item)
	return true
}

// deliver puts an outcome where it belongs.
func (w *worker[In, Out]) deliver(item *Item[Out]) {
	if w.e.places != nil {
		w.e.places[item.Index] = *item
	} else {
		w.e.send <- outcome[In, Out]{w.in, *item}
	}
}

// done counts an item that did not fail.
func (e *engine[In, Out]) done() {
	if e.count {
		e.finished.Add(1)
		e.tell(false)
	}
}

func (w *worker[In, Out]) fail(item *Item[Out], err error) {
	e := w.e
	if e.ctx.Err() != nil && safe.Is(err, e.ctx.Err()) {
		e.interrupted.Store(true)
	}
	e.fail(item, err)
}

// crashed fails the item that panicked with p, or called runtime.Goexit when p is nil,
// which ends this goroutine.
func (w *worker[In, Out]) crashed(p any) (more bool) {
	e := w.e
	err := errGoexit
	if p != nil {
		err = e.panicked(p)
	}
	switch w.state.Load() & phase {
	case pulling: // the sequence, not an item
		if w.left(pulling) {
			e.broke(p)
		}
	case running:
		more = w.left(running)
	case between: // Key
		more = true
	}
	if more {
		item := Item[Out]{Index: w.index, Key: w.key, Attempts: max(1, int(w.attempt.Load()))}
		w.fail(&item, err)
		w.deliver(&item)
	}
	switch {
	case p != nil:
	case more:
		go w.run() // in the place of this goroutine
	default:
		w.gone()
	}
	return more
}

var errGoexit = errors.New("batch: the function called runtime.Goexit")

// try runs the function as often as is allowed and helps.
func (w *worker[In, Out]) try() (value Out, err error) {
	e := w.e
	for {
		attempt := w.attempt.Add(1)
		value, err = w.once()
		if err == nil || int(attempt) >= e.o.Attempts || e.ctx.Err() != nil {
			return value, err
		}
		wait, again := e.again(err, int(attempt), e.o.Retry)
		if !again || !w.wait(wait) {
			return value, err
		}
	}
}

func (w *worker[In, Out]) once() (Out, error) {
	e := w.e
	if e.o.Timeout == 0 {
		return e.fn(e.ctx, w.in)
	}
	ctx, cancel := context.WithTimeout(e.ctx, e.o.Timeout)
	defer cancel()
	w.alarm()
	value, err := e.fn(ctx, w.in)
	if err != nil && ctx.Err() != nil && e.ctx.Err() == nil && safe.Is(err, context.DeadlineExceeded) {
		err = &overdueError{err, e.o.Timeout}
	}
	return value, err
}

// alarm notes when the attempt began.
func (w *worker[In, Out]) alarm() {
	if w.e.o.Timeout > 0 {
		w.began.Store(int64(time.Since(w.e.began)))
	}
}

// wait waits before the next attempt, and reports false when the batch ended.
func (w *worker[In, Out]) wait(d time.Duration) bool {
	w.began.Store(int64(never)) // this takes as long as it takes
	if d <= 0 {
		runtime.Gosched()
		return w.e.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.e.ctx.Done():
		return false
	}
}

// never is longer than any batch, and can be added to.
const never = 1 << 62 * time.Nanosecond
