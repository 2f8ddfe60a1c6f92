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
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// outcome is how a part ended.
type outcome struct {
	plan    *plan
	err     error // the failure of the part's own source, nil if that gave the part
	skipped bool
	served  *source // what gave the part, nil when nothing did
	age     time.Duration
	asOf    time.Time
	commit  func()
	below   *call.Call
	judged  *failure.Failure // see failure
	took    time.Duration
	others  []error      // the failures of the fallbacks
	public  *fault.Error // what the caller may read of err
	effect  fault.Effect // of a change that failed
	shown   bool         // the reference stands beside the reason
}

// fatal reports whether this outcome fails the whole answer.
func (o *outcome) fatal() bool { return o.err != nil && o.served == nil && o.plan.required }

// part tries the sources of a part, one after the other. The end of stop cancels it while it runs.
// A part that failed by itself before is not recorded as cancelled.
func (r *run) part(ctx, stop context.Context, p *plan) (o outcome) {
	ctx, end := context.WithCancel(ctx) // Run ends it
	defer context.AfterFunc(stop, end)()
	o = outcome{plan: p, below: r.c.Below(ctx, p.name, r.c.Request())}
	start := time.Now()
	defer func() { o.took = time.Since(start) }()
	for i := range p.sources {
		if i > 0 && ctx.Err() != nil {
			return o // too late for another source
		}
		s := &p.sources[i]
		got, err := r.fetch(o.below, p, i)
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
			o.skipped, o.err, o.public = true, nil, fault.New(kindSkipped, skip.reason)
			if p.required {
				o.public = fault.New(fault.KindPreconditionFailed, skip.reason)
				o.err = o.public
			}
			return o
		}
	}
	return o
}

// failure returns the failure of a part that failed.
func (o *outcome) failure() *failure.Failure {
	if o.judged == nil {
		o.judged = o.below.Judge(nil, o.err)
	}
	return o.judged
}

// serve accepts what a source gave, unless it is a copy that is too old.
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

// report sets the text of a part that failed or was skipped, and logs its cause. It runs in the order
// of the parts. Inside a call, the call itself reports and logs the failure of the whole. A skipped
// part is not logged.
func (r *run) report(o *outcome) {
	if o.skipped && o.err == nil {
		// The call's settings hide it, because a program may put values into a reason.
		skipping := r.c.Below(r.c, o.plan.name, r.c.Request())
		public, _ := skipping.Public(skipping.Judge(nil, o.public))
		o.public = fault.New(kindSkipped, public.Message())
	}
	if o.err == nil {
		return
	}
	seen := o.seen()
	if o.effect = seen; o.plan.write {
		o.effect = cmp.Or(seen, effectOf(o.failure()))
	}
	if r.stopped(o) {
		return
	}
	if o != r.failed || !r.inCall {
		f := o.failure()
		o.below.Log(nil, f, o.took)
		o.public, o.shown = o.below.Public(f)
		if retry, _ := o.public.Retry(); o.effect != "" {
			retry.Partial = seen == fault.EffectCommitted || retry.Partial && retry.Effect == o.effect
			retry.Effect, retry.ShouldRetry = o.effect, retry.ShouldRetry && o.effect == fault.EffectNone
			o.public = o.public.WithRetry(retry)
		}
	}
	for _, err := range o.others {
		o.below.Log(nil, o.below.Judge(nil, err), o.took)
	}
}

// seen returns the effect that was noted of a part that failed. It is "" if a noted EffectNone proves
// nothing. That is so for a part that is not a Write, and for one that still runs.
func (o *outcome) seen() fault.Effect {
	seen := o.failure().Seen()
	if seen == fault.EffectNone && (!o.plan.write || safe.Is(o.err, errLeft)) {
		return ""
	}
	return seen
}

// effectOf returns the effect of a change that failed. It is unknown unless the failure states it: an
// error proves its kind, never the effect of the change.
func effectOf(f *failure.Failure) fault.Effect {
	answer := f.Again(failure.As(failure.Writes))
	return cmp.Or(answer.Effect, fault.EffectUnknown)
}

// stopped reports whether a part failed only because the failure of another one cancelled it.
func (r *run) stopped(o *outcome) bool {
	return r.failed != nil && r.failed != o && safe.Is(o.err, context.Canceled)
}

// fetch calls one source in a goroutine of its own, so that a source that panics, calls Goexit or
// never returns does no harm.
func (r *run) fetch(below *call.Call, p *plan, i int) (found, error) {
	limit := r.limitOf(below, p, i)
	ctx, cancel := context.Context(below), context.CancelFunc(func() {})
	if limit > 0 {
		ctx, cancel = context.WithTimeout(below, limit)
	}
	defer cancel()
	work := apart.Go(func() (found, error) { return p.sources[i].fetch(ctx) })
	if !work.Until(ctx.Done(), apart.Grace) {
		step := call.Left(r.c) // of the whole call: what the part itself noted is known
		go func() {
			_, err := work.Result()
			step.Returned()
			if _, panicked := safe.As[*fault.PanicError](err); panicked {
				below.Log(nil, below.Judge(nil, fmt.Errorf("degrade: part %q, after its time: %w", p.name, err)), 0)
			}
		}()
		return found{}, late(below, p, limit, errLeft)
	}
	got, err := work.Result()
	switch {
	case err == apart.ErrGoexit: //nolint:errorlint // not what the part returned
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

// late returns the failure of a part whose context was done before it returned.
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
	behind := len(p.sources) - 1 - i // how many steps are left if this source fails
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

// wholeError turns the failure of a part into that of the whole.
func (r *run) wholeError(o *outcome, all []outcome) error {
	public := o.public
	f := r.c.Judge(nil, o.err)
	if public == nil {
		public = f.Fault()
	}
	done, unknown := false, false // the effect of the changes
	for i := range all {
		done = done || all[i].plan.write && all[i].err == nil && !all[i].skipped || all[i].effect == fault.EffectCommitted
		unknown = unknown || all[i].effect == fault.EffectUnknown && &all[i] != o
	}
	public = faults.Derived(public) // the handler may have changed something before it asked for the parts
	if unknown && !done {
		public = public.WithRetry(fault.Retry{Effect: fault.EffectUnknown})
	}
	if done {
		if f.Panic() != nil {
			o.below.Log(nil, o.failure(), o.took) // with its stack, which the error of the whole does not have
		}
		public = public.WithRetry(fault.Retry{Effect: fault.EffectCommitted, Partial: true})
	}
	public = public.WithMessage("could not get "+words.Quote(o.plan.name, 64)+": "+public.Message()).With("component", o.plan.name)
	if _, own := o.err.(*fault.Error); own && r.inCall { //nolint:errorlint // it needs no further wrapping
		return public
	}
	err := fmt.Errorf("degrade: part %q: %w", o.plan.name, o.err)
	switch {
	case !r.inCall, f.Worded() && f.Wire() == nil:
		return public.Because(err)
	case !done && !unknown && (f.Panic() != nil || f.Wire() != nil):
		return err // with its stack for the log, or its code for the caller
	case f.Party() != classify.PartyOf(public): // a shutdown is no fault of what the part asked
		public = public.WithParty(f.Party())
	}
	return classify.HideError(err, public)
}
