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
	if g.seen.total.Load() > 0 && !failure.Failed(res, err) && !call.NeedsInput(res) { // something has failed meanwhile
		g.worked(ctx, c, req, next, nil)
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
		g.seen.update(&what, func(k *tally) { k.succeeded(&what) })
	}
	g.worked(ctx, c, req, next, &what)
	return res, err
}

// worked notes the success of a call while something fails.
func (g *guide) worked(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, what *identity) {
	if _, tool := req.(*mcp.CallToolRequest); tool && !g.HideOthers && (what != nil || g.seen.busyWith(req)) {
		g.seen.others.worked(call.Target(req))
	}
	if g.seen.closing() {
		g.changed(ctx, c, req, next, what)
	}
}

// AtFailure counts a failure and adds guidance to it.
func (g *guide) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if c.GivenUp() { // its caller reads nothing, but may call again
		g.leave(c, at)
		return
	}
	if f.Guided() || c.RefusedBy() == refusing || f.OwnWords() { // the cause of a tool's own words is unknown
		return
	}
	what := g.identify(c, at.Req, g.locate(at.Ctx, at.Req))
	what.began = at.Began
	if batch := c.Parent(); batch != nil {
		g.together(batch, &what)
	}
	g.advise(at.Ctx, c, at.Req, at.Next, f, &what)
}

// leave remembers the handler of a call that its caller gave up, as long as it runs and may write.
func (g *guide) leave(c *call.Call, at call.Entry) {
	s := c.Straggler()
	if !s.Running() {
		return
	}
	if what := g.identify(c, at.Req, g.locate(at.Ctx, at.Req)); what.identified && g.safety(at.Ctx, c, at.Next) != failure.Reads {
		g.seen.update(&what, func(k *tally) {
			n := k.add(what.call, &what)
			n.stragglers = append(n.stragglers, s)
		})
	}
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
		return p.refused
	}
	if !look(0) {
		return nil
	}
	if p.running == 0 {
		g.seen.closes(what.owner, p.rest)
		if last := g.seen.lastChange(what.owner); last != 0 && !look(last) {
			return nil
		}
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
			g.count(what, e, fault.Retry{}, false, false, call.Straggler{})
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
	attempts, limit := max(declared(req), max(own.NextAttempt, 1)-1), cmp.Or(max(0, own.MaxAttempts), g.MaxAttempts)
	at.Counted = func(advice fault.Retry, passes bool) failure.Counts {
		n := failure.Counts{Limit: limit, Steps: len(e.Data().RecoverySteps) > 0}
		if !what.identified {
			n.Attempts, n.Wait = attempts, g.wait(e.Kind(), max(0, attempts-1))
			return n
		}
		var straggler call.Straggler
		if advice.Reason == fault.StillRunning && g.safety(ctx, c, next) != failure.Reads {
			straggler = c.Straggler()
		}
		cut := f.View().By == classify.Cut
		h := g.count(what, e, advice, passes, cut, straggler)
		attempts = max(attempts, h.failures)
		n.Attempts, n.Lasts, n.Wait = attempts, h.lasts, h.wait
		n.NotNow = h.passing > 1 && h.outage >= g.GiveUpAfter || cut && h.cuts >= maxCuts
		if !passes && g.RefuseAfter > 0 && h.same >= (g.RefuseAfter+1)/2 {
			n.Same = h.same
		}
		if h.streak >= streakAfter {
			n.Streak = h.streak
		}
		if what.streaks && !g.HideOthers && c.RefusedBy() == "" && (passes || broken(e.Kind())) {
			n.Fact = g.seen.others.failed(what, c.Trusted(), h.lasts)
		}
		return n
	}
	answer := f.Again(at)
	if retry := &answer.Retry; retry.ShouldRetry {
		if retry.NextAttempt = max(0, own.NextAttempt); retry.NextAttempt == 0 && attempts > 0 {
			retry.NextAttempt = attempts + 1
		}
		retry.MaxAttempts = cmp.Or(retry.MaxAttempts, limit)
	}
	said, suggest := answer.Said(), suggestion(f, e, &answer)
	if more := g.uncounted(&answer, limit, f.Masked() && answer.By != classify.Proven); more != "" && !what.identified && attempts == 0 {
		if suggest != "" {
			suggest = words.Ended(suggest) + " "
		}
		suggest += more
	}
	f.Guide(failure.Guidance{Retry: said, Suggestion: suggest})
}

