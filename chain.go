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

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/optional"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// Options configure [Standard]. The zero value is the recommended default. A nil field means the
// defaults of its package, or leaves the package out if its comment says so.
//
// A field of package optional takes a pointer to the options of the package with its name, as in
// Options{Limit: &limit.Options{}}. A program links only the packages whose options it sets.
type Options struct {
	// Logger is the logger of Correlate, if Correlate has none of its own. Every other part
	// that has none writes its records to the logger of Correlate. Nil means [slog.Default]
	// at the time of the record.
	Logger *slog.Logger

	// Recover configures both recoveries, the outermost and the innermost.
	Recover *mcprecover.Options

	// Correlate configures the IDs and the record of each call.
	Correlate *correlate.Options

	// Audit keeps an append-only record of each call: the caller, the target and the effect. Nil
	// means that there is none.
	Audit optional.Audit // a *audit.Options

	// Mask says what callers may know of errors.
	Mask *mask.Options

	// Validate says how wrong arguments and unknown names are explained.
	Validate *validate.Options

	// Drain lets the server shut down without losing a call. Nil: shutdown does not wait for running
	// calls.
	Drain optional.Drain // a *drain.Options

	// Budget bounds what an answer costs its reader. Nil means no bounds; the recommended bounds are
	// those of &budget.Options{}.
	Budget optional.Budget // a *budget.Options

	// Limit bounds how often callers may call, and how many calls they may make at once. Nil means
	// no limits; the recommended limits are those of &limit.Options{}.
	Limit optional.Limit // a *limit.Options

	// Batch adds list forms to tools. Nil means that there are none.
	Batch optional.Batch // a *batch.Options

	// Replay answers a call that is repeated with the same key with its first answer. Nil means that
	// keys are ignored.
	Replay optional.Replay // a *replay.Options

	// State keeps what conversations remember. Nil means that nothing is kept.
	State optional.State // a *state.Options

	// Degrade adds the missing parts that degrade.Run recorded to the answers of tools. Nil means
	// that handlers add them.
	Degrade optional.Degrade // a *degrade.Options

	// Deadline limits how long calls may take. Nil means no limits; the recommended limits are those
	// of &deadline.Options{}. To stop the clock while the server waits for a person's input, add
	// deadline.Sending to the server's sending middlewares.
	Deadline optional.Deadline // a *deadline.Options

	// Retry says when callers may call again, and how calls are treated that repeat a hopeless call.
	Retry *retry.Options

	// RetryServer tries calls again inside the server, if that does no harm, before a failure is
	// shown. Nil means that every failure is shown.
	RetryServer optional.RetryServer // a *retry.ServerOptions

	// Render says how failures are written on the wire. Nil means the form that package middleware
	// describes.
	Render *middleware.RenderOptions

	// Observe sends every answer unchanged, unless it would have ended the process or would never
	// have been sent. For each failure the log has what was sent and what would have been sent.
	// Observe uses only these other fields: Logger, Recover, Correlate, Mask, Validate, Retry and
	// Render. See [middleware.Observe].
	Observe bool
}

// Chain makes one middleware of several, the first outermost. See
// [middleware.Chain].
func Chain(mw ...mcp.Middleware) mcp.Middleware { return middleware.Chain(mw...) }

// Standard returns the recommended chain, outermost first:
//
//	recover > correlate > [audit] > mask > [drain] > [budget] > [limit] > [batch] > [replay] > [state] > inner... > retry > validate > [degrade] > [deadline] > [retry.Server] > recover > handler
//
// The outer recovery guards everything, your inner middlewares included; the inner one
// turns a handler's panic into an error before the other middlewares see it. Answers
// travel from right to left: validate explains wrong arguments, retry says whether to
// call again, mask hides what is not meant for the caller, and correlate runs last and
// writes the log record.
//
// A middleware in brackets is in the chain if its field in the Options is set. audit
// records the result of all other middlewares, refusals included, and refuses a call that
// it cannot record. It records a list of batch as one call. drain, budget and limit
// refuse calls before your middlewares run. A refusal has a text of its own and is
// recorded like any failure. limit does not count calls that drain refuses. budget serves
// the rest of an answer without a new call. limit stands outside of batch and again
// inside of it, so that each item of a list counts as a call. Give [mask.Successes] as
// the first inner middleware: there it stands inside of the middlewares that store, cut
// or combine answers.
//
// An inner middleware must pass on the context that it got, or one made from it. For work
// that must go on when the caller gives up, use [context.WithoutCancel].
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
	var look mcp.Middleware
	if o.Observe {
		look = middleware.Observe()
		o = Options{Logger: o.Logger, Recover: o.Recover, Correlate: o.Correlate, Mask: o.Mask, Validate: o.Validate, Retry: o.Retry, Render: o.Render}
	}
	var correlation correlate.Options
	if o.Correlate != nil {
		correlation = *o.Correlate
	}
	if correlation.Logger == nil {
		correlation.Logger = o.Logger // all other parts write to it, too
	}
	var masking mask.Options
	if o.Mask != nil {
		masking = *o.Mask
	}
	if masking.Logger == nil {
		masking.Logger = correlation.Logger // mask.New warns of Reveal outside of any call
	}
	limited, listed := optional.Of(o.Limit), optional.Of(o.Batch)
	if listed != nil {
		listed = Chain(listed, limited)
	}
	return Chain(
		mcprecover.New(o.Recover),
		look,
		optional.New(o.Render, middleware.Render),
		correlate.New(&correlation),
		optional.Of(o.Audit),
		mask.New(&masking),
		optional.Of(o.Drain),
		optional.Of(o.Budget),
		limited,
		listed,
		optional.Of(o.Replay),
		optional.Of(o.State),
		Chain(inner...),
		retry.New(o.Retry),
		validate.New(o.Validate),
		optional.Of(o.Degrade),
		optional.Of(o.Deadline),
		optional.Of(o.RetryServer),
		mcprecover.New(o.Recover),
	)
}
