package batch

import (
	"fmt"
	"time"
)

const (
	defaultConcurrency = 8
	defaultKeyName     = "key"

	// minForRate is how many items must have finished before their failure rate says
	// anything.
	minForRate = 10

	// grace is how long a function that was told to stop has for returning, before its
	// item is given up.
	grace = 100 * time.Millisecond

	// maxReserve is the most of a deadline that is kept for the answer.
	maxReserve = time.Second

	// maxConcurrency is how many workers there are at most: each costs memory before
	// it has an item.
	maxConcurrency = 1 << 16

	// maxTimeout is no limit for anybody, and can be added to.
	maxTimeout = 1 << 61 * time.Nanosecond
)

// RunOptions configure [Run], [RunSeq] and [Stream] for items of type In. The zero
// value, or nil, is the recommended default. The functions in it may be called
// concurrently; one that panics fails its item.
type RunOptions[In any] struct {
	// Concurrency is how many items are worked on at the same time. Zero means 8,
	// which suits work that waits for something else; 1 runs one after the other, in
	// order; more than 65536 counts as that.
	Concurrency int

	// Timeout limits one attempt at one item. The context that the function gets ends
	// then; one that goes on nevertheless is given up a tenth of a second later: its
	// item has failed, what it returns later is dropped, and another goroutine takes
	// its place. When as many are stuck at a time as may run, there is no further
	// replacement. Zero means no limit.
	Timeout time.Duration

	// Budget limits the whole batch. When it is used up the contexts of the items that
	// run end, and the rest is not run. Zero means no limit of its own: the batch ends
	// before the deadline of its context, if there is one, by a tenth of the time that
	// is left, at most a second, so that there is time for the answer.
	Budget time.Duration

	// MaxFailures stops the batch when that many items have failed; 1 stops it at the
	// first failure. Items that run are finished, and the rest is not run. Zero means
	// no limit.
	MaxFailures int

	// MaxFailureRate, from 0 to 1, stops the batch in the same way when more than this
	// share of the items that have finished failed, once ten have. Zero means no limit.
	MaxFailureRate float64

	// Attempts is how often an item is tried, the first time included. Zero means
	// once. An item is tried again when Retry says so.
	Attempts int

	// Retry says whether an item that failed with err is tried again after the
	// attempt, which is counted from 1, and how long to wait before that. Nil means: as
	// the error itself says, and otherwise when the failure is of a temporary kind,
	// unless it may have taken effect and is not known to be Idempotent; after the time
	// that the error asks for, or an increasing time up to 5 s. A panic is never tried
	// again, and neither is an item that would have to wait longer than 30 s.
	Retry func(err error, attempt int) (wait time.Duration, again bool)

	// Idempotent says that running the function twice with an item does no harm, so
	// that items of which it is not known whether they took effect (a timeout) are
	// among those to be sent again. A tool whose annotations say that it is read-only
	// or idempotent needs not set it.
	Idempotent bool

	// Key returns an item's own key, such as the name of a file, by which the answer
	// names it beside its index. Keys need not be unique. It is shown to the caller as
	// it is. Nil means that items of type string are their own keys and others have
	// none.
	Key func(In) string

	// KeyName is what a key is called in the answer's list of errors, such as "file".
	// Empty means "key".
	KeyName string

	// RetryItem returns what a caller has to send for an item, which is what the answer
	// lists to be sent again. Nil means the item itself, as JSON; give one when items are
	// not what the caller sent.
	RetryItem func(In) any

	// Skip reports whether an item is done already and need not be run. Nil skips none.
	Skip func(In) bool

	// Progress is called while items finish, never twice at the same time, and once at
	// the end. Calls in between are left out when one has not returned yet; it delays
	// the item that called it. Nil means [Notify] where Run is called with the context
	// of a call that passes mcpchain's middlewares, for the first batch of the call.
	Progress func(Progress)

	// Output says what [Result.Output] and [Result.ToolResult] make of the result.
	Output OutputOptions
}

// Progress is how far a batch is.
type Progress struct {
	Done   int  // items that have finished: succeeded, failed or skipped
	Failed int  // those of them that failed
	Total  int  // all items, or -1 when it is not known how many there are
	End    bool // the batch has ended: there is no further call
}

// resolved returns a copy of opts with the defaults filled in. A mistake panics.
func resolved[In any](function string, opts *RunOptions[In]) RunOptions[In] {
	var o RunOptions[In]
	if opts != nil {
		o = *opts
	}
	wrong := func(field, what string) {
		panic(fmt.Sprintf("batch.%s: RunOptions.%s is %s", function, field, what))
	}
	switch {
	case o.Concurrency < 0:
		wrong("Concurrency", "negative; give how many items may run at a time, or 0 for the default")
	case o.Timeout < 0:
		wrong("Timeout", "negative; give the limit of one item, or 0 for none")
	case o.Budget < 0:
		wrong("Budget", "negative; give the limit of the batch, or 0 for none")
	case o.MaxFailures < 0:
		wrong("MaxFailures", "negative; give after how many failures to stop, or 0 for never")
	case !(o.MaxFailureRate >= 0 && o.MaxFailureRate <= 1):
		wrong("MaxFailureRate", "not between 0 and 1; give the share of failures after which to stop, or 0 for never")
	case o.Attempts < 0:
		wrong("Attempts", "negative; give how often to try an item, or 0 for once")
	case reserved[o.KeyName]:
		wrong("KeyName", "\""+o.KeyName+"\", which the answer uses itself; choose another name")
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	o.Concurrency = min(o.Concurrency, maxConcurrency)
	o.Timeout = min(o.Timeout, maxTimeout)
	o.Attempts = max(1, o.Attempts)
	if o.KeyName == "" {
		o.KeyName = defaultKeyName
	}
	if o.Key == nil {
		o.Key = ownKey[In]()
	}
	o.Output = o.Output.resolved(function)
	return o
}

// ownKey returns the key of items that are strings, nil for others.
func ownKey[In any]() func(In) string {
	if key, ok := any(func(in string) string { return in }).(func(In) string); ok {
		return key
	}
	return nil
}
