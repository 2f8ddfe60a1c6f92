// Package deadline limits how long a call may take, and answers it even when its
// handler does not return.
//
//	server.AddReceivingMiddleware(deadline.New(&deadline.Options{
//		Limit: 20 * time.Second,
//		Tools: map[string]time.Duration{"export": 2 * time.Minute},
//	}))
//
// The handler runs in a goroutine of its own. When its limit is reached its context ends, with a
// [*LimitError] as the cause. A success within Options.Grace still counts, and so does a failure that
// the handler worded itself. Otherwise the caller reads a timeout. It says the limit, whether the
// handler stopped, and whether the call may have taken effect. Only tools with a readOnlyHint,
// resources, prompts and completions certainly had no effect.
//
//	Timeout: the tool did not finish within 20 s. It was told to stop, but is still running.
//	Suggestion: Ask for less at a time, or for another form, if the tool allows it.
//	Retry: not the same call: it is still running after 20 s. It may still take effect.
//
// A call that its client cancels is answered at once as cancelled. A panic of the
// handler becomes a PanicError with its stack, as package recover has it, and so does
// [runtime.Goexit].
//
// # Handlers that do not return
//
// Nothing can end a goroutine from outside, so a handler that ignores its context
// goes on. It counts as stuck as soon as its call is answered. If its client cancelled the
// call, it counts as stuck after five seconds. A stuck handler is recorded at level Warn.
// When it ends, a second record says how late, and with which outcome. Its result is never
// sent.
//
// There are three bounds for stuck handlers: for one tool of one owner, for one owner, and for all.
// Calls beyond a bound are refused before they start. Under each bound 20 times as many handlers
// may run as may be stuck; see Options.MaxStuck. An owner is an authenticated user; all callers
// without an identity are one owner. No owner can use up the bound for all. Stats and Observe of
// package correlate say how many are stuck.
//
// What a stuck handler sends to its client with the context of the call, such as
// progress, is refused by the transport. It may still read its request.
//
// # Waiting for the client
//
// With a client of protocol version 2025-11-25 an elicitation or a sampling request
// runs inside the handler, and a person may think for minutes. [Sending] stops the
// clock meanwhile, for the whole server; [Pause] does it by hand.
//
// # Several limits
//
// If the context of a call has a deadline already, the caller waits no longer than that. The
// call is answered one second before the deadline. If less than four seconds are left, it is
// answered after three quarters of them. MCP has no field for such a deadline. A middleware
// of yours outside of this one can read it from _meta or from an HTTP header, and call next
// with [context.WithTimeout].
//
// Where two of these middlewares limit one call, the limit that is reached first counts.
// If the inner one cannot be reached first it does nothing and costs no goroutine. An
// item of a batch has the limit of a call of its own.
package deadline

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/table"
)

// Options configure [New]. The zero value is the recommended default. In each field that
// is a time or a number, zero means the default and a negative value means none: no
// limit, no grace, no bound.
type Options struct {
	// Limit is how long a call of a tool, the reading of a resource, the getting of a
	// prompt and a completion may take. Zero means 50 s, because by default clients that
	// are built on the TypeScript SDK give up after 60 s. With a negative one only the
	// calls that Tools names are limited. A limit is at least a millisecond.
	Limit time.Duration

	// Tools gives single tools, by their names, limits of their own. Zero means the
	// limit that other tools have.
	Tools map[string]time.Duration

	// Logger gets the records of stuck handlers. If neither package correlate nor package mask
	// stands in the chain, it also gets those of failures whose cause is hidden from the caller.
	// Nil means the logger of the call, or else [slog.Default] at the time of the record.
	Logger *slog.Logger

	// Owner names the caller of a request. It may be called concurrently. Nil means the
	// authenticated user (RequestExtra.TokenInfo.UserID). All calls belong to one owner if Owner
	// returns "" for them or panics.
	Owner func(ctx context.Context, req mcp.Request) string

	// MaxStuck is how many handlers of one tool, prompt or resource may be stuck for one owner
	// before further calls are refused. Zero means 10; a negative number means no bound. For all
	// tools of one owner the bound is two and a half times as high (25), for all owners together
	// ten times (100). For each of the three bounds, 20 times as many handlers may run at the same
	// time.
	MaxStuck int

	// Grace is how long a handler may take to return after its context ended, before the caller is
	// answered without it. Zero means 100 ms; with a negative one the caller is answered at once.
	// Inside of another middleware of this package it is at most half of that one's Grace.
	Grace time.Duration
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
		limited := call.WrapLayer("deadline.New", call.Func(l.run), nil)(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if l.limitOf(method, req) <= 0 {
				return next(ctx, method, req)
			}
			return limited(ctx, method, req)
		}
	}
}

// limiter is the middleware that New returns.
type limiter struct {
	Options

	handlers counter
	usual    table.Names[durations]
	looking  chan struct{} // bounds the lookups that may be stuck themselves
	owners   owner.Finder
	settings *call.Settings
}

// limitOf returns the limit of a call, zero or less for none.
func (l *limiter) limitOf(method string, req mcp.Request) time.Duration {
	switch method {
	case call.MethodCallTool:
		return cmp.Or(l.Tools[call.Target(req)], l.Limit)
	case call.MethodReadResource, call.MethodGetPrompt, call.MethodComplete:
		return l.Limit
	default:
		return 0
	}
}

// run runs one call within its limit.
func (l *limiter) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if c.Quiet() {
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
	w.deadline, w.slack = began.Add(limit), maxPause
	if outer != nil {
		w.grace = min(w.grace, outer.grace/2) // this run must answer before the outer one gives it up
	}
	if at, ok := ctx.Deadline(); ok && (outer == nil || outer.c != c) { // the margin is for the caller that waits
		w.callerWaits(at.Sub(began))
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
	defer func() {
		if !w.left {
			w.handlers.add(w.slot, -1, 0)
		}
	}()
	w.up = make(chan struct{})
	w.start(w.limit, w.timeUp)
	w.handler = apart.Go(w.handle)
	return w.wait()
}

// callerWaits shortens the limit, and what pauses may add to it, to fit the time for which the
// caller still waits.
func (w *run) callerWaits(left time.Duration) {
	margin := max(0, min(maxMargin, left/4))
	left -= margin
	if left < w.limit {
		w.limit, w.caller, w.grace = left, true, min(w.grace, margin/2)
		w.deadline = w.began.Add(left)
	}
	w.slack = min(w.slack, left-w.limit)
}
