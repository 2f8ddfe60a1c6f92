// Package correlate gives every call an ID and one log record. A caller quotes the ID,
// and the operator finds the whole error.
//
//	server.AddReceivingMiddleware(correlate.New(&correlate.Options{Logger: logger}))
//
// The record of a failed call has the reference that its answer carries:
//
//	level=ERROR msg="mcp call" method=tools/call tool=search outcome=internal_error duration_ms=12.1
//	reference=0198c7f2-9d3e-7c41-9f0a-5b7d6c1e2a34 client=inspector party=server error="dial tcp 10.0.0.7:5432: ..." error_types=...
//
// The ID is made when it is first needed. A call that succeeds without a record makes
// none. Handlers get the ID with [ID] and log with [Logger]. A logger whose handler is
// wrapped in [Handler] adds the reference to every record that is written with the
// context of a call.
//
// Arguments and results of calls are not logged. Errors are logged as they came, with
// one exception: the SDK's error about wrong arguments holds the wrong value. If package
// validate explains it, the record has the violations instead.
package correlate

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/middleware"
)

// An Outcome says in one word how a call ended.
type Outcome = call.Outcome

// An Event says how a call ended, for metrics, see Options.Observe.
type Event = call.Event

// Stats are gauges of the calls that pass one middleware, see Options.Stats.
type Stats = call.Stats

// Other stands in an [Event] for every text that a caller could have invented.
const Other = call.Other

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

	// NewID makes the ID of a call. It is called at most once a call, from many
	// goroutines at once, and only when somebody asks for the ID. Nil, or an empty
	// ID, means a UUIDv7 (RFC 9562).
	NewID func() string

	// Level gives the level at which an outcome is recorded. Nil means the levels that
	// Logger describes.
	Level func(Outcome) slog.Level

	// Observe is called with the end of every call, for metrics. The ID of the call is
	// [ID] of ctx. It is called before the answer is sent, from many goroutines at once, and
	// must return soon; a panic of it is survived. What is not recorded is not observed.
	Observe func(ctx context.Context, e Event)

	// Stats, if not nil, is kept up to date, for metrics.
	Stats *Stats
}

// New returns a middleware that records calls. opts may be nil. Notifications,
// subscriptions/listen, which lasts as long as its caller, and lookups that
// mcpchain itself makes are not recorded. When several stand in a chain, the
// outermost records.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	r := &recorder{
		logger:   o.Logger,
		settings: &call.Settings{Records: true, Logger: o.Logger, NewID: o.NewID, Level: o.Level, Observer: call.NewObserver(o.Observe, o.Stats)},
	}
	level := o.Level
	if level == nil {
		level = call.LevelOf
	}
	r.success = min(level(call.OutcomeOK), level(call.OutcomeInputRequired))
	return call.Wrap(r.call)
}

type recorder struct {
	logger   *slog.Logger // nil for the default one
	success  slog.Level   // the lowest at which a success is recorded
	settings *call.Settings
}

func (r *recorder) call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (res mcp.Result, err error) {
	method := c.Method()
	if c.Quiet() || !c.Establish(r.settings) || c.Notification() || method == middleware.MethodListen {
		return next(ctx, method, req)
	}
	c.Begin() // it must be read before it is known whether the call fails
	if r.settings.Observer != nil {
		c.Watch(r.settings.Observer)
	}
	returned := false
	defer func() {
		p := recover()
		if returned { // a panic is one of the log's, which must not fail the call
			return
		}
		// A panic passes, or a runtime.Goexit: record it and let it go on. The stack
		// of a panic that is raised again here is still whole.
		record := call.Record{Err: errGoexit}
		if p != nil {
			record.Err = c.Recovered(p, 1)
		}
		c.Log(r.logger, record)
		c.Observe(nil, record.Err)
		if p != nil {
			panic(p)
		}
	}()
	res, err = next(ctx, method, req)
	returned = true
	switch failure := c.Failure(res, err); {
	case failure != nil && failure.Err() != nil:
		c.Log(r.logger, call.Record{Result: res, Err: err})
	case failure != nil, r.records(ctx): // the result may yet turn out to be one that cannot be sent
		c.LogAtEnd(call.Record{Result: res, Err: err})
	}
	return res, err
}

// records reports whether successes are recorded.
func (r *recorder) records(ctx context.Context) bool {
	logger := r.logger
	if logger == nil {
		logger = slog.Default()
	}
	return logger.Enabled(ctx, r.success)
}

// ID returns the ID of the call that ctx belongs to, and makes it if nobody asked
// before. It is "" outside a call.
func ID(ctx context.Context) string {
	if c := call.FromContext(ctx); c != nil {
		return c.ID()
	}
	return ""
}

// Logger returns the logger of the call that ctx belongs to, with the attribute
// "reference" for its ID. Outside a call it is [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	c := call.FromContext(ctx)
	if c == nil {
		return slog.Default()
	}
	return c.Logger().With(slog.String(Key, c.ID()))
}
