package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/middleware"
)

// guide is the middleware that [New] returns. It is immutable but for what it has
// seen.
type guide struct {
	Options

	settings *call.Settings // nil without rules
	seen     *memory        // nil when nothing is counted
}

func (g *guide) call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	method := c.Method()
	if c.Quiet() || c.Notification() || method == middleware.MethodListen {
		return next(ctx, method, req)
	}
	if g.settings != nil {
		c.Establish(g.settings)
	}
	began := g.seen.tick()
	var what identity
	if g.seen.busyWith(req) {
		what = g.identify(ctx, c, req)
		if err := g.refuse(c, what); err != nil {
			return nil, err
		}
	}
	res, err := next(ctx, method, req)
	failure := c.Failure(res, err)
	switch {
	case failure == nil:
		if what.known && c.Outcome(res, err) == call.OutcomeOK {
			g.seen.forget(what)
		}
	case failure.Guided(), errors.Is(c.Err(), context.Canceled): // a caller that has gone reads nothing
	default:
		if !what.known {
			what = g.identify(ctx, c, req)
		}
		what.began = began
		g.guide(c, req, next, failure, what)
	}
	return res, err
}

// refuse returns the failure of a call that is not run, nil for one that is. That
// it is guided keeps others of our kind from counting it.
func (g *guide) refuse(c *call.Call, what identity) error {
	if !what.known {
		return nil
	}
	pause := g.seen.closed(what)
	if pause.rest <= 0 {
		return nil
	}
	e := refusal(pause)
	retry, _ := e.Retry()
	c.Failure(nil, e).Guide(call.Guidance{Retry: retry})
	return e
}

// guide says about one failure what is to be said.
func (g *guide) guide(c *call.Call, req mcp.Request, next mcp.MethodHandler, failure *call.Failure, what identity) {
	e := failure.Fault()
	if failure.Wire() != nil {
		// It is sent as it is. Most such errors are a matter between two programs.
		if kind := e.Kind(); what.known && (kind == fault.KindValidation || kind == fault.KindNotFound) {
			g.count(what, e, fault.Retry{}, 0)
		}
		return
	}
	own, said := e.Retry()
	retry := g.judge(c, next, failure, e)
	limit := g.MaxAttempts
	if own.MaxAttempts > 0 {
		limit = min(own.MaxAttempts, maxAttempt)
	}
	attempt := g.declared(req)
	var history history
	if what.known {
		history = g.count(what, e, retry, limit-g.MaxAttempts)
		attempt = max(attempt, history.failures)
	}
	insist := false
	switch {
	case reached(history.same, g.EscalateAfter, limit-g.MaxAttempts):
		retry.ShouldRetry, insist = false, true
		retry.Reason = capital(exactly(history.same)) + ". Do not repeat it. " + instead(e)
	case retry.ShouldRetry && attempt >= limit:
		retry.ShouldRetry = false
		retry.Reason = "This call has failed " + times(attempt) + ". " + instead(e)
	case !retry.ShouldRetry && reached(history.streak, g.StreakAfter, 0):
		insist = true
		retry.Reason = capital(inARow(history.streak)) + ". Do not try other arguments at random. " + instead(e)
	}
	if retry.ShouldRetry {
		if retry.RetryAfterSeconds == 0 {
			retry.RetryAfterSeconds = g.wait(max(1, attempt)).Seconds()
		}
		if retry.NextAttempt = max(0, retry.NextAttempt); retry.NextAttempt == 0 && attempt > 0 {
			retry.NextAttempt = attempt + 1
		}
		retry.MaxAttempts = limit
	} else {
		retry.RetryAfterSeconds, retry.NextAttempt, retry.MaxAttempts = 0, 0, 0
	}
	failure.Guide(call.Guidance{Retry: retry, Suggestion: suggestion(e, said, retry.Effect), Insist: insist})
}

// maxKeep is how long a call is remembered at most because its caller was told to
// wait.
const maxKeep = 24 * time.Hour

// count counts a failure. more is how many attempts more than others this call has.
func (g *guide) count(what identity, e *fault.Error, retry fault.Retry, more int) history {
	wait := g.MaxInterval
	if asked := retry.RetryAfterSeconds; asked > 0 {
		wait = time.Duration(min(asked, maxKeep.Seconds()) * float64(time.Second))
	}
	f := failing{
		error: g.seen.sign(e), hopeless: !retry.ShouldRetry,
		keep: g.ForgetAfter + min(wait, maxKeep), refuseFor: g.RefuseFor,
	}
	if g.RefuseAfter > 0 {
		f.refuseAfter = g.RefuseAfter + max(0, more)
		f.refuseTool = 2 * g.StreakAfter
	}
	return g.seen.failed(what, f)
}

