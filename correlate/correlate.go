// Package correlate gives every call an ID and one log record. A caller quotes the ID,
// and the operator finds the whole error.
//
//	server.AddReceivingMiddleware(correlate.New(&correlate.Options{Logger: logger}))
//
// The record of a failed call has the reference that its answer carries:
//
//	level=ERROR msg="mcp call" method=tools/call tool=search outcome=internal_error kind=internal_error duration_ms=12.1
//	reference=0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34 client=inspector party=server error="dial tcp 10.0.0.7:5432: ..." error_types=...
//
// The ID is made when it is first needed. A call that succeeds without a record makes
// none. Handlers get the ID with [ID] and log with [Logger]. A logger whose handler is
// wrapped in [Handler] adds the reference to every record that is written with the
// context of a call.
//
// Outcome says how the call ended, and kind which kind of failure the caller reads. Over HTTP
// the record has the authenticated user and the beginning of a hash of the session's ID, which
// is itself a credential. An item of a batch or a part of an answer that fails has a record of
// its own, "mcp part of a call".
//
// Arguments and results of calls are not logged, unless Advanced asks for arguments. Errors are
// logged as they came, with one exception: the SDK's error about wrong arguments holds the
// wrong value. If package validate explains it, the record has the violations instead.
package correlate

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Logger gets one record a call. Nil means [slog.Default] at the time of the
	// record.
	//
	// Successes are recorded at level Debug; while the Logger does not take that
	// level, they cost neither an ID nor a record. Failures that the caller can
	// correct are recorded at Info, those of something that the server needs at Warn,
	// and bugs at Error.
	Logger *slog.Logger

	// NewID makes the ID of a call, its reference. It is called at most once a call, and only
	// when the ID is needed. Nil means a UUIDv7 (RFC 9562), which also replaces a text that
	// cannot be an ID, see [Source]. Do not let callers choose the whole ID: one could choose
	// the ID of another caller's call. [Extend] prevents it.
	NewID Source

	// Level gives the level at which an outcome is recorded. Nil means the levels that
	// Logger describes. A failure that a rule of package mask words is recorded at no
	// lower level than without the rule, unless the rule's fault says that the caller is
	// to blame. It may be called concurrently, each time in a goroutine of its own; if it
	// panics, the record has its default level. New calls it, too, for the two outcomes of a
	// success, and does not survive a panic there.
	Level func(Outcome) slog.Level

	// Slow is how long a call may take. One that took longer is recorded at Warn or
	// above, a success too, with slow=true. Zero means that no call is slow.
	Slow time.Duration

	// Attrs adds attributes of the program's own to the record: a tenant, for example. It is
	// called once for each record, each time in a goroutine of its own, so calls may overlap.
	// At most 32 attributes are taken, those in groups included. A value above 1 KiB is cut to
	// the beginning of its text. A panic or a runtime.Goexit of Attrs is survived. Nil adds
	// none.
	Attrs func(ctx context.Context, req mcp.Request) []slog.Attr

	// Observe is called when a call ends, before the answer is sent, for metrics. [ID] of ctx
	// is the ID of the call. It is called each time in a goroutine of its own, so calls may
	// overlap, and it must return soon. A panic or a runtime.Goexit of it is survived. It is
	// not called for what is not recorded. Nil observes nothing.
	Observe func(ctx context.Context, e Event)

	// Stats, if not nil, is kept up to date, for metrics.
	Stats *Stats

	// Advanced holds options that few servers need.
	Advanced Advanced
}

// Advanced are the options of [New] that few need. The zero value is the recommended
// default.
type Advanced struct {
	// CallerID reads the ID that the caller gave its call. It stands in the record as
	// "caller_id", beside the reference. Nil means that none is read.
	CallerID Source

	// ArgumentNames records the names of the top-level arguments of tools and prompts, as the
	// members of the JSON object "arguments". It also records the size of all arguments, as
	// "arguments_bytes".
	ArgumentNames bool

	// ArgumentValues is how many bytes of names and values are recorded for one call, such as
	// 1024. Zero records no values. Null is recorded for an argument whose name says secret,
	// that the schema marks as one (format "password", writeOnly, a title that says so,
	// x-sensitive or x-secret), or that the schema does not declare. If the schema of a tool
	// cannot be read, null is recorded for all its arguments. Credentials that are recognised
	// in a value are hidden.
	ArgumentValues int

	// ReferenceInSuccess puts the ID of a call into the _meta of its success, under
	// [ReferenceKey]. A failure has it in any case.
	ReferenceInSuccess bool
}

