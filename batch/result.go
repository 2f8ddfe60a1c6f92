package batch

import (
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// A Status says what became of an item.
type Status uint8

// The zero Status is that of an item that was not run.
const (
	NotRun    Status = iota // the batch was stopped before
	Succeeded               // the function returned a value
	Failed                  // it returned an error, panicked, or was left behind
	Skipped                 // it was done already
)

// String returns the status as it stands in an answer.
func (s Status) String() string {
	if s > Skipped {
		return "unknown"
	}
	return [...]string{"not_run", "succeeded", "failed", "skipped"}[s]
}

// An Item is the outcome of one item.
type Item[Out any] struct {
	// Index is the item's place in the input, from 0.
	Index int

	// Key is the item's own key, "" if it has none. See [RunOptions].
	Key string

	// Value is what the function returned, also when it returned an error too.
	Value Out

	// Err is what a caller may know of the failure, with its reference; nil unless the
	// item failed. Its cause, which is never sent, is the error of the function.
	Err *fault.Error

	Status Status

	// Recoverable reports whether the item failed in a way that may be over when it is
	// sent again as it is. It equals what Err says in its [fault.Retry].
	Recoverable bool

	quote bool // the text shows the reference of the failure
}

func (i *Item[Out]) fail(f failure) {
	i.Status, i.Err, i.Recoverable, i.quote = Failed, f.public, f.again, f.quote
}

// again reports whether the item can be sent again as it is.
func (i *Item[Out]) again() bool { return i.Status == NotRun || i.Status == Failed && i.Recoverable }

// check reports whether the item failed but may have taken effect, so that somebody has
// to look before it is sent again.
func (i *Item[Out]) check() bool {
	if i.Status != Failed || i.Recoverable {
		return false
	}
	retry, _ := i.Err.Retry()
	return retry.Effect == fault.EffectUnknown
}

// A StopReason says why a batch did not run to its end.
type StopReason string

// The reasons, as they stand in an answer.
const (
	StoppedByFailures StopReason = "failures"  // RunOptions.MaxFailures
	StoppedByBudget   StopReason = "budget"    // Advanced.Budget
	StoppedByDeadline StopReason = "deadline"  // the context's
	StoppedByCancel   StopReason = "cancelled" // the context was cancelled
	StoppedByStuck    StopReason = "stuck"     // too many items did not return in time
)

// text says the reason in words.
func (s StopReason) text() string {
	switch s {
	case StoppedByFailures:
		return "too many items failed"
	case StoppedByCancel:
		return "it was cancelled"
	case StoppedByStuck:
		return "too many items did not finish in time"
	default:
		return "the time for it was over"
	}
}

// A Result is what became of a batch. It is not changed once Run has returned it.
type Result[Out any] struct {
	// Total is the number of items. It is the sum of the other four.
	Total     int
	Succeeded int
	Failed    int
	Skipped   int // done already
	NotRun    int // not begun before the batch was stopped

	// Items are the outcomes in the order of the input.
	Items []Item[Out]

	// Stopped says why the batch did not run to its end, "" if it did.
	Stopped StopReason

	byType      map[fault.Kind]int
	recoverable int
	unsure      int
	wait        float64 // seconds, the longest that a recoverable failure asks for

	send     func(index int) any // what a caller sends for an item
	failer   *failer
	keyName  string
	listName string // of the list, for items without a key
	output   OutputOptions
}

// maxKinds bounds the kinds that are told apart: a program may make up its own.
const maxKinds = 64

// count counts the outcomes anew.
func (r *Result[Out]) count() {
	r.Total, r.Succeeded, r.Failed, r.Skipped, r.NotRun = len(r.Items), 0, 0, 0, 0
	r.byType, r.recoverable, r.unsure, r.wait = nil, 0, 0, 0
	for i := range r.Items {
		item := &r.Items[i]
		switch item.Status {
		case Succeeded:
			r.Succeeded++
		case Skipped:
			r.Skipped++
		case NotRun:
			r.NotRun++
		case Failed:
			r.Failed++
			r.countFailure(item)
		}
	}
}

func (r *Result[Out]) countFailure(item *Item[Out]) {
	if r.byType == nil {
		r.byType = make(map[fault.Kind]int)
	}
	kind := item.Err.Kind()
	if _, known := r.byType[kind]; !known && len(r.byType) >= maxKinds {
		kind = "other"
	}
	r.byType[kind]++
	switch retry, _ := item.Err.Retry(); {
	case item.Recoverable:
		r.recoverable++
		r.wait = max(r.wait, retry.RetryAfterSeconds)
	case item.check():
		r.unsure++
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
// which it is not known whether they took effect.
func (r *Result[Out]) RetryItems() []any { return r.sent((*Item[Out]).again) }

// CheckItems returns the items that failed, but may have taken effect nevertheless, such
// as a write that did not finish in time: what is to be checked before it is sent
// again.
func (r *Result[Out]) CheckItems() []any { return r.sent((*Item[Out]).check) }

func (r *Result[Out]) sent(which func(*Item[Out]) bool) (items []any) {
	for i := range r.Items {
		if which(&r.Items[i]) {
			items = append(items, r.send(i))
		}
	}
	return items
}

// Wait returns how long to wait before anything is sent again: the longest time that a
// failure asks for, zero when none does.
func (r *Result[Out]) Wait() time.Duration {
	return time.Duration(min(r.wait, float64(1<<30)) * float64(time.Second))
}