// reached reports whether failures are as many as a limit of the Options says.
func reached(failures, limit, more int) bool { return limit > 0 && failures-max(0, more) >= limit }

// judge says whether the call may be made again and whether that is safe, before
// anything is counted.
func (g *guide) judge(c *call.Call, next mcp.MethodHandler, failure *call.Failure, e *fault.Error) fault.Retry {
	kind, hint := e.Kind(), failure.Hint()
	retry, said := e.Retry()
	switch {
	case said:
	case kind == fault.KindCancelled && reworded(e):
		return fault.Retry{} // somebody said no, in words of their own
	default:
		retry = fault.Retry{
			ShouldRetry: hint.Retry == middleware.RetryYes || hint.Retry == middleware.RetryUnknown && passing(kind),
			Reason:      hint.Reason,
			Effect:      hint.Effect,
		}
		if retry.Reason == "" && !retry.ShouldRetry {
			retry.Reason = reason(kind)
		}
	}
	retry.RetryAfterSeconds = hint.After.Seconds() // what the fault says too, and bounded
	switch retry.Effect {
	case fault.EffectCommitted:
		retry.ShouldRetry = false
	case fault.EffectNone:
		if !said && (!doubtful(e) || safetyOf(c, next, g.Repeatable) == reads) {
			retry.Effect = "" // it goes without saying
		}
	case fault.EffectUnknown:
		if !said || retry.ShouldRetry {
			g.beSafe(&retry, c, next)
		}
	case "":
		// What a handler says on purpose is believed: it knows what it did.
		switch {
		case !said && (doubtful(e) || retry.ShouldRetry && !refusing(kind)):
			g.beSafe(&retry, c, next)
		case said && retry.ShouldRetry: // unless its cause knows better
			g.ask(&retry, c, next, failure)
		}
	}
	return retry
}

// ask asks the cause of a failure for the effect of the call, of which the handler
// that says when to call again has said nothing.
func (g *guide) ask(retry *fault.Retry, c *call.Call, next mcp.MethodHandler, failure *call.Failure) {
	switch effect := failure.CauseEffect(); {
	case failure.Hint().Effect == fault.EffectNone: // by a rule
	case effect == fault.EffectCommitted:
		retry.Effect, retry.ShouldRetry = effect, false
	case effect == fault.EffectUnknown:
		g.beSafe(retry, c, next)
	}
}

// beSafe settles what to say of a call of which nobody knows whether it took
// effect.
func (g *guide) beSafe(retry *fault.Retry, c *call.Call, next mcp.MethodHandler) {
	switch safetyOf(c, next, g.Repeatable) {
	case reads:
		retry.Effect = ""
	case idempotent:
		retry.Effect = ""
		if retry.ShouldRetry {
			retry.Reason = "A repetition does no harm."
		}
	default:
		retry.Effect, retry.ShouldRetry = fault.EffectUnknown, false
	}
}

// passing reports whether a failure of this kind is one that passes, so that a
// second try can succeed.
func passing(kind fault.Kind) bool {
	switch kind {
	case fault.KindRateLimited, fault.KindTimeout, fault.KindConnectionFailed, fault.KindServiceUnavailable:
		return true
	default:
		return false
	}
}

// doubtful reports whether a failure leaves it open whether the call took effect:
// one that began and did not end. All the others are refusals, and so is it when
// somebody says in words of their own that a service is not available.
func doubtful(e *fault.Error) bool {
	switch kind := e.Kind(); kind {
	case fault.KindTimeout, fault.KindCancelled, fault.KindConnectionFailed, fault.KindServerError, fault.KindInternal:
		return true
	case fault.KindServiceUnavailable:
		return !reworded(e)
	default:
		return false
	}
}

// reworded reports whether somebody chose the words of a failure.
func reworded(e *fault.Error) bool { return e.Message() != fault.Generic(e.Kind()).Message() }

// refusing reports whether a failure of this kind, after which the call may be made
// again, comes before anything was done.
func refusing(kind fault.Kind) bool {
	return kind == fault.KindRateLimited || kind == fault.KindServiceUnavailable
}

// wait returns how long to wait after this many failures.
func (g *guide) wait(failures int) time.Duration {
	d, longest := float64(g.InitialInterval), float64(g.MaxInterval)
	for i := 1; i < failures && d < longest; i++ {
		d *= 2
	}
	wait := g.MaxInterval
	if d = min(d, longest) * (1 + g.Jitter*(2*rand.Float64()-1)); d < longest {
		wait = time.Duration(d)
	}
	const shown = 100 * time.Millisecond // the text has no finer ones from a second on
	if wait > 2*shown {
		wait = wait.Truncate(shown)
	}
	return max(wait, time.Millisecond)
}
