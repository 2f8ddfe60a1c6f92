// Package deadline limits how long a call may take, and answers it even when its
// handler does not return.
//
//	server.AddReceivingMiddleware(deadline.New(&deadline.Options{
//		Limit: 20 * time.Second,
//		Tools: map[string]time.Duration{"export": 2 * time.Minute},
//	}))
//
// The handler runs in a goroutine of its own. When its limit is reached its context
// ends, with a [*LimitError] as the cause. What it returns within Options.Grace still
// counts if it is a success or a failure that it worded itself. Otherwise the caller
// is told of a timeout: the limit, whether the handler stopped, and whether the call
// may have taken effect. Only tools with a readOnlyHint, resources, prompts and
// completions are known to have had no effect.
//
//	Timeout: the tool did not finish within 20 s. It was told to stop, but is still running.
//	Suggestion: Ask for less at a time if the tool allows it.
//	Retry: no. It may still take effect: check that before you try another way.
//
// A call that its client cancels is answered at once as cancelled. A panic of the
// handler becomes a PanicError with its stack, as package recover has it, and
// [runtime.Goexit] becomes [ErrGoexit].
//
// # Handlers that do not return
//
// Nothing can end a goroutine from outside, so a handler that ignores its context
// goes on. It counts as stuck from the answer on, or, if its client cancelled the call,
// when it has had five seconds to wind down. It is recorded at level Warn then, and again
// when it ends, with what it returned and how late; that is never sent.
//
// Stuck handlers are counted for each owner and each of the owner's tools, for the owner,
// and for all, and so are running ones: see Options.MaxStuck and Options.Burst. Calls
// beyond a bound are refused before they start. An owner is who is authenticated; all
// callers without an identity are one owner. No owner can use up the bound of all.
//
// What a stuck handler sends to its client with the context of the call, such as
// progress, is refused by the transport. It may still read its request.
//
// # Waiting for the client
//
// With a client of protocol version 2025-11-25 an elicitation or a sampling request
// runs inside the handler, and a person may think for minutes. [Sending] stops the
// clock meanwhile, for the whole server; [Pause] does it by hand. Options.MaxPause
// bounds it.
//
// # Several limits
//
// Where two of these middlewares limit one call, the limit that is reached first counts.
// If the inner one cannot be reached first it does nothing and costs no goroutine. An
// item of a batch has the limit of a call of its own.
package deadline

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Options configure [New]. The zero value is the recommended default. In each field that
// is a time or a number, zero means the default and a negative value means none: no
// limit, no grace, no pause, no bound.
type Options struct {
	// Limit is how long a call of a tool, the reading of a resource, the getting of a
	// prompt and a completion may take. Zero means 50 s, because clients that are built on the TypeScript
	// SDK give up after 60 s where they are not told otherwise. With a negative one
	// only what Tools and Methods name is limited. A limit is at least a millisecond.
	Limit time.Duration

	// Tools gives single tools, by their names, limits of their own. Zero means the
	// limit that other tools have.
	Tools map[string]time.Duration

	// Methods gives methods limits of their own, such as [middleware.MethodReadResource],
	// "tools/list" or a custom one. Zero means Limit, if that is for the
	// method. Notifications, initialize, ping and subscriptions/listen cannot have a limit.
	Methods map[string]time.Duration

	// Logger gets the records of stuck handlers, and, when neither package correlate
	// nor package mask stands in the chain, of what the caller is not told. Nil means
	// the logger of the call, or else [slog.Default] at the time of the record.
	Logger *slog.Logger

	// Owner names who makes a call. It may be called concurrently. Nil means the
	// authenticated user (RequestExtra.TokenInfo.UserID). Calls for which it returns ""
	// or panics have one owner together.
	Owner func(ctx context.Context, req mcp.Request) string

	// MaxStuck is how many handlers of one tool, prompt or resource may be stuck for one
	// owner before further calls are refused (10), and MaxStuckTotal how many of all (100).
	// Of one owner a quarter of these may be, or MaxStuck if that is more.
	MaxStuck, MaxStuckTotal int

	// Burst is how many times as many handlers may run at the same time as may be
	// stuck, under each of the three bounds (20): what is there before the first one is
	// stuck. With 1 there are never more stuck handlers than the bounds say.
	Burst int

	// OnStuck is called when a handler is given up and again when it ends, for
	// metrics. It must return soon, because the caller waits for its answer. It may
	// be called concurrently; a panic of it is survived and ignored. The context has
	// the values of the call's and does not end. Nil means nothing is called.
	OnStuck func(ctx context.Context, s Stuck)

	// Grace is how long a handler that was told to stop may take to return before
	// the caller is answered without it (100 ms). Inside of another limit it is at most
	// half as long as there.
	Grace time.Duration

	// Caller returns how long the caller is going to wait for this call, from now
	// on, and zero or less when it does not know. MCP has no such field; a client of
	// your own may send it in _meta or in an HTTP header (req.GetExtra().Header).
	// It may be called concurrently, and one that panics does not know. The deadline
	// of the context, where there is one, is known without it; the shortest counts. The
	// call is answered a second before, or when three quarters of a shorter time are over.
	// Nil means that nothing else is known.
	Caller func(ctx context.Context, req mcp.Request) time.Duration

	// MaxPause is for how long altogether the clock of one call may stand, see
	// [Pause] (10 min).
	MaxPause time.Duration
}

