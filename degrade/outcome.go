package degrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// outcome is how a part ended.
type outcome struct {
	plan    *plan
	err     error // the own source's failure, nil when it gave the part
	skipped bool
	served  *source // what gave the part, nil when nothing did
	age     time.Duration
	asOf    time.Time
	commit  func()
	below   *call.Call
	took    time.Duration
	others  []error      // the failures of the fallbacks
	told    *fault.Error // what the caller may know of err
	effect  fault.Effect // of a change that failed
	shown   bool         // the reference is told with the reason
}

// fatal reports whether there is no answer because of this.
func (o *outcome) fatal() bool { return o.err != nil && o.served == nil && o.plan.required }

// part asks the sources of a part, one after the other. While it runs it is ended by stop. A
// part that had failed by itself before was not cancelled, and is not recorded as such.
func (r *run) part(ctx, stop context.Context, p *plan) (o outcome) {
	ctx, end := context.WithCancel(ctx) // Run ends it
	defer context.AfterFunc(stop, end)()
	o = outcome{plan: p, below: r.c.Below(ctx, p.name, r.c.Request())}
	start := time.Now()
	defer func() { o.took = time.Since(start) }()
	for i := range p.sources {
		if i > 0 && ctx.Err() != nil {
			return o // it could not be asked any more
		}
		s := &p.sources[i]
		got, err := r.ask(o.below, p, i)
		if err == nil {
			err = o.serve(s, got)
		}
		if err == nil {
			return o
		}
		if i > 0 {
			o.others = append(o.others, fmt.Errorf("degrade: %q as a fallback: %w", s.name, err))
			continue
		}
		o.err = err
		if skip, _ := safe.As[*skipped](err); skip != nil {
			o.skipped, o.err, o.told = true, nil, fault.New(kindSkipped, skip.reason)
			if p.required {
				o.told = fault.New(fault.KindPreconditionFailed, skip.reason)
				o.err = o.told
			}
			return o
		}
	}
	return o
}

// serve takes what a source gave, unless it is a copy that is too old.
func (o *outcome) serve(s *source, got found) error {
	if s.form == fromStale {
		if got.asOf.IsZero() {
			return errors.New("degrade: the copy does not say how old it is")
		}
		if o.age = max(0, time.Since(got.asOf)); o.age > s.maxAge {
			return fmt.Errorf("degrade: the copy is %v old and may not be older than %v", o.age, s.maxAge)
		}
		o.asOf = got.asOf
	}
	o.served, o.commit = s, got.commit
	return nil
}

// tell finds out what the caller may know, and puts the cause into the log, in the
// order of the parts. The failure of the whole is told and logged by the call
// itself, where there is one. Of a part that was skipped nothing is logged.
func (r *run) tell(o *outcome) {
	if o.skipped && o.err == nil {
		// As the call's settings hide it: a reason may be put together.
		skipping := r.c.Below(r.c, o.plan.name, r.c.Request())
		public, _ := skipping.Public(skipping.Failure(nil, o.told))
		o.told = fault.New(kindSkipped, public.Message())
	}
	if o.err == nil {
		return
	}
	seen := o.seen()
	if o.effect = seen; o.plan.write {
		o.effect = cmp.Or(seen, effectOf(o.below.Failure(nil, o.err)))
	}
	if r.stopped(o) {
		return
	}
	if o != r.failed || !r.inCall {
		f := o.below.Failure(nil, o.err)
		o.below.Log(nil, f, o.took)
		o.told, o.shown = o.below.Public(f)
		if retry, _ := o.told.Retry(); o.effect != "" && (retry.Effect == "" || seen != "") {
			retry.Effect, retry.ShouldRetry = o.effect, retry.ShouldRetry && o.effect == fault.EffectNone
			retry.Partial = seen == fault.EffectCommitted
			o.told = o.told.WithRetry(retry)
		}
	}
	for _, err := range o.others {
		o.below.Log(nil, o.below.Failure(nil, err), o.took)
	}
}

// seen returns what a witness saw of a part that failed, "" where that says nothing that counts: a part that
// is no change is not said to have changed nothing, nor one that still runs.
func (o *outcome) seen() fault.Effect {
	seen := o.below.Failure(nil, o.err).Seen()
	if seen == fault.EffectNone && (!o.plan.write || safe.Is(o.err, errLeft)) {
		return ""
	}
	return seen
}