// ReferenceKey is the key in _meta of the reference in a success.
const ReferenceKey = wire.ReferenceKey

// New returns a middleware that records calls. opts may be nil. Notifications,
// subscriptions/listen, which lasts as long as its caller, and lookups that
// mcpchain itself makes are not recorded. When several stand in a chain, the
// outermost records. New panics when an option is negative.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case o.Slow < 0:
		panic("correlate.New: Options.Slow is negative; give a time, or zero if no call is slow")
	case o.Advanced.ArgumentValues < 0:
		panic("correlate.New: Options.Advanced.ArgumentValues is negative; give a number of bytes, such as 1024, or zero for none")
	}
	r := &recorder{options: o, stats: cmp.Or(o.Stats, new(Stats)), success: slog.LevelDebug}
	if o.Level != nil {
		r.success = min(o.Level(call.OutcomeOK), o.Level(call.OutcomeInputRequired))
	}
	r.settings = &call.Settings{Logger: o.Logger, Recorder: r}
	return call.WrapLayer("correlate.New", r, nil)
}

// A recorder is the middleware that New returns. It is also the [call.Recorder].
type recorder struct {
	options  Options
	settings *call.Settings
	stats    *Stats
	success  slog.Level // the lowest level at which a success is recorded

	names   table.Names[struct{}] // of tools that the server has, not of those that callers invent
	schemas secrets.Schemas
}

func (r *recorder) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (res mcp.Result, err error) {
	method := c.Method()
	if c.Quiet() || !c.Establish(r.settings) || c.Unanswered() {
		return next(ctx, method, req)
	}
	if c.Begin(r.options.Observe != nil || r.options.Stats != nil) { // the time must be read before it is known whether the call fails
		r.stats.InFlight.Add(1)
	}
	if r.options.Advanced.ReferenceInSuccess {
		c.ReferAtEnd()
	}
	returned := false
	defer func() {
		p := recover()
		if returned { // a panic came from the log, and must not fail the call
			return
		}
		// A panic or a runtime.Goexit passes: record it and let it go on. A panic that is
		// raised again here keeps its whole stack.
		cause := errGoexit
		if p != nil {
			cause = c.Recovered(p, 1)
		}
		f := c.End(nil, cause)
		c.Log(nil, f, 0)
		c.NotifyEnd(nil, f)
		if p != nil {
			panic(p)
		}
	}()
	res, err = next(ctx, method, req)
	returned = true
	if r.options.Slow > 0 && r.slow(c.Duration()) || c.Logger().Enabled(ctx, r.success) {
		c.LogAtEnd()
	}
	return res, err
}

// ID returns the ID of the call that ctx belongs to, and makes it if there is none yet. It is
// "" outside a call.
func ID(ctx context.Context) string {
	if c := call.FromContext(ctx); c != nil {
		return c.ID()
	}
	return ""
}

// OutcomeOf says in one word how a call ended that returned res and err, for a middleware of
// your own. Outside of mcpchain's middlewares it judges by res and err alone.
func OutcomeOf(ctx context.Context, res mcp.Result, err error) Outcome {
	c := call.FromContext(ctx)
	if c == nil {
		c = &call.Call{Context: ctx}
	}
	return Outcome(c.Outcome(res, c.Judge(res, err)))
}

// Logger returns the logger of the call that ctx belongs to, with the attribute
// "reference" for its ID. Outside a call it is [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	c := call.FromContext(ctx)
	if c == nil {
		return slog.Default()
	}
	return c.Logger().With(slog.String(reference, c.ID()))
}
