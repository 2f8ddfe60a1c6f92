package batch

import (
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// A Result is what became of a batch. It is not changed once Run has returned it.
type Result[Out any] struct {
	// Total is the number of items, of a sequence of those that were read. It is the
	// sum of the other four.
	Total     int
	Succeeded int
	Failed    int
	Skipped   int // done already
	NotRun    int // not begun before the batch was stopped

	// Items are the outcomes in the order of the input; nil from [Stream].
	Items []Item[Out]

	// Stopped says why the batch did not run to its end, "" if it did.
	Stopped StopReason

	tally
	input   func(index int) any // the item itself
	send    func(index int) any // what a caller sends for it
	failer  *failer
	keyName string
	output  OutputOptions
}

// tally is what a result knows of the failures without keeping them. Its size is
// bounded.
type tally struct {
	byType      map[fault.Kind]int
	recoverable int
	resend      int     // recoverable ones that can be sent again as they are
	unsure      int     // those that may have taken effect
	wait        float64 // seconds, the longest that a recoverable one asks for
}

// maxKinds bounds the kinds that are told apart: a program may make up its own.
const maxKinds = 64

func (t *tally) add(kind fault.Kind, recoverable, unsure bool, wait float64) {
	if t.byType == nil {
		t.byType = make(map[fault.Kind]int)
	}
	if _, known := t.byType[kind]; !known && len(t.byType) >= maxKinds {
		kind = "other"
	}
	t.byType[kind]++
	if recoverable {
		t.recoverable++
		t.wait = max(t.wait, wait)
	}
	switch {
	case unsure:
		t.unsure++
	case recoverable:
		t.resend++
	}
}

// add counts an outcome.
func (r *Result[Out]) add(item *Item[Out]) {
	r.Total++
	switch item.Status {
	case Succeeded:
		r.Succeeded++
	case Skipped:
		r.Skipped++
	case NotRun:
		r.NotRun++
	case Failed:
		r.Failed++
		var wait float64
		if retry := item.Err.Data().Retry; retry != nil {
			wait = retry.RetryAfterSeconds
		}
		r.tally.add(item.Err.Kind(), item.Recoverable, item.check(), wait)
	}
}

// Success reports whether anything succeeded or was done already, or whether there was
// nothing to do.
func (r *Result[Out]) Success() bool { return r.Total == 0 || r.Succeeded+r.Skipped > 0 }

// SuccessRate returns the share of the items that succeeded or were done already, from
// 0 to 1; it is 1 when there were none.
func (r *Result[Out]) SuccessRate() float64 {
	if r.Total == 0 {
		return 1
	}
	return float64(r.Succeeded+r.Skipped) / float64(r.Total)
}

// Failures yields the items that failed, in the order of the input.
func (r *Result[Out]) Failures() iter.Seq[Item[Out]] {
	return func(yield func(Item[Out]) bool) {
		for i := range r.Items {
			if r.Items[i].Status == Failed && !yield(r.Items[i]) {
				return
			}
		}
	}
}

// Values returns the values of the items that succeeded, in the order of the input.
func (r *Result[Out]) Values() []Out {
	values := make([]Out, 0, r.Succeeded)
	for i := range r.Items {
		if r.Items[i].Status == Succeeded {
			values = append(values, r.Items[i].Value)
		}
	}
	return values
}

// RetryItems returns what is to be sent again, in the order of the input: the items
// that were not run, and those that failed in a way that may be over, without any of
// which it is not known whether they took effect. It is nil from [Stream].
func (r *Result[Out]) RetryItems() []any { return r.inputs((*Item[Out]).again, r.send) }

// CheckItems returns the items that failed, but may have taken effect nevertheless, such
// as a write that did not finish in time: what is to be checked before it is sent
// again. It is nil from [Stream].
func (r *Result[Out]) CheckItems() []any { return r.inputs((*Item[Out]).check, r.send) }

func (r *Result[Out]) inputs(which func(*Item[Out]) bool, as func(int) any) []any {
	var inputs []any
	for i := range r.Items {
		if which(&r.Items[i]) {
			inputs = append(inputs, as(i))
		}
	}
	return inputs
}

// RetryOf returns the items of which [Result.RetryItems] says what to send, for another
// Run. In is the type of the items that were run.
func RetryOf[In, Out any](r *Result[Out]) []In {
	var items []In
	for _, item := range r.inputs((*Item[Out]).again, r.input) {
		if in, ok := item.(In); ok {
			items = append(items, in)
		}
	}
	return items
}

// Wait returns how long to wait before anything is sent again: the longest time that a
// failure asks for, zero when none does.
func (r *Result[Out]) Wait() time.Duration {
	return time.Duration(min(r.wait, float64(1<<30)) * float64(time.Second))
}

// keep gives a result its items.
func keep[In, Out any](r *Result[Out], input func(int) In, send func(In) any) {
	r.input = func(i int) any { return input(i) }
	r.send = r.input
	if send != nil {
		r.send = func(i int) any { return send(input(i)) }
	}
}