// New returns a middleware that limits the time of calls. opts may be nil. Calls
// without a limit pass as if it were not there. It panics when an option makes no
// sense.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	l := newLimiter(o)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		limited := call.Wrap(l.run)(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if l.limitOf(method, req) <= 0 {
				return next(ctx, method, req)
			}
			return limited(ctx, method, req)
		}
	}
}

// limiter is what New makes of the Options.
type limiter struct {
	Options
	methods  map[string]time.Duration // only those that have a limit
	handlers counter
	looking  chan struct{} // bounds the lookups that may be stuck themselves
	owners   call.Owners
	settings *call.Settings
}

// limitOf returns the limit of a call, zero or less for none.
func (l *limiter) limitOf(method string, req mcp.Request) time.Duration {
	if len(l.Tools) > 0 && method == call.MethodCallTool {
		if limit := l.Tools[call.Target(req)]; limit != 0 {
			return limit
		}
	}
	return l.methods[method]
}

// run runs one call within its limit.
func (l *limiter) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if c.Quiet() || c.Notification() {
		return next(ctx, c.Method(), req)
	}
	began, limit, outer := time.Now(), l.limitOf(c.Method(), req), clockOf(ctx)
	if outer != nil && outer.c == c {
		if at, _ := outer.Deadline(); !began.Add(limit).Before(at) {
			return next(ctx, c.Method(), req) // the other one is reached first, or at the same time
		}
	}
	w := &run{limiter: l, req: req, next: next, began: began, limit: limit}
	w.parent, w.outer, w.c, w.grace = ctx, outer, c, l.Grace
	w.deadline, w.slack = began.Add(limit), l.MaxPause
	if outer != nil {
		w.grace = min(w.grace, outer.grace/2) // it must be told before it is given up itself
	}
	if outer == nil || outer.c != c { // the margin is for those who wait for the call
		w.callerWaits()
	}
	if err := ctx.Err(); err != nil {
		return w.fail(w.notStarted(err))
	}
	if w.limit <= 0 {
		return w.fail(w.notStarted(context.DeadlineExceeded))
	}
	w.slot = slot{l.owners.Principal(ctx, req), c.Method(), call.Target(req)}
	if refused := l.handlers.admit(w.slot); refused != "" {
		c.Refused("deadline")
		return w.fail(w.refused(refused))
	}
	w.outcomes = make(chan outcome, 2)
	w.start(w.limit, w.timeUp)
	go w.handle()
	return w.wait()
}

// callerWaits shortens the limit to what the caller's own leaves, if that is known.
func (w *run) callerWaits() {
	left, known := time.Duration(0), false
	if at, ok := w.parent.Deadline(); ok {
		left, known = at.Sub(w.began), true
	}
	if w.Caller != nil {
		var wait time.Duration
		safe.Call(func() { wait = w.Caller(w.parent, w.req) }, nil)
		if wait > 0 && (!known || wait < left) {
			left, known = wait, true
		}
	}
	if !known {
		return
	}
	margin := max(0, min(maxMargin, left/4))
	w.latest = w.began.Add(left - margin)
	if left-margin < w.limit {
		w.limit, w.caller, w.grace = left-margin, true, min(w.grace, margin/2)
	}
}
