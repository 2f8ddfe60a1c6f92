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
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/words"
)

// guide is the middleware that [New] returns. It is immutable but for what it has
// seen.
type guide struct {
	Options

	owners   call.Owners
	settings *call.Settings // nil without rules and witnesses
	seen     *memory
	shared   *shared // nil when this server counts for itself
	batches  table.Weak[call.Call, moments]
}

func (g *guide) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	method := c.Method()
	if c.Quiet() || c.Notification() || method == call.MethodListen {
		return next(ctx, method, req)
	}
	if g.settings != nil {
		c.Establish(g.settings)
	}
	if g.shared != nil || g.seen.busyWith(req) {
		return g.noted(ctx, c, req, next)
	}
	began := g.seen.ticks.Load()
	res, err := next(ctx, method, req)
	switch f := c.Failure(res, err); {
	case f != nil:
		g.failed(ctx, c, req, next, f, nil, began)
	case g.seen.closing() && !call.NeedsInput(res):
		g.changed(ctx, c, req, next, nil)
	}
	return res, err
}

// noted makes a call that something may be known of. It stands apart from what most calls pass, which
// have little room on their stack so.
func (g *guide) noted(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	began := g.seen.ticks.Load()
	what := g.locate(ctx, req)
	if g.shared != nil || what.owner != "" && g.seen.knows(&what) {
		what = g.identify(c, req, what)
		what.began = began
		if err := g.refuse(ctx, c, &what); err != nil {
			return nil, err
		}
	}
	res, err := next(ctx, c.Method(), req)
	f := c.Failure(res, err)
	if f != nil {
		g.failed(ctx, c, req, next, f, &what, began)
		return res, err
	}
	if call.NeedsInput(res) {
		return res, err
	}
	if what.known {
		g.forget(ctx, &what)
	}
	if g.seen.closing() {
		g.changed(ctx, c, req, next, &what)
	}
	return res, err
}

// failed says about a failure what is to be said, of a call that began then. What is known of it stands in
// what, nil for nothing.
func (g *guide) failed(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, f *failure.Failure, what *identity, began uint64) {
	if what == nil {
		what = &identity{}
	}
	switch {
	case f.Guided(), c.GivenUp(): // a caller that has gone reads nothing
		return
	case f.OwnWords(): // of which nobody knows the cause
		return
	}
	if !what.known {
		if what.owner == "" {
			*what = g.locate(ctx, req)
		}
		*what = g.identify(c, req, *what)
		what.began = began
	}
	if batch := c.Parent(); batch != nil {
		g.together(batch, what)
	}
	g.guide(ctx, c, req, next, f, what)
}

// together makes an item of a batch begin when the first of its items that failed began: they
// were chosen at once, so equal ones are no repetitions.
func (g *guide) together(batch *call.Call, what *identity) {
	first := g.batches.Of(batch, func(*call.Call) moments { return moments{what.began, what.read} })
	what.began, what.read = min(what.began, first.began), min(what.read, first.read)
}

// moments are what the ticks were when an item of a batch began, in this process and in a store.
type moments struct{ began, read uint64 }

// refuse returns the failure of a call that is not run, nil for one that is. That
// it is guided keeps others of our kind from counting it.
func (g *guide) refuse(ctx context.Context, c *call.Call, what *identity) error {
	if !what.known {
		return nil
	}
	var p pause
	look := func(last change) (refused bool) {
		g.ask(ctx, what, func(k *known) (probe bool) {
			p, probe = k.closed(what, last) // of several servers one probes
			return probe
		})
		return p.rest > 0
	}
	if !look(change{}) {
		return nil
	}
	g.seen.closes(what.owner, p.rest)
	if last := g.lastChange(ctx, what); p.trials > 0 && last != (change{}) && !look(last) {
		return nil
	}
	e := refusal(p)
	c.Refused("retry")
	retry, _ := e.Retry()
	c.Failure(nil, e).Guide(failure.Guidance{Retry: &retry})
	if c.Observing() {
		c.WouldRefuse(e)
		return nil
	}
	return e
}

// changed notes that a call of a tool succeeded that may have changed something, for a caller who is
// refused other calls: one of them may work now. The tools are looked up only then.
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
		what.shared = g.shared != nil && !call.OfConnection(what.owner)
	}
	if !g.seen.refuses(what.owner) || g.Repeatable != nil && safe.Ask(g.Repeatable, call.Target(req)) || c.Safety(next) == failure.Reads {
		return
	}
	g.seen.changed(what.owner, what.place)
	if what.shared {
		g.shared.changed(ctx, what.owner, what.place)
	}
}

// lastChange returns the last change that a caller made, by the clock of whoever keeps what is closed.
func (g *guide) lastChange(ctx context.Context, what *identity) change {
	if what.shared {
		return g.shared.lastChange(ctx, what.owner)
	}
	return g.seen.lastChange(what.owner)
}

