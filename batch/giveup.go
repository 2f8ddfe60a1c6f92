package batch

import (
	"context"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// giveUp gives up what is stuck, and returns when to look again.
func (e *engine[In, Out]) giveUp() time.Duration {
	over := e.ctx.Err() != nil
	next := e.grace
	if !over {
		next = e.o.Timeout + grace
	}
	for i, w := range e.workers {
		if w == nil {
			continue
		}
		switch state := w.state.Load(); {
		case over && state&phase == pulling:
			if w.giveUp(state) {
				e.lose(i, false)
			}
		case over && state&phase == running:
			if w.giveUp(state) {
				e.abandon(i, e.overdue(), false)
			}
		case state&phase == running:
			left := time.Duration(w.began.Load()) + e.o.Timeout + grace - time.Since(e.began)
			if left > 0 {
				next = min(next, left)
			} else if w.giveUp(state) {
				e.abandon(i, fault.Timeout(theItem, e.o.Timeout).Because(errStuck), true)
			}
		}
	}
	return max(next, time.Millisecond)
}

var errStuck = errors.New("batch: the function did not return when its context ended, and was left behind")

// overdue is the failure of an item that still runs a while after the batch ended.
func (e *engine[In, Out]) overdue() error {
	if errors.Is(e.ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.KindTimeout, theItem+" had not finished when the time for the batch was over").Because(errStuck)
	}
	return fault.New(fault.KindCancelled, theItem+" had not finished when the batch was stopped").Because(errStuck)
}

// abandon fails the item of a worker that is given up.
func (e *engine[In, Out]) abandon(i int, err error, replace bool) {
	w := e.workers[i]
	item := Item[Out]{Index: w.index, Key: w.key, Attempts: max(1, int(w.attempt.Load()))}
	in := w.in
	if e.ctx.Err() != nil {
		e.interrupted.Store(true)
	}
	e.fail(&item, err)
	e.lose(i, replace) // before somebody can panic
	if e.places != nil {
		e.places[item.Index] = item
	} else {
		e.take(in, &item)
	}
}

// lose takes a worker out of the count, and puts another in its place if there are not
// too many lost already.
func (e *engine[In, Out]) lose(i int, replace bool) {
	e.workers[i] = nil
	if e.stuck.Add(1) <= int64(e.o.Concurrency) && replace {
		e.workers[i] = &worker[In, Out]{e: e}
		go e.workers[i].run()
		return
	}
	e.leave()
}

func (e *engine[In, Out]) leave() {
	if e.live.Add(-1) == 0 {
		close(e.idle)
	}
}
