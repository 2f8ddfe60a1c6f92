package batch

import (
	"context"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/middleware"
)

// theItem is what failures of ours call the item; its key stands beside it.
const theItem = "the item"

// An endedError is the failure of an item that ended with its context: told says so,
// unless somebody worded the error.
type endedError struct {
	error
	told *fault.Error
}

func (e *endedError) Unwrap() error { return e.error }

// A settledError is classified, masked and recorded already: an item that was a call of
// its own.
type settledError struct {
	public *fault.Error
	quote  bool // see Item.quote
}

func (e *settledError) Error() string { return e.public.Error() }

func (e *settledError) Unwrap() error { return e.public }

// A failedItem is what a caller may know of the failure of an item.
type failedItem struct {
	public *fault.Error
	again  bool // it can be sent again as it is
	quote  bool // nobody worded it, so that the text shows its reference
}

// A failer makes of an error of the function what a caller may know of it.
type failer struct {
	ctx        context.Context //nolint:containedctx // of the batch's caller; a failer lives as long
	c          *call.Call
	idempotent bool
	part       int // of the call: which batch of it this is, from 0

	asked  sync.Once
	safety classify.Safety
}

// failed classifies, masks and records the failure of an item, as a call of its own
// below the one that the batch is part of. What it says of sending the item again is
// what the retry member of its error, the lists of what to send again and what to
// check, and the suggestion follow from.
func (f *failer) failed(index int, err error) (item failedItem) {
	item.public = fault.Generic(fault.KindInternal)
	defer func() { _ = recover() }() // untrusted code; the item has failed in any case
	var retry fault.Retry
	switch s, settled := err.(*settledError); { //nolint:errorlint // a wrapped one is another error
	case settled:
		item.public, item.quote, retry = s.public, s.quote, f.outside(s.public)
	case f.c == nil:
		item.public = middleware.Classify(err)
		if e, ok := err.(*endedError); ok && classify.Of(err, classify.Options{}).Origin == classify.Classified { //nolint:errorlint // nobody wraps it
			item.public = e.told.Because(e.error)
			err = item.public
		}
		retry = f.outside(err)
	default:
		item.public, item.quote, retry = f.inside(index, err)
	}
	if _, said := item.public.Retry(); said || retry.ShouldRetry || retry.Effect == fault.EffectUnknown {
		item.public, item.again = item.public.WithRetry(retry), retry.ShouldRetry
	}
	return item
}

// outside advises about an error that no call knows.
func (f *failer) outside(err error) fault.Retry {
	found := classify.Of(err, classify.Options{})
	hint := found.Hint(err, nil)
	return f.advice(func(s classify.Safety) fault.Retry { return found.Advise(hint, s) })
}

// inside lets the call's own settings make the public form, and writes the record that
// its reference leads to.
func (f *failer) inside(index int, err error) (public *fault.Error, quote bool, retry fault.Retry) {
	below := f.c.Below(f.ctx, f.name(index), f.c.Request())
	failure := below.Failure(nil, err)
	if e, ok := err.(*endedError); ok && failure.Classified() { //nolint:errorlint // nobody wraps it
		err = e.told.Because(e.error)
		failure = below.Failure(nil, err)
	}
	public, quote = settle(below, nil, err)
	if _, own := err.(*fault.Error); !own { //nolint:errorlint // a fault has its cause in itself
		public = public.Because(err)
	}
	return public, quote, f.advice(failure.Advise)
}

// advice asks what a repetition of the call can do only where that matters.
func (f *failer) advice(advise func(classify.Safety) fault.Retry) fault.Retry {
	retry := advise(classify.Writes)
	if retry.Effect == "" || retry.Effect == fault.EffectCommitted {
		return retry
	}
	f.asked.Do(func() {
		switch {
		case f.idempotent:
			f.safety = classify.Idempotent
		case f.c != nil:
			f.safety = f.c.Safety(nil)
		}
	})
	return advise(f.safety)
}

// settle records the failure of an item that was a call below that of the batch, and
// returns what a caller may know of it.
func settle(below *call.Call, res mcp.Result, err error) (public *fault.Error, quote bool) {
	failure := below.Failure(res, err)
	if below.Recorded() {
		below.Log(nil, call.Record{Result: res, Err: err})
	}
	public, failed := middleware.FaultOf(below.Finish(res, err))
	if !failed {
		public = fault.Generic(fault.KindInternal) // cannot be
	}
	return public, !failure.Worded()
}

// name is what is added to the reference of the call for that of an item.
func (f *failer) name(index int) string {
	if f.part == 0 {
		return strconv.Itoa(index)
	}
	return "b" + strconv.Itoa(f.part+1) + "." + strconv.Itoa(index)
}
