package retry

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/words"
)

// guide is the middleware that [New] returns. It is immutable but for what it has
// seen.
type guide struct {
	Options

	owners   owner.Finder
	settings *call.Settings // nil without rules and witnesses
	seen     *memory
	batches  table.Weak[call.Call, uint64]
}

func (g *guide) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	method := c.Method()
	if c.Quiet() || c.Unanswered() {
		return next(ctx, method, req)
	}
	if g.settings != nil {
		c.Establish(g.settings)
	}
	if g.seen.busyWith(req) {
		return g.noted(ctx, c, req, next)
	}
	c.AtFailure(g, call.Entry{Ctx: ctx, Req: req, Next: next, Began: g.seen.ticks.Load()})
	res, err := next(ctx, method, req)
	if g.seen.closing() && !failure.Failed(res, err) && !call.NeedsInput(res) {
		g.changed(ctx, c, req, next, nil)
	}
	return res, err
}

// noted makes a call that may have failed before. It is a function of its own so that the stack
// frame of most calls stays small.
func (g *guide) noted(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	began := g.seen.ticks.Load()
	what := g.locate(ctx, req)
	if what.owner != "" && g.seen.knows(&what) {
		what = g.identify(c, req, what)
		what.began = began
		if err := g.refuse(c, &what); err != nil {
			return nil, err
		}
	}
	c.AtFailure(g, call.Entry{Ctx: ctx, Req: req, Next: next, Began: began})
	res, err := next(ctx, c.Method(), req)
	if failure.Failed(res, err) || call.NeedsInput(res) {
		return res, err
	}
	if what.identified {
		g.seen.update(&what, func(k *tally) { k.forget(&what) })
	}
	if g.seen.closing() {
		g.changed(ctx, c, req, next, &what)
	}
	return res, err
}

// AtFailure counts a failure and adds guidance to it.
func (g *guide) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if f.Guided() || c.RefusedBy() == refusing || c.GivenUp() || f.OwnWords() { // a caller that has gone reads nothing, and the cause of a tool's own words is unknown
		return
	}
	what := g.identify(c, at.Req, g.locate(at.Ctx, at.Req))
	what.began = at.Began
	if batch := c.Parent(); batch != nil {
		g.together(batch, &what)
	}
	g.advise(at.Ctx, c, at.Req, at.Next, f, &what)
}

// refusing is the name of this package in [call.Call.Refused].
const refusing = "retry"

// together gives all failed items of a batch the same beginning, that of the first one: the caller
// chose them at once, so equal items are not repetitions.
func (g *guide) together(batch *call.Call, what *identity) {
	what.began = min(what.began, g.batches.Of(batch, func(*call.Call) uint64 { return what.began }))
}

// refuse returns the failure of a call that is not run, and nil if the call may run. No middleware of
// this package counts it.
func (g *guide) refuse(c *call.Call, what *identity) error {
	if !what.identified {
		return nil
	}
	var p pause
	look := func(last time.Duration) (refused bool) {
		g.seen.update(what, func(k *tally) { p = k.closed(what, last) })
		return p.rest > 0
	}
	if !look(0) {
		return nil
	}
	g.seen.closes(what.owner, p.rest)
	if last := g.seen.lastChange(what.owner); p.trials > 0 && last != 0 && !look(last) {
		return nil
	}
	e := refusal(p)
	if c.Observing() { // the call runs
		c.WouldRefuse(e)
		return nil
	}
	c.Refused(refusing)
	return e
}

// changed notes the success of a tool that may write, if other calls of the same caller are
// refused: one of them may work now. The tools are looked up only then.
func (g *guide) changed(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, what *identity) {
	if c.Method() != call.MethodCallTool {
		return
	}
	if what == nil {
		what = &identity{}
	}
	if what.owner == "" {
		if *what = g.locate(ctx, req); what.owner == "" {
			return
		}
	}
	if !g.seen.refuses(what.owner) || g.Repeatable != nil && safe.Ask(g.Repeatable, call.Target(req)) || c.Safety(next) == failure.Reads {
		return
	}
	g.seen.changed(what.owner)
}

