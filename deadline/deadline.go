// Package deadline limits how long a call may take, and answers it even when its
// handler does not return.
//
//	server.AddReceivingMiddleware(deadline.New(&deadline.Options{
//		Limit: 20 * time.Second,
//		Tools: map[string]time.Duration{"export": 2 * time.Minute},
//	}))
//
// The handler runs in a goroutine of its own. When its time is over its context ends,
// with a [*LimitError] as the cause; what it returns within Options.Grace still
// counts if it is a success or a failure that it worded itself. Otherwise the caller
// is told of a timeout: the limit, whether the handler stopped, and whether the call
// may have taken effect, which is certain only for tools that say of themselves that
// they only read (readOnlyHint), and for resources, prompts and completions.
//
//	Timeout: the tool did not finish within 20 s. It was told to stop, but is still running.
//	Suggestion: Ask for less at a time if the tool allows it.
//	Retry: no. It may still take effect: check that before you try another way.
//
// A call that its client cancels is answered at once as cancelled. A panic of the
// handler becomes a [*middleware.PanicError] with its stack, and [runtime.Goexit], of
// which nobody else would hear, becomes [ErrGoexit].
//
// # Handlers that do not return
//
// Nothing can end a goroutine from outside, so a handler that ignores its context
// goes on. It is counted as stuck and recorded at level Warn when it is given up, and
// again when it ends after all, with what it returned and how late: that is never
// sent. While too many are stuck (Options.MaxStuck) further calls of the same tool
// are refused before they start; those that have started by then are not, so there
// can be more than that. What a stuck handler sends to its client with the context of
// the call, such as progress, is refused by the transport.
//
// A handler that is given up may still read its request. What it returns, and what it
// holds, is no part of the answer.
//
// # Waiting for the client
//
// With a client of protocol version 2025-11-25 an elicitation or a sampling request
// runs inside the handler, and a person may think for minutes. [Sending] stops the
// clock meanwhile, for the whole server; [Pause] does it by hand. Without either the
// time counts. Options.MaxPause bounds it.
//
// # Several limits
//
// A limit inside of another one may be shorter: the one that is reached first counts.
// Where the outer one cannot be reached later, as when the same middleware is
// installed twice, the inner one does nothing and costs no goroutine. An item of a
// batch has the limit of a call of its own.
package deadline

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/middleware"
)

// The defaults of [Options]. Clients that are built on the TypeScript SDK give up
// after 60 s where they are not told otherwise.
const (
	DefaultLimit         = 50 * time.Second
	DefaultGrace         = 100 * time.Millisecond
	DefaultMargin        = time.Second
	DefaultMaxPause      = 10 * time.Minute
	DefaultMaxStuck      = 10
	DefaultMaxStuckTotal = 100
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Limit is how long a call of a tool, the reading of a resource, the getting of a
	// prompt and a completion may take. Zero means [DefaultLimit]; with a negative
	// one only what Tools and Methods name is limited.
	Limit time.Duration

	// Tools gives single tools, by their names, limits of their own. A negative one
	// means none, and zero the one that other tools have.
	Tools map[string]time.Duration

	// Methods gives methods limits of their own, such as
	// [middleware.MethodReadResource], [middleware.MethodListTools] or a custom one.
	// A negative one means none, and zero that of Limit if the method has it.
	// Notifications, initialize, ping and subscriptions/listen cannot have a limit.
	Methods map[string]time.Duration

	// Grace is how long a handler that was told to stop may take to return before
	// the caller is answered without it; inside of another limit, at most half as long
	// as there. Zero means [DefaultGrace].
	Grace time.Duration

	// Caller returns how long the caller is going to wait for this call, from now
	// on, and zero or less when it does not know. MCP has no such field; a client of
	// your own may send it in _meta or in an HTTP header (req.GetExtra().Header).
	// It may be called concurrently, and one that panics does not know. The deadline
	// of the context, where there is one, is known without it; the shortest counts.
	// Nil means that nothing else is known.
	Caller func(ctx context.Context, req mcp.Request) time.Duration

	// Margin is by how much earlier than its caller gives up a call is answered,
	// where that time is known; at most a quarter of the time that is left. Zero
	// means [DefaultMargin].
	Margin time.Duration

	// MaxPause is for how long altogether the clock of one call may stand, see
	// [Pause]. Zero means [DefaultMaxPause]; with a negative one it never stands.
	MaxPause time.Duration

	// MaxStuck is how many handlers of one tool, prompt or resource, and
	// MaxStuckTotal how many of all, may be stuck before further calls are refused.
	// Zero means [DefaultMaxStuck] and [DefaultMaxStuckTotal]; negative ones set no
	// bound.
	MaxStuck      int
	MaxStuckTotal int

	// OnStuck is called when a handler is given up and again when it ends, for
	// metrics. It must return soon, because the caller waits for its answer. It may
	// be called concurrently; a panic of it is survived and ignored. The context has
	// the values of the call's and does not end. Nil means nothing is called.
	OnStuck func(ctx context.Context, s Stuck)

	// Logger gets the records of stuck handlers, and, when neither package correlate
	// nor package mask stands in the chain, of what the caller is not told. Nil means
	// the logger of the call, or else [slog.Default] at the time of the record.
	Logger *slog.Logger
}

