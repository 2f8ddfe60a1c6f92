// Package retry answers four questions about every failure: may the call be made
// again, after how long, how many more times, and is that safe. A model that is told
// nothing may repeat a hopeless call again and again, and one that is told "please
// try again" after a timeout may pay twice.
//
//	server.AddReceivingMiddleware(retry.New(nil))
//
// [New] tells the caller, [Server] tries again inside the server before anybody is
// told, and [Client] is the other end, which does what it is told.
//
// What the caller of a failed call reads, beside what failed:
//
//	Retry: yes, after 30 s (attempt 2 of 3).
//	Retry: no. Correct the arguments first, then call again.
//	Retry: no. It is not known whether this call took effect: check before you repeat it.
//	Retry: no. This exact call has failed 4 times with the same error. Do not repeat it. ...
//
// and a program, as "retry" in the machine form: should_retry,
// retry_after_seconds, next_attempt, max_attempts, reason and effect.
//
// # Is it safe
//
// A call that writes and of which nobody knows whether it took effect is never
// called safe to repeat. A tool is believed to write unless its annotations say
// otherwise (ReadOnlyHint, IdempotentHint): annotate what only reads, and a timeout
// is followed by "Retry: yes". A handler that knows more says so in its fault, with
// [fault.Error.After], [fault.Error.Never] or [fault.Error.WithRetry], and names with
// [fault.Error.Step] the tool that tells whether the call took effect. One that says
// when, and not what became of the call, is believed unless the cause of its fault, such
// as a connection that broke, says that something may have been done.
//
// # How often
//
// The server counts the failures of a call, so that a model need not. A call is
// the same when its caller, its tool and its arguments are, in any order and
// layout. The caller is the authenticated user, else the session, else the
// connection of a server that is not reached by HTTP; where none of these is known,
// as on a stateless HTTP server without authentication, nothing is counted, because
// one caller must not be able to hinder another. Calls that ran at the same time
// count as one, because none of them is a repetition. Of arguments and errors only
// hashes are kept, in bounded memory, for a while, until the call succeeds.
//
// A caller that repeats a hopeless call is told so in plain words, and after that
// is answered without running the handler for some time; see [Options].
package retry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/middleware"
)

// Options configure [New]. The zero value is the recommended default. Functions may
// be called concurrently.
type Options struct {
	// MaxAttempts is how often a call may be made, the first time included, as the
	// caller is told. After as many failures of the same call the answer is no. A
	// fault with a MaxAttempts of its own, see [fault.Error.WithRetry], is told with
	// that. Zero means 3.
	MaxAttempts int

	// InitialInterval is about how long to wait before the second attempt, where
	// neither the handler nor a service that it needs said how long; the waits after
	// that double, up to MaxInterval. A wait that was asked for is told as it is.
	// Zero means 1 s and 30 s.
	InitialInterval time.Duration
	MaxInterval     time.Duration

	// Jitter is by which part such a wait is made longer or shorter by chance, so that
	// callers that failed together do not come back together. Zero means 0.5; negative
	// means that the waits are exact, for tests that compare texts.
	Jitter float64

	// Rules say what errors of this program mean for a second try; see
	// [middleware.HintRule].
	Rules []middleware.HintRule

	// Repeatable says which tools may be called twice with the same arguments without
	// harm, because they only read or are idempotent. Nil means those whose annotations
	// say so, as the server itself lists them. Set it where there is no list, around a
	// handler of a server that has no other middleware of mcpchain.
	Repeatable func(tool string) bool

	// Owner names the caller of a request; calls of one caller are counted together,
	// and those of "" are not counted. Nil means as the package says. Set it where
	// callers are told apart by something else, such as an API key in a header; it
	// must be something that one caller cannot learn and use of another.
	Owner func(ctx context.Context, req mcp.Request) string

	// AttemptArgument is the name of an argument in which models say how often they
	// have made this call, a number from 1. It is no part of what makes two calls the
	// same. Empty means that there is none. What a program says in the _meta of its
	// request, under [AttemptKey] or "attempt", is read always. The larger one of
	// what is said and what is counted holds.
	AttemptArgument string

	// EscalateAfter is after how many failures with the same error a caller is told
	// not to repeat this exact call, and what to do instead. Zero means 4, but more
	// than MaxAttempts; negative means never.
	EscalateAfter int

	// RefuseAfter is after how many failures with the same error the call is answered
	// without running its handler, for the time RefuseFor; then it is run again, once,
	// unless it succeeds. Such an answer is of kind rate_limited with the code
	// [CodeRefused], and recorded like any other. Zero means EscalateAfter and 2 more,
	// and 30 s; negative means never.
	RefuseAfter int
	RefuseFor   time.Duration

	// StreakAfter is after how many failures of one tool in a row, whatever its
	// arguments were, a caller is told to stop trying; after twice as many, calls of
	// this tool are refused as RefuseAfter says. Failures after which the caller may
	// try again do not count, nor do the items of a batch. Raise it where callers look
	// for what may not exist, one call after the other. Zero means 10; negative means
	// never.
	StreakAfter int

	// Remember is how many failed calls are remembered at most, of all callers; of one
	// caller up to a sixteenth of them. The oldest make room. Zero means 16384, which
	// takes up to 3 MB; negative means that nothing is counted at all.
	Remember int

	// ForgetAfter is how long after its last failure, and after the wait that was told
	// with it, a call is forgotten. Zero means 10 minutes.
	ForgetAfter time.Duration
}

