package batch

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/middleware"
)

// theItem is what failures of ours call the item; its key stands beside it.
const theItem = "the item"

// overdueError is the failure of an item that ran into its limit.
type overdueError struct {
	error
	limit time.Duration
}

func (e *overdueError) Unwrap() error { return e.error }

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

	annotated struct {
		sync.Once
		harmless bool
	}
}

// failed classifies, masks and records the failure of an item, as a call of its own
// below the one that the batch is part of.
func (f *failer) failed(index int, err error) (item failedItem) {
	item.public = fault.Generic(fault.KindInternal)
	defer func() { _ = recover() }() // untrusted code; the item has failed in any case
	var hint classify.Hint
	if s, ok := err.(*settledError); ok { //nolint:errorlint // a wrapped one is another error
		item.public, item.quote, hint = s.public, s.quote, classify.HintOf(err)
	} else {
		item.public, item.quote, hint = f.public(index, err)
	}
	if retry, known := f.advice(hint, item.public); known {
		item.public, item.again = item.public.WithRetry(retry), retry.ShouldRetry
	}
	return item
}

// advice is the one place that decides what is said of sending an item again. The retry
// member of its error, the lists of what to send again and what to check, and the
// suggestion follow from it. It reports false when nothing is known.
func (f *failer) advice(hint classify.Hint, public *fault.Error) (retry fault.Retry, known bool) {
	retry, said := public.Retry()
	if !said {
		retry = fault.Retry{ShouldRetry: hint.Retry == classify.RetryYes, RetryAfterSeconds: hint.After.Seconds(), Effect: hint.Effect}
		switch kind := public.Kind(); {
		case kind == fault.KindCancelled: // by the end of the batch
			retry = fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}
		case !retry.ShouldRetry, retry.Effect != "":
		case kind == fault.KindServiceUnavailable:
			retry.Effect = fault.EffectNone // it refused
		default:
			retry.Effect = fault.EffectUnknown
		}
	}
	switch {
	case retry.Effect == fault.EffectCommitted:
		retry.ShouldRetry = false
	case retry.Effect == fault.EffectUnknown && f.harmless():
		retry.Effect = ""
	case retry.Effect == fault.EffectUnknown:
		retry.ShouldRetry, retry.RetryAfterSeconds = false, 0
	}
	return retry, said || retry.ShouldRetry || retry.Effect == fault.EffectUnknown
}

// public lets the call's own settings make the public form, and writes the record that
// its reference leads to.
func (f *failer) public(index int, err error) (_ *fault.Error, quote bool, _ classify.Hint) {
	if f.c == nil {
		public := middleware.Classify(err)
		if told := overdue(err, public); told != nil {
			err, public = told, told
		}
		return public, false, classify.HintOf(err)
	}
	below := f.c.Below(f.ctx, f.name(index), f.c.Request())
	if told := overdue(err, below.Failure(nil, err).Fault()); told != nil {
		err = told
	}
	hint := below.Failure(nil, err).Hint()
	public, quote := settle(below, nil, err)
	if _, own := err.(*fault.Error); !own { //nolint:errorlint // a fault has its cause in itself
		public = public.Because(err)
	}
	return public, quote, hint
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

// overdue returns the failure of an item that ran into its limit, with the limit; nil
// when it is not one, or when somebody worded it.
func overdue(err error, public *fault.Error) *fault.Error {
	late, ok := err.(*overdueError) //nolint:errorlint // nobody wraps it, and an unknown type's As may panic
	if !ok || public.Message() != fault.Generic(fault.KindTimeout).Message() {
		return nil
	}
	return fault.Timeout(theItem, late.limit).Because(late.error)
}

// harmless reports whether running an item twice does no harm: the program says so, or
// the annotations of the tool that is called. They are read when they are needed.
func (f *failer) harmless() bool {
	if f.idempotent || f.c == nil || f.c.Method() != middleware.MethodCallTool {
		return f.idempotent
	}
	f.annotated.Do(func() {
		tool, err := f.c.Tool(nil)
		if err == nil && tool.Annotations != nil {
			f.annotated.harmless = tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint
		}
	})
	return f.annotated.harmless
}