// advise adds guidance to one failure.
func (g *guide) advise(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, f *failure.Failure, what *identity) {
	e := f.Fault()
	if f.Wire() != nil {
		// A protocol error is sent unchanged. Most of them concern two programs, not a model.
		if kind := e.Kind(); what.identified && (kind == fault.KindValidation || kind == fault.KindNotFound) {
			g.count(what, e, fault.Retry{}, 0)
		}
		return
	}
	own, _ := e.Retry()
	at := failure.Situation{
		Safety: func() failure.Safety { return g.safety(ctx, c, next) },
		Costly: g.Repeatable == nil && c.Method() == call.MethodCallTool, // the tools have to be looked up
	}
	if e.Kind() == kindNotReady { // the caller is meant to ask again
		answer := f.Again(at)
		f.Guide(failure.Guidance{Retry: answer.Said(), Suggestion: e.Suggestion()})
		return
	}
	limit := g.MaxAttempts
	if own.MaxAttempts > 0 {
		limit = own.MaxAttempts
	}
	attempts := declared(req)
	at.Counted = func(advice fault.Retry) failure.Counts {
		n := failure.Counts{Limit: limit, Steps: len(e.Data().RecoverySteps) > 0}
		if what.identified {
			h := g.count(what, e, advice, limit-g.MaxAttempts)
			attempts = max(attempts, h.failures)
			if reached(h.same, g.warnAfter(), limit-g.MaxAttempts) {
				n.Same = h.same
			}
			if h.streak >= streakAfter {
				n.Streak = h.streak
			}
		}
		n.Attempts = attempts
		return n
	}
	answer := f.Again(at)
	if retry := &answer.Retry; retry.ShouldRetry {
		if once := retry.MaxAttempts > 0; retry.RetryAfterSeconds == 0 && !once { // once: it is unknown whether waiting helps
			retry.RetryAfterSeconds = g.wait(max(1, attempts)).Seconds()
		}
		if retry.NextAttempt = max(0, own.NextAttempt); retry.NextAttempt == 0 && attempts > 0 {
			retry.NextAttempt = attempts + 1
		}
		retry.MaxAttempts = cmp.Or(min(retry.MaxAttempts, limit), limit)
	}
	said, suggest := answer.Said(), suggestion(f, e, &answer)
	if !what.identified && attempts == 0 && f.Masked() && answer.By != classify.Proven {
		if suggest != "" {
			suggest = words.Ended(suggest) + " "
		}
		suggest += tellUser
	}
	f.Guide(failure.Guidance{Retry: said, Suggestion: suggest})
}

// safety says what a repetition of the call can do.
func (g *guide) safety(ctx context.Context, c *call.Call, next mcp.MethodHandler) failure.Safety {
	switch {
	case g.Repeatable == nil || c.Method() != call.MethodCallTool:
		return c.SafetyIn(ctx, next)
	case safe.Ask(g.Repeatable, c.Target()):
		return failure.Idempotent
	default: // the program says that it must not be repeated
		return failure.Writes
	}
}

const (
	// streakAfter is how many failures of a broken tool in a row a caller may have before an answer
	// says that the tool is broken. After twice as many, its calls of the tool are refused.
	streakAfter = 10
	// forgetAfter is how long a failed call is remembered after its last failure, and after the
	// wait that was sent with it.
	forgetAfter = 10 * time.Minute
	// maxKeep is the longest wait for which a call is remembered.
	maxKeep = 24 * time.Hour
)

// count counts a failure. more is how many more attempts this call has than others.
func (g *guide) count(what *identity, e *fault.Error, retry fault.Retry, more int) (h history) {
	wait := g.longest() + time.Second // as the caller reads it, rounded up
	if asked := retry.RetryAfterSeconds; asked > 0 {
		wait = time.Duration(min(asked, maxKeep.Seconds()) * float64(time.Second))
	}
	f := failing{error: sign(e), text: headline(e), keep: forgetAfter + min(wait, maxKeep)}
	if retry.Effect == fault.EffectUnknown || retry.Effect == fault.EffectCommitted {
		f.text = words.Ended(f.text) + " " + lookFirst
	}
	if g.RefuseAfter > 0 {
		f.refuseAfter = g.RefuseAfter + max(0, more)
		f.broken = broken(e.Kind()) && (!retry.ShouldRetry || retry.MaxAttempts > 0) // one more try does not mean that the failure passes
	}
	g.seen.update(what, func(k *tally) { h = k.failed(what, f) })
	if h.closed {
		g.seen.closes(what.owner, refuseFor)
	}
	return h
}

// broken reports whether a failure of this kind shows that the tool or what it needs
// is broken. What the caller did wrong does not: other arguments may be right.
func broken(kind fault.Kind) bool {
	party := kinds.Of(string(kind)).Party
	return party == "server" || party == "upstream" || kind == fault.KindTimeout
}

// warnAfter is the number of failures after which an answer warns its caller not to repeat the
// call.
func (g *guide) warnAfter() int { return min(g.RefuseAfter, max(g.RefuseAfter-2, g.MaxAttempts+1)) }

// reached reports whether there are as many failures as a limit of the Options and more attempts
// allow.
func reached(failures, limit, more int) bool { return limit > 0 && failures-max(0, more) >= limit }

// longest returns the longest wait that this package chooses itself.
func (g *guide) longest() time.Duration {
	return time.Duration(min(30*float64(g.InitialInterval), float64(maxWait)))
}

// maxWait does not overflow when something is added to it, or when it is made longer by chance.
const maxWait = math.MaxInt64 / 4

// wait returns how long to wait after this many failures, in whole seconds.
func (g *guide) wait(failures int) time.Duration {
	longest := float64(g.longest())
	d := min(math.Ldexp(float64(g.InitialInterval), failures-1), longest) * (0.5 + rand.Float64())
	return time.Duration(math.Ceil(min(d, longest)/float64(time.Second))) * time.Second
}
