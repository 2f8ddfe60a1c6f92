// Package mcpchain puts middlewares in front of an MCP server. The server survives its
// own failures. The model reads one short text: what failed, whether to call again, what
// to do next. The operator finds one log record with the whole error, under the ID that
// the caller has. The caller learns no secret.
//
//	server := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
//	// ... add tools, resources and prompts ...
//	server.AddReceivingMiddleware(mcpchain.Standard(nil))
//
// Every middleware is a plain [mcp.Middleware] of the official SDK and works alone:
// import its package and nothing else. Package middleware wraps a single handler instead
// of a server. Package fault is the error model.
package mcpchain

import (
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/validate"
)

// Options configure [Standard]. The zero value is the recommended default. A
// field that is nil stands for the defaults of its package.
type Options struct {
	// Logger is the logger of Correlate, if Correlate has none of its own. Every other part
	// that has none writes its records to the logger of Correlate. Nil means [slog.Default]
	// at the time of the record.
	Logger *slog.Logger

	// Recover configures both recoveries, the outermost and the innermost.
	Recover *mcprecover.Options

	// Correlate configures the IDs and the record of each call.
	Correlate *correlate.Options

	// Audit keeps an append-only record of who called what with which effect. Nil means
	// that there is none.
	Audit *audit.Options

	// Mask says what callers may know of errors.
	Mask *mask.Options

	// Validate says how wrong arguments and unknown names are explained.
	Validate *validate.Options

	// Drain lets the server end without losing a call. Nil means that nobody waits for
	// calls.
	Drain *drain.Options

	// Budget bounds what an answer costs its reader. Nil means that nothing is bounded;
	// the recommended bounds are those of &budget.Options{}.
	Budget *budget.Options

	// Limit bounds how often and how many at once callers may call. Nil means that
	// nothing is limited; the recommended limits are those of &limit.Options{}.
	Limit *limit.Options

	// Batch gives tools list forms. Nil means that there are none.
	Batch *batch.Options

	// Replay gives a call that is repeated with the same key its first answer. Nil means
	// that keys are not looked at.
	Replay *replay.Options

	// State keeps what conversations remember. Nil means that nothing does.
	State *state.Options

	// Degrade puts what [degrade.Run] knows of missing parts into the answers of tools.
	// Nil means that handlers do it themselves.
	Degrade *degrade.Options

	// Deadline limits how long calls may take. Nil means that nothing is limited; the
	// recommended limits are those of &deadline.Options{}. To stop the clock while a
	// person is asked something, add [deadline.Sending] to the server's sending
	// middlewares.
	Deadline *deadline.Options

	// Retry says when callers may call again, and what becomes of those who repeat a
	// hopeless call.
	Retry *retry.Options

	// RetryServer tries calls again inside the server, where that can do no harm, before
	// a failure is shown. Nil means that every failure is.
	RetryServer *retry.ServerOptions

	// Render says how failures are written on the wire. Nil means as package
	// middleware describes it.
	Render *middleware.RenderOptions

	// Observe changes nothing on the wire but what would have ended the process or would never have
	// been answered. The log has, for each failure, what was sent and what would have been sent. Of
	// the other fields only Logger, Recover, Correlate, Mask, Validate, Retry and Render are looked
	// at then. See [middleware.Observe].
	Observe bool
}

// Chain makes one middleware of several, the first outermost. See
// [middleware.Chain].
func Chain(mw ...mcp.Middleware) mcp.Middleware { return middleware.Chain(mw...) }

// Standard returns the recommended chain, outermost first:
//
//	recover > correlate > [audit] > mask > [drain] > [budget] > [limit] > [batch] > [replay] > [state] > inner... > retry > validate > [degrade] > [deadline] > [retry.Server] > recover > handler
//
// The outer recovery guards everything, your inner middlewares included; the inner
// one turns a handler's panic into an error before the others look at it. Answers
// travel from right to left: validate says what is wrong with the arguments, retry
// whether to call again, mask hides what is not meant for the caller, correlate has
// the last look and the log.
//
// What stands in brackets is there when its field in the Options is set. audit records
// what every other middleware did or refused, and refuses a call that it cannot record. It
// records a list of batch as one call. drain, budget and limit refuse before your
// middlewares run, in words of their own, which are recorded as any failure is. limit does
// not count what drain refuses. budget serves the rest of an answer without a new call.
// limit stands outside of batch and again inside of it, so that each item of a list counts
// as a call. Give [mask.Successes] as the first inner middleware: there it stands inside of
// what keeps answers, cuts them or puts them together.
//
// An inner middleware passes on the context that it got, or one made from it; for
// work that must go on when the caller gives up, [context.WithoutCancel].
//
// opts may be nil, and so may inner middlewares. Installing the chain twice, or
// one of its parts besides, is harmless: a failure is rendered and recorded once.
//
// Later calls of [mcp.Server.AddReceivingMiddleware] stand outside earlier ones,
// so add Standard last, or give your middlewares to it as inner ones.
func Standard(opts *Options, inner ...mcp.Middleware) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Observe {
		o = Options{Logger: o.Logger, Recover: o.Recover, Correlate: o.Correlate, Mask: o.Mask, Validate: o.Validate, Retry: o.Retry, Render: o.Render, Observe: true}
	}
	var correlation correlate.Options
	if o.Correlate != nil {
		correlation = *o.Correlate
	}
	if correlation.Logger == nil {
		correlation.Logger = o.Logger // that of the calls, in which all others write, too
	}
	var masking mask.Options
	if o.Mask != nil {
		masking = *o.Mask
	}
	if masking.Logger == nil {
		masking.Logger = correlation.Logger // mask.New warns of Reveal, outside of any call
	}
	limited := when(o.Limit != nil, limit.New, o.Limit)
	return Chain(
		mcprecover.New(o.Recover),
		when(o.Observe, func(*Options) mcp.Middleware { return middleware.Observe() }, &o),
		when(o.Render != nil, middleware.Render, o.Render),
		correlate.New(&correlation),
		when(o.Audit != nil, audit.New, o.Audit),
		mask.New(&masking),
		when(o.Drain != nil, drain.New, o.Drain),
		when(o.Budget != nil, budget.New, o.Budget),
		limited,
		when(o.Batch != nil, func(b *batch.Options) mcp.Middleware { return Chain(batch.New(b), limited) }, o.Batch),
		when(o.Replay != nil, replay.New, o.Replay),
		when(o.State != nil, state.New, o.State),
		Chain(inner...),
		retry.New(o.Retry),
		validate.New(o.Validate),
		when(o.Degrade != nil, degrade.New, o.Degrade),
		when(o.Deadline != nil, deadline.New, o.Deadline),
		when(o.RetryServer != nil, retry.Server, o.RetryServer),
		mcprecover.New(o.Recover),
	)
}

// when returns what build makes of the options, or nil where it is not asked for.
func when[T any](asked bool, build func(*T) mcp.Middleware, opts *T) mcp.Middleware {
	if !asked {
		return nil
	}
	return build(opts)
}