// effectOf returns what is known about the effect of a change that failed. What nobody says is
// not known: an error proves what became of one step of it.
func effectOf(f *failure.Failure) fault.Effect {
	answer := f.Again(failure.As(failure.Writes))
	return cmp.Or(answer.Effect, fault.EffectUnknown)
}

// stopped reports whether a part only did as it was told when another one failed.
func (r *run) stopped(o *outcome) bool {
	return r.failed != nil && r.failed != o && safe.Is(o.err, context.Canceled)
}

// ask asks one source in a goroutine of its own, so that one that panics, calls
// Goexit or never returns harms nobody.
func (r *run) ask(below *call.Call, p *plan, i int) (found, error) {
	limit := r.limitOf(below, p, i)
	ctx, cancel := context.Context(below), context.CancelFunc(func() {})
	if limit > 0 {
		ctx, cancel = context.WithTimeout(below, limit)
	}
	defer cancel()
	got, err := apart.Run(nil, 0, ctx.Done(), func() (found, error) { return p.sources[i].fetch(ctx) }, func(err error) {
		if _, panicked := safe.As[*fault.PanicError](err); panicked {
			below.Log(nil, below.Failure(nil, fmt.Errorf("degrade: part %q, after its time: %w", p.name, err)), 0)
		}
	})
	switch {
	case err == apart.ErrLeft: //nolint:errorlint // not what the part returned
		return found{}, late(below, p, limit, errLeft)
	case err == apart.ErrGoexit: //nolint:errorlint // as above
		return found{}, errGoexit
	case err != nil && ctx.Err() != nil && safe.Is(err, ctx.Err()):
		return found{}, late(below, p, limit, err)
	}
	return got, err
}

var (
	errLeft   = errors.New("degrade: the part ignores its context; it was left behind and still runs")
	errGoexit = errors.New("degrade: the part ended its goroutine with runtime.Goexit")
)

// late is the failure of a part whose context was done before it returned.
func late(below *call.Call, p *plan, limit time.Duration, cause error) error {
	if err := below.Err(); errors.Is(err, context.Canceled) {
		if safe.Is(cause, err) {
			return cause
		}
		return fmt.Errorf("%w: %w", cause, err)
	}
	return fault.Timeout(p.name, limit).Because(cause)
}

// limitOf returns how long a source may take, zero for no limit but the call's own.
func (r *run) limitOf(ctx context.Context, p *plan, i int) time.Duration {
	limit := p.limit
	if limit == 0 && !p.required {
		limit = r.limit
	}
	limit = max(limit, 0)
	behind := len(p.sources) - 1 - i // what has to be done when this fails
	if !p.required {
		behind++ // the answer without the part
	}
	deadline, ok := ctx.Deadline()
	if !ok || behind == 0 {
		return limit
	}
	left := time.Until(deadline)
	left -= time.Duration(behind) * min(left/10, 250*time.Millisecond)
	if left = max(left, 1); limit == 0 || left < limit {
		return left
	}
	return limit
}

// wholeError makes the failure of the whole of that of a part.
func (r *run) wholeError(o *outcome, all []outcome) error {
	public := o.told
	f := r.c.Failure(nil, o.err)
	if public == nil {
		public = f.Fault()
	}
	done, unknown := false, false // what became of the changes
	for i := range all {
		done = done || all[i].plan.write && all[i].err == nil && !all[i].skipped || all[i].effect == fault.EffectCommitted
		unknown = unknown || all[i].effect == fault.EffectUnknown && &all[i] != o
	}
	if unknown && !done {
		public = public.WithRetry(fault.Retry{Effect: fault.EffectUnknown})
	}
	if done {
		if f.Panic() != nil {
			o.below.Log(nil, o.below.Failure(nil, o.err), o.took) // with its stack, which is not in what goes out
		}
		public = public.WithRetry(fault.Retry{Effect: fault.EffectCommitted, Partial: true})
	}
	public = public.WithMessage("could not get "+words.Quote(o.plan.name, 64)+": "+public.Message()).With("component", o.plan.name)
	if _, own := o.err.(*fault.Error); own && r.inCall { //nolint:errorlint // with what is around it there would be more to keep
		return public
	}
	err := fmt.Errorf("degrade: part %q: %w", o.plan.name, o.err)
	switch {
	case !r.inCall, f.Worded() && f.Wire() == nil:
		return public.Because(err)
	case !done && !unknown && (f.Panic() != nil || f.Wire() != nil):
		return err // with its stack for the log, or its code for the caller
	default:
		return classify.HideError(err, public)
	}
}
