package batch

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	defaultConcurrency = 8
	defaultKeyName     = "key"
	defaultMaxBytes    = 64 << 10
	leastMaxBytes      = 1 << 10

	// maxConcurrency bounds the workers: each costs memory before it has an item.
	maxConcurrency = 1 << 16

	// minTimeout is the shortest limit that is not taken for a missing unit.
	minTimeout = time.Millisecond

	// maxTimeout is longer than any batch, and can be added to.
	maxTimeout = 1 << 61 * time.Nanosecond
)

// RunOptions configure [Run] for items of type In. The zero value, or nil, is the
// recommended default. The functions in it may be called concurrently.
type RunOptions[In any] struct {
	// Concurrency is how many items run at the same time. Zero means 8, which suits
	// work that waits for something else. 1 runs one after the other, in order. More
	// than 65536 counts as that.
	Concurrency int

	// Timeout limits one item. The context that the function gets ends then. A function
	// that goes on nevertheless is left behind a tenth of a second later: its item has
	// failed, what it returns later is dropped, and another goroutine takes its place.
	// Once as many are left behind as may run, none takes the place of a further one.
	// Zero means no limit.
	Timeout time.Duration

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

	// Advanced is what most batches leave as it is.
	Advanced Advanced[In]
}

// Advanced are the options of [Run] that few batches need. The zero value is the
// recommended default.
type Advanced[In any] struct {
	// Budget limits the whole batch. When it is used up the contexts of the items that
	// run end, and the rest is not run. Zero means no limit of its own: the batch ends
	// before the deadline of its context, if there is one, by a tenth of the time that
	// is left, at most a second, so that there is time for the answer.
	Budget time.Duration

	// Skip reports whether an item is done already and need not be run. An item for
	// which it panics has failed. Nil skips none.
	Skip func(In) bool

	// RetryItem returns what a caller has to send for an item, which is what the answer
	// lists to be sent again. Nil means the item itself, as JSON. Set it when items are
	// not what the caller sent.
	RetryItem func(In) any

	// Mode says which items the answer lists. Empty means [ModeAll].
	Mode Mode

	// MaxBytes bounds the text and the structured value of the answer, each. What does not
	// fit is left out: results first, then errors, then what to send again; the answer says
	// how many. Zero means 64 KiB, and 1 KiB is the least.
	MaxBytes int

	// ErrorWhenAnyFailed makes the answer an error when an item failed or was not run, and
	// not only when nothing succeeded.
	ErrorWhenAnyFailed bool
}

// A Mode says which items an answer lists.
type Mode string

// The modes. The counts, the summary of the errors and what to send again are in each.
const (
	ModeAll          Mode = "all"           // what became of every item; the default
	ModeFailuresOnly Mode = "failures_only" // the errors
	ModeSummary      Mode = "summary"       // nothing
)

// A mistake is one of a programmer in a field of options, with its fix.
type mistake struct {
	made       bool
	field, fix string
}

// check panics with the first mistake that was made; at is the package, the function and
// the field that the options came in.
func check(at string, mistakes ...mistake) {
	for _, m := range mistakes {
		if m.made {
			panic(at + "." + m.field + " " + m.fix)
		}
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
	more := &o.Advanced
	check(
		at,
		mistake{o.Concurrency < 0, "Concurrency", "is negative; give how many items may run at a time, or 0 for the default"},
		mistake{o.Timeout < 0, "Timeout", "is negative; give the limit of one item, or 0 for none"},
		mistake{o.Timeout > 0 && o.Timeout < minTimeout, "Timeout", tooShort(o.Timeout)},
		mistake{more.Budget < 0, "Advanced.Budget", "is negative; give the limit of the batch, or 0 for none"},
		mistake{more.Budget > 0 && more.Budget < minTimeout, "Advanced.Budget", tooShort(more.Budget)},
		mistake{more.Budget > 0 && o.Timeout > more.Budget, "Timeout", "is longer than Advanced.Budget, which ends every item before; give a shorter one, or 0 for none"},
		mistake{o.MaxFailures < 0, "MaxFailures", "is negative; give after how many failures to stop, or 0 for never"},
		mistake{o.KeyName != "" && o.Key == nil, "KeyName", fmt.Sprintf("is %q, but items of type %T have no keys; set Key too, or leave KeyName out", o.KeyName, *new(In))},
		mistake{reserved[o.KeyName], "KeyName", fmt.Sprintf("is %q, which the answer uses itself; choose another name", o.KeyName)},
		mistake{!slices.Contains([]Mode{"", ModeAll, ModeFailuresOnly, ModeSummary}, more.Mode), "Advanced.Mode", fmt.Sprintf("is %q; give one of all, failures_only, summary", more.Mode)},
		mistake{more.MaxBytes != 0 && more.MaxBytes < leastMaxBytes, "Advanced.MaxBytes", fmt.Sprintf("is %d; give at least %d, or 0 for the default", more.MaxBytes, leastMaxBytes)},
	)
	o.Concurrency = min(cmp.Or(o.Concurrency, defaultConcurrency), maxConcurrency)
	o.Timeout = min(o.Timeout, maxTimeout)
	o.KeyName = cmp.Or(o.KeyName, defaultKeyName)
	more.Mode = cmp.Or(more.Mode, ModeAll)
	more.MaxBytes = cmp.Or(more.MaxBytes, defaultMaxBytes)
	return o
}

func tooShort(limit time.Duration) string {
	return "is " + limit.String() + ", in which nothing finishes; give at least 1ms, or 0 for no limit"
}
