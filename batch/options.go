package batch

import (
	"cmp"
	"fmt"
	"time"
)

const (
	defaultConcurrency = 8
	defaultKeyName     = "key"
	defaultMaxBytes    = 64 << 10
	leastMaxBytes      = 1 << 10

	// minLimit is the shortest limit that is not taken for a missing unit.
	minLimit = time.Millisecond
)

// RunOptions configure [Run] for items of type In. The zero value, or nil, is the
// recommended default. The functions in it may be called concurrently.
type RunOptions[In any] struct {
	// Concurrency is how many items run at the same time. Zero means 8, which suits
	// work that waits for something else. 1 runs one after the other, in order.
	Concurrency int

	// Limit is how long one item may take. The context that the function gets ends then. A function
	// that goes on nevertheless is left behind a tenth of a second later: its item has failed, what
	// the function returns later is dropped, and another goroutine takes its place. If more
	// functions than Concurrency are left behind, the further ones are not replaced. Zero and
	// negative values mean no limit. Run panics if it is positive and below one millisecond.
	Limit time.Duration

	// MaxFailures stops the batch when that many items have failed; 1 stops it at the
	// first failure. Items that run are finished, and the rest is not run. Zero means
	// no limit.
	MaxFailures int

	// Key returns an item's own key, such as the name of a file, by which the answer
	// names it beside its index. Keys need not be unique. The structured answer has
	// them as they are. An item for which it panics has no key. Nil means that items
	// of type string are their own keys and others have none.
	Key func(In) string

	// KeyName is what a key is called in the answer, such as "file". Empty means "key".
	KeyName string

	// MaxBytes bounds the text and the structured value of the answer, each. What does not fit is
	// left out, and the answer says how many items of which list. Zero means 64 KiB, and 1 KiB is
	// the least.
	MaxBytes int
}

// refuse panics with the programmer's mistake if made is true. at names the package, the function
// and the field of the options.
func refuse(made bool, at, mistake string) {
	if made {
		panic(at + "." + mistake)
	}
}

// resolved returns a copy of opts with the defaults filled in. A mistake panics.
func resolved[In any](at string, opts *RunOptions[In]) RunOptions[In] {
	var o RunOptions[In]
	if opts != nil {
		o = *opts
	}
	if o.Key == nil {
		o.Key, _ = any(func(in string) string { return in }).(func(In) string)
	}
	refuse(o.Concurrency < 0, at, "Concurrency is negative; give how many items may run at a time, or 0 for the default")
	refuse(o.Limit > 0 && o.Limit < minLimit, at, "Limit is "+o.Limit.String()+", in which nothing finishes; give at least 1ms, or 0 for no limit")
	refuse(o.MaxFailures < 0, at, "MaxFailures is negative; give after how many failures to stop, or 0 for never")
	refuse(o.KeyName != "" && o.Key == nil, at,
		fmt.Sprintf("KeyName is %q, but items of type %T have no keys; set Key too, or leave KeyName out", o.KeyName, *new(In)))
	refuse(reserved[o.KeyName], at, fmt.Sprintf("KeyName is %q, which the answer uses itself; choose another name", o.KeyName))
	refuse(o.MaxBytes != 0 && o.MaxBytes < leastMaxBytes, at,
		fmt.Sprintf("MaxBytes is %d; give at least %d, or 0 for the default", o.MaxBytes, leastMaxBytes))
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency)
	o.Limit = max(0, o.Limit)
	o.KeyName = cmp.Or(o.KeyName, defaultKeyName)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	return o
}
