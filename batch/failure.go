package batch

import (
	"context"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A publishedError is the failure of an item that was a call of its own. That call has classified,
// masked and recorded it.
type publishedError struct {
	public *fault.Error
	quote  bool
	known  *failure.Failure // in the call of the item
}

func (e *publishedError) Error() string { return e.public.Error() }

// A failer turns an error of the function into what a caller may know of it. It treats each item as
// a call of its own, below the call that the batch is part of.
type failer struct {
	ctx    context.Context //nolint:containedctx // that of Run's caller; a failer lives no longer than it
	c      *call.Call
	part   int    // the number of this batch in its call, from 0
	prefix string // of the index of an item, in its reference
	items  []call.Item

	asked  sync.Once
	safety failure.Safety
}

func newFailer(ctx context.Context, items int) *failer {
	f := &failer{ctx: ctx, c: call.FromContext(ctx), items: make([]call.Item, items)}
	if f.c == nil {
		f.c = call.Alone(ctx, "batch", true) // the items of the result have the causes
	}
	if f.part = f.c.NextPart(); f.part > 0 {
		f.prefix = "b" + strconv.Itoa(f.part+1) + "."
	}
	return f
}

// begin makes the item a context below ctx. What the handler begins with that is noted for the item.
func (f *failer) begin(ctx context.Context, index int) {
	f.items[index].Context = ctx //nolint:fatcontext // one context an item, which is begun once
}

// failed classifies, masks and records the failure of an item. The retry member of the item's
// error, the lists of what to send again and what to check, and the suggestion follow from the
// result. If late is not nil, it replaces an error that was not worded for callers.
func (f *failer) failed(index int, err error, late *fault.Error) (how failed) {
	how.public = fault.Generic(fault.KindInternal) // the item has failed also if something panics
	defer safe.Survive()
	published, done := err.(*publishedError) //nolint:errorlint // a wrapped one is another error
	below := f.c.Below(f.ctx, f.prefix+strconv.Itoa(index), f.c.Request())
	below.Saw(&f.items[index])
	known := below.Judge(nil, err)
	if done {
		known, err = published.known, published.public
	}
	running := ""
	if safe.Is(err, errStuck) {
		running = "it is still running"
	}
	cut := running != ""
	if late != nil && known.View().Origin == classify.Classified {
		err, cut = late.Because(err), true
		known = below.Judge(nil, err)
	}
	answer := known.Again(failure.Situation{Safety: f.whatRepeats, Cut: cut, Running: running})
	retry := answer.Said()
	if answer.Retry.ShouldRetry && answer.Hint.Retry != fault.RetryYes {
		retry = nil // one more try is only for calls that are counted
	}
	if _, said := known.Fault().Retry(); retry != nil && !said && !retry.ShouldRetry && retry.Effect != fault.EffectUnknown && !retry.Partial {
		retry = nil // the item is not in retry_items, which says so already
	}
	if done {
		how.public, how.quote = published.public, published.quote
		if retry != nil && !known.Guided() { // else its own call has said it
			how.public = how.public.WithRetry(*retry)
		}
		return how
	}
	known.Guide(failure.Guidance{Retry: retry, Suggestion: known.Fault().Suggestion()})
	how.public, how.quote = publish(below, known, err)
	how.worded = known.Worded()
	return how
}

// failed is how an item failed.
type failed struct {
	public *fault.Error
	quote  bool // the text shows the reference, because the log has more
	worded bool // it was made for the caller to read
}

// publish records the failure of an item and returns what a caller may know of it.
func publish(below *call.Call, f *failure.Failure, err error) (public *fault.Error, quote bool) {
	below.LogFailure(nil, f)
	public, quote = below.Public(f)
	if _, own := err.(*fault.Error); !own { //nolint:errorlint // a fault has its cause in itself
		public = public.Because(err)
	}
	return public, quote
}

// whatRepeats returns whether a repetition of the call is safe. All items share one look-up.
func (f *failer) whatRepeats() failure.Safety {
	f.asked.Do(func() { // if the server's list panics, the tool writes
		safe.Call(func() { f.safety = f.c.Safety(nil) }, nil)
	})
	return f.safety
}