// New returns a middleware that limits the time of calls. opts may be nil. Calls
// without a limit pass as if it were not there. It panics when an option makes no
// sense.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	r := newRoom(&o)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		limited := call.Wrap(r.run)(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r.limitOf(method, req) <= 0 {
				return next(ctx, method, req)
			}
			return limited(ctx, method, req)
		}
	}
}

type room struct {
	methods  map[string]time.Duration // only those that have a limit
	tools    map[string]time.Duration // all that are named; zero for none
	grace    time.Duration
	caller   func(context.Context, mcp.Request) time.Duration
	margin   time.Duration
	maxPause time.Duration
	stuck    counter
	looking  chan struct{} // bounds the lookups that may be stuck themselves
	onStuck  func(context.Context, Stuck)
	logger   *slog.Logger
	settings *call.Settings
}

func newRoom(o *Options) *room {
	check(o)
	r := &room{
		grace:    orDefault(o.Grace, DefaultGrace),
		caller:   o.Caller,
		margin:   orDefault(o.Margin, DefaultMargin),
		maxPause: max(0, orDefault(o.MaxPause, DefaultMaxPause)),
		stuck:    counter{perTarget: orDefault(o.MaxStuck, DefaultMaxStuck), inAll: orDefault(o.MaxStuckTotal, DefaultMaxStuckTotal)},
		looking:  make(chan struct{}, maxLookups),
		onStuck:  o.OnStuck,
		logger:   o.Logger,
		settings: &call.Settings{Logger: o.Logger},
		methods:  map[string]time.Duration{},
		tools:    map[string]time.Duration{},
	}
	for _, method := range []string{
		middleware.MethodCallTool, middleware.MethodReadResource, middleware.MethodGetPrompt, middleware.MethodComplete,
	} {
		r.methods[method] = orDefault(o.Limit, DefaultLimit)
	}
	for method, limit := range o.Methods {
		if limit != 0 {
			r.methods[method] = limit
		}
	}
	for name, limit := range o.Tools {
		if limit != 0 {
			r.tools[name] = limit
		}
	}
	return r
}

func check(o *Options) {
	for method := range o.Methods {
		switch {
		case method == "":
			panic("deadline.New: Options.Methods has an empty name; give that of a method, such as middleware.MethodReadResource")
		case strings.HasPrefix(method, "notifications/"), method == middleware.MethodInitialize,
			method == middleware.MethodPing, method == middleware.MethodListen:
			panic(fmt.Sprintf("deadline.New: Options.Methods[%q] cannot have a limit; remove it", method))
		}
	}
	if _, ok := o.Tools[""]; ok {
		panic("deadline.New: Options.Tools has an empty name; give that of a tool")
	}
	if o.Grace < 0 {
		panic("deadline.New: Options.Grace is negative; give zero for the default")
	}
	if o.Margin < 0 {
		panic("deadline.New: Options.Margin is negative; give zero for the default")
	}
}

func orDefault[T int | time.Duration](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}

// limitOf returns the limit of a call, zero or less for none.
func (r *room) limitOf(method string, req mcp.Request) time.Duration {
	if len(r.tools) > 0 && method == middleware.MethodCallTool {
		if limit, ok := r.tools[call.Target(req)]; ok {
			return limit
		}
	}
	return r.methods[method]
}

// run runs one call within its limit.
func (r *room) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if c.Quiet() || c.Notification() {
		return next(ctx, c.Method(), req)
	}
	began, limit, outer := time.Now(), r.limitOf(c.Method(), req), clockOf(ctx)
	if outer != nil && outer.c == c {
		if at, _ := outer.Deadline(); !began.Add(limit).Before(at) {
			return next(ctx, c.Method(), req) // the other one is reached first, or at the same time
		}
	}
	w := &run{room: r, req: req, next: next, began: began, limit: limit}
	w.parent, w.outer, w.c, w.grace = ctx, outer, c, r.grace
	w.deadline, w.slack = began.Add(limit), r.maxPause
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
	if !r.stuck.admits(w.target()) {
		return w.fail(w.tooManyStuck())
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
	if wait := w.ask(); wait > 0 && (!known || wait < left) {
		left, known = wait, true
	}
	if !known {
		return
	}
	margin := max(0, min(w.room.margin, left/4))
	w.latest = w.began.Add(left - margin)
	if left-margin < w.limit {
		w.limit, w.caller, w.grace = left-margin, true, min(w.grace, margin/2)
	}
}

// ask asks the user's own function, which must not fail the call.
func (w *run) ask() (wait time.Duration) {
	if w.room.caller == nil {
		return 0
	}
	defer func() {
		if recover() != nil {
			wait = 0
		}
	}()
	return w.room.caller(w.parent, w.req)
}