// uncounted is the advice for a caller whose calls are not counted: nothing else ends its loop. A refusal
// of ours ends by itself.
func (g *guide) uncounted(a *failure.Answer, limit int, masked bool) string {
	switch {
	case a.Retry.Reason == fault.StillRunning:
		return ""
	case a.Retry.ShouldRetry && a.Retry.MaxAttempts == 0 && limit == 0 && a.Hint.After == 0:
		return "If it fails again, wait longer each time, and tell the user after " + words.Wait(g.GiveUpAfter) + "."
	case a.Retry.ShouldRetry && a.Retry.MaxAttempts == 0 && limit == 0 && a.By != classify.Proven && a.Retry.RetryAfterSeconds <= words.LongestWait:
		return "Tell the user if it still fails after " + words.Wait(g.GiveUpAfter) + "."
	case masked:
		return "Tell the user if it fails again."
	default:
		return ""
	}
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
	// maxCuts is how often a call may run into a limit of ours before the answer is "not now": each costs its
	// caller the whole limit.
	maxCuts = 3
	// forgetAfter is how long a failed call is remembered after its last failure, and after the
	// wait that was sent with it.
	forgetAfter = 10 * time.Minute
	// maxKeep is the longest wait for which a call is remembered.
	maxKeep = 24 * time.Hour
)

// count counts a failure. straggler is the handler of a call that was given up, and empty if the call may be
// made again meanwhile.
func (g *guide) count(what *identity, e *fault.Error, advice fault.Retry, passes, cut bool, straggler call.Straggler) (h history) {
	asked := time.Duration(min(max(0, advice.RetryAfterSeconds), maxKeep.Seconds()) * float64(time.Second))
	f := failing{
		error: sign(e), text: headline(e), keep: forgetAfter + max(asked, min(12*g.InitialInterval, maxKeep)), passes: passes, cut: cut, asked: asked, straggler: straggler,
		wait:  func(failures int) time.Duration { return g.wait(e.Kind(), failures) },
		final: kinds.Of(string(e.Kind())).Final || !advice.ShouldRetry && !advice.Unknown && advice.Reason != fault.StillRunning && advice != fault.Retry{},
	}
	if later := advice.Reason == fault.NotNow || advice.Reason == fault.StillRunning; later && advice.Effect != fault.EffectUnknown {
		f.final = false
	}
	if advice.Effect == fault.EffectUnknown || advice.Effect == fault.EffectCommitted {
		f.text = words.Ended(f.text) + " " + lookFirst
	}
	if g.RefuseAfter > 0 && !passes {
		f.refuseAfter, f.broken = g.RefuseAfter, broken(e.Kind())
	}
	g.seen.update(what, func(k *tally) { h = k.failed(what, &f) })
	if h.rest > 0 {
		g.seen.closes(what.owner, h.rest)
	}
	return h
}

// broken reports whether a failure of this kind shows that the tool or what it needs
// is broken. What the caller did wrong does not: other arguments may be right.
func broken(kind fault.Kind) bool {
	party := kinds.Of(string(kind)).Party
	return party == "server" || party == "upstream" || kind == fault.KindTimeout
}

// wait returns how long to wait after an outage has cost this many waits, in whole seconds: one, three,
// nine, then twelve times the first. A limit takes longer to pass. By chance each is up to a fifth
// longer, never shorter, so that callers that failed together do not come back together. Below 6 s no
// second is left for chance.
func (g *guide) wait(kind fault.Kind, waits int) time.Duration {
	factors := []float64{1, 3, 9, 12}
	if kind == fault.KindRateLimited {
		factors = []float64{6, 12}
	}
	seconds := math.Ceil(g.InitialInterval.Seconds() * factors[min(waits, len(factors)-1)])
	return time.Duration(min(seconds*(1+rand.Float64()/5), maxKeep.Seconds())) * time.Second // whole seconds
}