// ask shows f what the store knows of a caller, or else what this process does. From a
// store that does not answer on, the call counts here.
func (g *guide) ask(ctx context.Context, what *identity, f func(k *known) (changed bool)) {
	if what.shared = what.shared && g.shared.ask(ctx, what, f); !what.shared {
		g.seen.ask(what, f)
	}
}

// forget drops what is known of a call that succeeded.
func (g *guide) forget(ctx context.Context, what *identity) {
	forget := func(k *known) bool { return k.forget(what) }
	g.seen.ask(what, forget)
	if what.shared && what.read > 0 { // there was something when the call began
		g.shared.ask(ctx, what, forget)
	}
}

// guide says about one failure what is to be said.
func (g *guide) guide(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, f *failure.Failure, what *identity) {
	e := f.Fault()
	if f.Wire() != nil {
		// It is sent as it is. Most such errors are a matter between two programs.
		if kind := e.Kind(); what.known && (kind == fault.KindValidation || kind == fault.KindNotFound) {
			g.count(ctx, what, e, fault.Retry{}, 0)
		}
		return
	}
	own, _ := e.Retry()
	at := failure.Situation{
		Safety: func() failure.Safety { return g.safety(ctx, c, next) },
		Costly: g.Repeatable == nil && c.Method() == call.MethodCallTool, // the server is asked for its tools
	}
	if e.Kind() == kindNotReady { // to ask again is what the caller is to do
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
		if what.known {
			h := g.count(ctx, what, e, advice, limit-g.MaxAttempts)
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
		if once := retry.MaxAttempts > 0; retry.RetryAfterSeconds == 0 && !once { // nobody knows that waiting helps
			retry.RetryAfterSeconds = g.wait(max(1, attempts)).Seconds()
		}
		if retry.NextAttempt = max(0, own.NextAttempt); retry.NextAttempt == 0 && attempts > 0 {
			retry.NextAttempt = attempts + 1
		}
		retry.MaxAttempts = cmp.Or(min(retry.MaxAttempts, limit), limit)
	}
	said, suggest := answer.Said(), suggestion(f, e, &answer)
	if !what.known && attempts == 0 && f.Masked() && answer.By != classify.Proven {
		if suggest != "" {
			suggest = words.Ended(suggest) + " "
		}
		suggest += tellUser
	}
	f.Guide(failure.Guidance{Retry: said, Step: answer.Step, Suggestion: suggest})
}

// safety says what a repetition of the call can do.
func (g *guide) safety(ctx context.Context, c *call.Call, next mcp.MethodHandler) failure.Safety {
	switch {
	case g.Repeatable == nil || c.Method() != call.MethodCallTool:
		return c.SafetyIn(ctx, next)
	case safe.Ask(g.Repeatable, call.Target(c.Request())):
		return failure.Idempotent
	default: // the program says that it must not be repeated
		return failure.Writes
	}
}

const (
	// streakAfter is after how many failures of a broken tool in a row a caller is told so.
	// After twice as many its calls of the tool are refused.
	streakAfter = 10
	// forgetAfter is how long a failed call is remembered after its last failure, and after
	// the wait that was told with it.
	forgetAfter = 10 * time.Minute
	// maxKeep is the longest wait for which a call is remembered.
	maxKeep = 24 * time.Hour
)

// count counts a failure. more is how many attempts more than others this call has.
func (g *guide) count(ctx context.Context, what *identity, e *fault.Error, retry fault.Retry, more int) (h history) {
	wait := g.longest() + time.Second // as it is told, rounded up
	if asked := retry.RetryAfterSeconds; asked > 0 {
		wait = time.Duration(min(asked, maxKeep.Seconds()) * float64(time.Second))
	}
	f := failing{error: sign(e), text: headline(e), keep: forgetAfter + min(wait, maxKeep)}
	if g.RefuseAfter > 0 {
		f.refuseAfter = g.RefuseAfter + max(0, more)
		f.broken = broken(e.Kind()) && (!retry.ShouldRetry || retry.MaxAttempts > 0) // one more try is no hope
	}
	g.ask(ctx, what, func(k *known) bool {
		h = k.failed(what, f)
		return true
	})
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

// warnAfter is after how many failures a caller is told not to repeat a call.
func (g *guide) warnAfter() int { return min(g.RefuseAfter, max(g.RefuseAfter-2, g.MaxAttempts+1)) }

// reached reports whether failures are as many as a limit of the Options says.
func reached(failures, limit, more int) bool { return limit > 0 && failures-max(0, more) >= limit }

// longest returns the longest wait that nobody asked for.
func (g *guide) longest() time.Duration {
	return time.Duration(min(30*float64(g.InitialInterval), float64(maxWait)))
}

// maxWait can be added to, and multiplied by what a wait is made longer by.
const maxWait = math.MaxInt64 / 4

// wait returns how long to wait after this many failures, in whole seconds.
func (g *guide) wait(failures int) time.Duration {
	longest := float64(g.longest())
	d := min(math.Ldexp(float64(g.InitialInterval), failures-1), longest) * (0.5 + rand.Float64())
	return time.Duration(math.Ceil(min(d, longest)/float64(time.Second))) * time.Second
}
