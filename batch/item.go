package batch

import (
	"github.com/mcpchain/mcpchain/fault"
)

// A Status says what became of an item.
type Status uint8

// The zero Status is that of an item that was not run.
const (
	NotRun    Status = iota // the batch was stopped before
	Succeeded               // the function returned a value
	Failed                  // it returned an error, panicked, or was given up
	Skipped                 // it was done already
)

// String returns the status as it stands in an answer.
func (s Status) String() string {
	switch s {
	case NotRun:
		return "not_run"
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	case Skipped:
		return "skipped"
	default:
		return "unknown"
	}
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

	// Attempts is how often the function was run.
	Attempts int

	Status Status

	// Recoverable reports whether the item failed in a way that may be over when it is
	// sent again.
	Recoverable bool

	mark
}

// mark is what is known about a failure beside its public form.
type mark struct {
	unsure bool // it may have taken effect: to be checked before it is sent again
	quote  bool // nobody worded it, so that the text shows its reference
}

// again reports whether the item can be sent again as it is.
func (i *Item[Out]) again() bool {
	return i.Status == NotRun || i.Status == Failed && i.Recoverable && !i.unsure
}

// check reports whether somebody has to find out whether the item took effect before it
// is sent again, also when it would not help now: it may be at work still.
func (i *Item[Out]) check() bool { return i.Status == Failed && i.unsure }
