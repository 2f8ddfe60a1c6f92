package batch

import (
	"context"
	"strconv"
	"sync"
	"time"

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

// A settled error is one that is classified, masked and recorded already: an item that
// was a call of its own.
type settled struct {
	public *fault.Error
	quote  bool // nobody worded it: the text shows the reference
}

func (e *settled) Error() string { return e.public.Error() }

func (e *settled) Unwrap() error { return e.public }

// A failer makes of an error of the function what a caller may know of it.
type failer struct {
	ctx        context.Context //nolint:containedctx // of the batch's caller; a failer lives as long
	c          *call.Call
	idempotent bool
	part       int // of the call: which batch of it this is, from 0

	annotated struct {
		sync.Once
		idempotent bool
	}
}

// failed classifies, masks and records the failure of an item, as a call of its own
// below the one that the batch is part of.
func (f *failer) failed(index int, err error) (public *fault.Error, recoverable bool, m mark) {
	defer func() {
		if recover() != nil { // a stranger's code; the item has failed in any case
			public, recoverable, m = fault.Generic(fault.KindInternal), false, mark{}
		}
	}()
	var hint middleware.Hint
	if s, ok := err.(*settled); ok { //nolint:errorlint // a wrapped one is another error
		public, hint, m.quote = s.public, middleware.HintOf(err), s.quote
	} else {
		public, hint, m.quote = f.public(index, &err)
	}
	g := guide(hint, public)
	m.unsure = (g.again || atWork(public.Kind())) && g.effect == fault.EffectUnknown && !f.harmless()
	if g.again && public.Data().Retry == nil {
		retry := fault.Retry{ShouldRetry: true, RetryAfterSeconds: g.after.Seconds(), Effect: g.effect}
		if g.effect == fault.EffectUnknown && !m.unsure {
			retry.Effect = ""
		}
		public = public.WithRetry(retry)
	}
	return public, g.again, m
}

// atWork reports whether what failed in a way may go on nevertheless, so that it has to
// be checked also when a failure says that a repetition does not help.
func atWork(kind fault.Kind) bool {
	return kind == fault.KindTimeout || kind == fault.KindCancelled || kind == fault.KindConnectionFailed
}

// public lets the call's own settings make the public form, and writes the record that
// its reference leads to.
func (f *failer) public(index int, err *error) (_ *fault.Error, _ middleware.Hint, quote bool) {
	if f.c == nil {
		public := middleware.Classify(*err)
		if told := overdue(*err, public); told != nil {
			*err, public = told, told
		}
		return public, middleware.HintOf(*err), false
	}
	below := f.c.Below(f.ctx, f.name(index), f.c.Request())
	failure := below.Failure(nil, *err)
	if told := overdue(*err, failure.Fault()); told != nil {
		*err = told
		failure = below.Failure(nil, *err)
	}
	if f.c.Recorded() {
		below.Log(nil, call.Record{Err: *err})
	}
	public, _ := middleware.FaultOf(below.Finish(nil, *err))
	if _, own := (*err).(*fault.Error); !own { //nolint:errorlint // a fault has its cause in itself
		public = public.Because(*err)
	}
	return public, failure.Hint(), !failure.Worded()
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
	late, ok := err.(*overdueError) //nolint:errorlint // nobody wraps it, and a stranger's As may panic
	if !ok || public.Message() != fault.Generic(fault.KindTimeout).Message() {
		return nil
	}
	return fault.Timeout(theItem, late.limit).Because(late.error)
}

// again reports whether an item that failed is tried again, and when.
func (f *failer) again(err error, attempt int, retry func(error, int) (time.Duration, bool)) (time.Duration, bool) {
	if retry != nil {
		return retry(err, attempt)
	}
	public, hint := middleware.Classify(err), middleware.HintOf(err)
	if f.c != nil { // whose rules may know it
		failure := f.c.Below(f.ctx, "", f.c.Request()).Failure(nil, err)
		public, hint = failure.Fault(), failure.Hint()
	}
	g := guide(hint, public)
	if !g.again || g.after > maxWait || g.effect == fault.EffectUnknown && !f.harmless() {
		return 0, false
	}
	return max(g.after, backoff(attempt)), true
}

// harmless reports whether running an item twice does no harm: the program says so, or
// the annotations of the tool that is called. They are read when they are needed.
func (f *failer) harmless() bool {
	if f.idempotent || f.c == nil || f.c.Method() != middleware.MethodCallTool {
		return f.idempotent
	}
	f.annotated.Do(func() {
		tool, err := f.c.Tool(nil)
		if err != nil || tool.Annotations == nil {
			return
		}
		f.annotated.idempotent = tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint
	})
	return f.annotated.idempotent
}

// panicked returns the error for a panic of an item. It is called by the deferred
// function that recovered.
func (f *failer) panicked(p any) error { return classify.NewPanicError(p, 2) }

// remember keeps the stack of a panic that goes on, for the recovery of the call.
func (f *failer) remember(p any) {
	if f.c != nil {
		_ = f.c.Recovered(p, 2)
	}
}
