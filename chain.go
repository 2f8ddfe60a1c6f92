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
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

// Options configure [Standard]. The zero value is the recommended default. A nil field means the
// defaults of its package, or leaves the package out if its comment says so.
//
// A field that is an [mcp.Middleware] takes what New of the package with its name returns, as in
// Options{Deadline: deadline.New(nil)}. A program links only the packages whose fields it sets.
// For two servers build two Options. A middleware that two servers share counts and keeps for both.
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
	Audit mcp.Middleware

	// Mask says what callers may know of errors.
	Mask *mask.Options

	// Validate says how wrong arguments and unknown names are explained.
	Validate *validate.Options

	// Drain lets the server shut down without losing a call. Nil: shutdown does not wait for running
	// calls.
	Drain mcp.Middleware

	// Budget bounds what an answer costs its reader. Nil means no bounds; budget.New(nil) has the
	// recommended ones.
	Budget mcp.Middleware

	// Limit bounds how often callers may call, and how many calls they may make at once. Nil means
	// no limits; limit.New(nil) has the recommended ones.
	Limit mcp.Middleware

	// Batch adds list forms to tools. Nil means that there are none.
	Batch mcp.Middleware

	// Task answers a call that lasts longer than its client waits with a handle, under which the client
	// fetches the answer later. Nil means that every call is answered when it ends.
	Task mcp.Middleware

	// Replay answers a call that is repeated with the same key with its first answer. Nil means that
	// keys are ignored.
	Replay mcp.Middleware

	// State keeps what conversations remember. Nil means that nothing is kept.
	State mcp.Middleware

	// Degrade adds the missing parts that degrade.Run recorded to the answers of tools. Nil means
	// that handlers add them.
	Degrade mcp.Middleware

	// Deadline limits how long calls may take. Nil means no limits; deadline.New(nil) has the
	// recommended ones. To stop the clock while the server waits for a person's input, add
	// deadline.Sending to the server's sending middlewares.
	Deadline mcp.Middleware

	// Retry says when callers may call again, and how calls are treated that repeat a hopeless call.
	Retry *retry.Options

	// RetryServer is what retry.Server returns. It tries calls again inside the server, if that does
	// no harm, before a failure is shown. Nil means that every failure is shown.
	RetryServer mcp.Middleware

	// Render says how failures are written on the wire. Nil means the form that package middleware
	// describes.
	Render *middleware.RenderOptions

	// Observe is for a trial run: it sends every answer unchanged, unless it would have ended the
	// process or would never have been sent (a panic, a result that cannot be written as JSON, a
	// missing result). For each failure a record at level Info says, under its reference, what was
	// "sent" and what the chain "would_send". A call that validate or retry would refuse runs, and
	// that is recorded, too. Observe uses only these other fields: Logger, Recover, Correlate, Mask,
	// Validate, Retry and Render.
	Observe bool
}

// Chain makes one middleware of several, the first outermost. See
// [middleware.Chain].
func Chain(mw ...mcp.Middleware) mcp.Middleware { return middleware.Chain(mw...) }

// Standard returns the recommended chain, outermost first:
//
//	[task] > recover > correlate > [audit] > mask > [drain] > [budget] > [limit] > [task] > [batch] > [replay] > [state] > inner... > retry > validate > [degrade] > [deadline] > [retry.Server] > recover > handler
//
// The outer recovery guards everything, your inner middlewares included; the inner one
// turns a handler's panic into an error before the other middlewares see it. A failure is
// judged once, when it has passed the last middleware: validate explains wrong arguments,
// retry says whether to call again, correlate writes the log record, and mask hides what is
// not meant for the caller. If a middleware of yours returns another error, that one is judged.
//
// A middleware in brackets is in the chain if its field in the Options is set. audit
// records the result of all other middlewares, refusals included, and refuses a call that
// it cannot record. It records a list of batch as one call. drain, budget and limit
// refuse calls before your middlewares run. A refusal has a text of its own and is
// recorded like any failure. limit does not count calls that drain refuses. budget serves
// the rest of an answer without a new call. task stands outside of all, so that they see a call to its
// end, and again where it answers its own tools. limit stands outside of batch and again
// inside of it, so that each item of a list counts as a call. Give [mask.Successes] as
// the first inner middleware: there it stands inside of the middlewares that store, cut
// or combine answers.
//
// An inner middleware must pass on the context that it got, or one made from it. For work
// that must go on when the caller gives up, use [context.WithoutCancel].
//
// opts may be nil, and so may inner middlewares. Standard panics if a field of opts holds a
// middleware of another package, or one of yours. Installing the chain twice, or
// one of its parts besides, is harmless: a failure is rendered and recorded once.
//
// Later calls of [mcp.Server.AddReceivingMiddleware] stand outside earlier ones,
// so add Standard last, or give your middlewares to it as inner ones.
func Standard(opts *Options, inner ...mcp.Middleware) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.check()
	var look, render mcp.Middleware
	if o.Observe {
		look = call.Establishing(&call.Settings{Observe: true})
		o = Options{Logger: o.Logger, Recover: o.Recover, Correlate: o.Correlate, Mask: o.Mask, Validate: o.Validate, Retry: o.Retry, Render: o.Render}
	}
	if o.Render != nil {
		render = middleware.Render(o.Render)
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
	listed := o.Batch
	if listed != nil {
		listed = Chain(listed, o.Limit) // each item of a list counts
	}
	var outside, inside mcp.Middleware
	if o.Task != nil {
		var alone bool
		if outside, inside, alone = call.Halves(o.Task); !alone {
			panic("mcpchain.Standard: Options.Task holds a middleware around that of task.New; give it as it is, and select tools with task.Options.Tools")
		}
	}
	return Chain(
		outside,
		mcprecover.New(o.Recover),
		look,
		render,
		correlate.New(&correlation),
		o.Audit,
		mask.New(&masking),
		o.Drain,
		o.Budget,
		o.Limit,
		inside,
		listed,
		o.Replay,
		o.State,
		Chain(inner...),
		retry.New(o.Retry),
		validate.New(o.Validate),
		o.Degrade,
		o.Deadline,
		o.RetryServer,
		mcprecover.New(o.Recover),
	)
}

// check panics if a field holds what another constructor returned.
func (o *Options) check() {
	for _, f := range []struct {
		field, want string
		mw          mcp.Middleware
	}{
		{"Audit", "audit.New", o.Audit},
		{"Drain", "drain.New", o.Drain},
		{"Budget", "budget.New", o.Budget},
		{"Limit", "limit.New", o.Limit},
		{"Batch", "batch.New", o.Batch},
		{"Task", "task.New", o.Task},
		{"Replay", "replay.New", o.Replay},
		{"State", "state.New", o.State},
		{"Degrade", "degrade.New", o.Degrade},
		{"Deadline", "deadline.New", o.Deadline},
		{"RetryServer", "retry.Server", o.RetryServer},
	} {
		if f.mw == nil {
			continue
		}
		switch got := call.NameOf(f.mw); got {
		case f.want:
		case "":
			panic(fmt.Sprintf("mcpchain.Standard: Options.%s holds a middleware that is not one of %s; give yours as an inner one", f.field, f.want))
		default:
			panic(fmt.Sprintf("mcpchain.Standard: Options.%s holds a middleware of %s; give one of %s", f.field, got, f.want))
		}
	}
}