// CodeRefused is the code of the fault with which a call is answered that was not
// run because it had failed too often.
const CodeRefused = "REPEATED_FAILURE"

const (
	defaultGuideInterval = time.Second
	defaultGuideLongest  = 30 * time.Second
	defaultJitter        = 0.5
	defaultEscalate      = 4
	defaultRefuseFor     = 30 * time.Second
	defaultStreak        = 10
	defaultRemember      = 16384
	defaultForget        = 10 * time.Minute
	longestMemory        = 100 * 365 * 24 * time.Hour // so that points in time do not overflow
)

// New returns a middleware that says of every failure whether, when and how often
// to call again, and whether that is safe. opts may be nil. It panics when a time or
// MaxAttempts is negative, MaxInterval is shorter than InitialInterval, Jitter is more
// than 1, or a rule is nil.
//
// Put it outside of what makes failures, such as validation, a time limit or the
// inner recovery, and inside of package mask. When several stand in a chain, the
// innermost decides. Results and errors pass it as they came: the caller is told when
// the answer is written.
//
// The words of a tool that tells its failure in a result of its own are left as
// they are, as is a *jsonrpc.Error; only a caller that repeats such a call without
// end is told so in the text of the result, too. Successful calls, notifications,
// subscriptions and results that ask for input are not touched.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	check("New: Options.MaxAttempts", o.MaxAttempts)
	check("New: Options.InitialInterval", o.InitialInterval)
	check("New: Options.MaxInterval", o.MaxInterval)
	check("New: Options.RefuseFor", o.RefuseFor)
	check("New: Options.ForgetAfter", o.ForgetAfter)
	orDefault(&o.MaxAttempts, defaultAttempts)
	o.MaxAttempts = min(o.MaxAttempts, maxAttempt)
	orDefault(&o.InitialInterval, defaultGuideInterval)
	orDefault(&o.MaxInterval, max(defaultGuideLongest, o.InitialInterval))
	if o.MaxInterval < o.InitialInterval {
		panic("retry.New: Options.MaxInterval is shorter than InitialInterval; make it at least as long, or leave it zero")
	}
	switch {
	case o.Jitter == 0:
		o.Jitter = defaultJitter
	case !(o.Jitter <= 1): // also when it is no number
		panic("retry.New: Options.Jitter is more than 1; give a part, such as 0.5")
	}
	o.Jitter = max(0, o.Jitter)
	orDefault(&o.EscalateAfter, max(defaultEscalate, o.MaxAttempts+1))
	orDefault(&o.RefuseAfter, max(o.EscalateAfter, o.MaxAttempts+1)+2)
	orDefault(&o.RefuseFor, defaultRefuseFor)
	orDefault(&o.StreakAfter, defaultStreak)
	orDefault(&o.Remember, defaultRemember)
	orDefault(&o.ForgetAfter, defaultForget)
	o.RefuseFor, o.ForgetAfter = min(o.RefuseFor, longestMemory), min(o.ForgetAfter, longestMemory)
	rules := slices.Clone(o.Rules)
	for i, r := range rules {
		if r == nil {
			panic(fmt.Sprintf("retry.New: Options.Rules[%d] is nil; remove it or give a rule", i))
		}
	}
	g := &guide{Options: o}
	if len(rules) > 0 {
		g.settings = &call.Settings{Hints: rules}
	}
	if o.Remember > 0 {
		g.seen = newMemory(o.Remember)
	}
	return call.Wrap(g.call)
}
