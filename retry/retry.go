// Package retry answers four questions about every failure: may the call be made again,
// after how long, how many more times, and is that safe. Without an answer, a model may
// repeat a hopeless call, or pay twice after a timeout.
//
//	server.AddReceivingMiddleware(retry.New(nil))
//
// [New] writes the answers into the failure that the caller reads. [Server] calls the handler again
// inside the server, before the failure is passed on. Package client makes a call again as the
// server's answers say.
//
// The caller of a failed call reads one of these lines:
//
//	Retry: yes, after 30 s (attempt 2 of 3).
//	Retry: not now: possible again in 1 h 30 min; tell the user.
//	Retry: only with corrected arguments.
//	Retry: no, unless you see that it did not take effect.
//	Retry: no. The same call will fail again.
//	The service asks to wait 30 s.
//
// A program reads "retry" in the machine form: should_retry, retry_after_seconds, next_attempt,
// max_attempts, reason, effect and partial. If it is unknown whether the call may be made again,
// there is no should_retry, and without a wait that a service asked for no line and no "retry".
//
// # Is it safe
//
// The annotations of a tool say what it does. Annotate what only reads (ReadOnlyHint) or is
// idempotent (IdempotentHint), and the caller may call again after a failure that passes by itself.
// Any other tool may write, whatever its DestructiveHint.
//
// An error proves what it is, never what became of the call: a client may have sent a request twice,
// and the handler may have changed something before. So of a tool that may write nothing is said
// from an error alone. [fault.Error.WithRetry] on the handler's fault, a rule, or a method Effect of
// the error can say what became of the call. A fault of the handler's own says that nothing was done
// if it is of [fault.Invalid], [fault.Unauthenticated], [fault.Denied], [fault.RateLimited] or
// [fault.Unavailable]. [fault.EffectNone] is for errors that the handler makes when it has done
// nothing, never for the error of a client.
//
// # A witness instead of a guess
//
// [Transport] and [Began] note in the call what the handler begins and how that ends. These notes
// outweigh what an error says: if a part of the call took effect, the answer says so and advises
// against repeating the call, and the call is not repeated. A call without notes proves nothing,
// unless [Options.Witnessed] declares the tool.
//
//	Retry: no. At least a part of this call took effect: check that before you try another way.
//
// # How often
//
// The server counts the failures of a call. Two calls are the same if their caller, tool
// and arguments are, in any order and layout. The caller is the authenticated user, else
// the session, else, on a server that is not reached by HTTP, the connection. If none is
// known, as on a stateless HTTP server without authentication, nothing is counted: one
// caller must not hinder another. Calls that ran at the same time count as one. The memory
// is bounded, and old calls are forgotten. It holds hashes of arguments and
// errors and, of a call that is refused, about 1,000 bytes of public words at most.
//
// If a caller repeats a hopeless call, the answer warns it. After more failures, the identical call
// is refused for a while, except for a probe every two seconds; see [Options]. After the same
// caller had a success with another call of a tool that may write, the refused call is run once more,
// at most three times in one pause: what it lacked may be there now. A tool that only reads does not count.
// Failures count for a whole tool only if they show that the tool, or what it needs, is broken. A
// tool that is polled returns [NotReady], which is not counted.
package retry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/owner"
)

// Options configure [New]. The zero value is the recommended default. Functions may
// be called concurrently.
type Options struct {
	// MaxAttempts is how often a call may be made, the first time included. After as many failures
	// of the same call the answer is no. The failures are counted here, or by the caller, which
	// sends the number of its attempt in the _meta, under [AttemptKey]. If a fault has a
	// MaxAttempts of its own, see [fault.Error.WithRetry], that counts. Zero means 3.
	MaxAttempts int

	// InitialInterval is about how long to wait before the second attempt, where neither the
	// handler nor a service that it needs said how long; the waits after that double, up to 30
	// times as long. Each is made up to a half longer or shorter by chance, so that callers that
	// failed together do not come back together, and rounded up to whole seconds: with a
	// millisecond the first waits are all sent as 1 s, which suits tests that compare texts. A wait
	// that a handler or a service asked for is sent unchanged. Zero means 1 s.
	InitialInterval time.Duration

	// Rules say what errors of this program mean for a second try; see
	// [fault.HintRule]. The first that matches counts. Nil means none.
	Rules []fault.HintRule

	// Repeatable says which tools may be called twice with the same arguments without
	// harm, because they only read or are idempotent. Nil means those whose annotations
	// say so, as the server itself lists them. Set it where there is no list, around a
	// handler of a server that has no other middleware of mcpchain.
	Repeatable func(tool string) bool

	// Witnessed reports whether everything that a tool changes is noted: it is done with requests
	// through [Transport] or after [Began], in the context of the call, and nothing goes on after
	// the handler has returned. If a call of such a tool fails and nothing was noted, the answer
	// says that it changed nothing. Nil: a call without notes proves nothing.
	Witnessed func(tool string) bool

	// Owner names the caller of a request. Calls of one caller are counted together. Calls of the
	// caller "" are not counted, so a function that returns "" turns the counting off. Nil means
	// the caller that the package comment describes. Set it where something else identifies
	// callers, such as an API key in a header. One caller must not be able to learn and use the
	// name of another.
	Owner func(ctx context.Context, req mcp.Request) string

	// RefuseAfter is after how many failures with the same error the identical call is refused for
	// 30 s: it is answered without running its handler, but for a probe every two seconds. Such an
	// answer is of kind repeated_failure with the code REPEATED_FAILURE, and recorded like any
	// other. Two failures earlier, but not while attempts are left, the answer warns the caller not
	// to repeat this exact call, and says what to do instead. Zero means 6, or 3 more than
	// MaxAttempts if that is more.
	//
	// After 10 failures in a row that show that a tool, or what it needs, is broken (internal
	// errors, timeouts, failed connections and services that are down, after which the answer was
	// no) the answer advises the caller to try another way; after 20, its calls of this tool are
	// refused in the same way. The items of a batch do not count.
	//
	// With a negative number nothing is refused, and nobody is warned.
	RefuseAfter int
}

// codeRefused is the code of the fault that answers a call that was not run because it had failed
// too often.
const codeRefused = "REPEATED_FAILURE"

// New returns a middleware that says of every failure whether, when and how often
// to call again, and whether that is safe. opts may be nil. It panics when an option
// makes no sense. Functions of the Options that panic count as ones that say nothing.
//
// Put it outside of what makes failures, such as validation, a time limit or the inner recovery,
// and inside of package mask. When several stand in a chain, the innermost decides. Results and
// errors pass it unchanged: the guidance is added when the answer is written.
//
// If a tool reports its failure in a result of its own, the words of that result are left as they
// are; so is a *jsonrpc.Error. Such a result gets no guidance unless its cause is known: SetError
// of the SDK, called after the content was set, keeps the content. Then the text of the result also
// warns a caller that repeats the call without end. Successful calls, notifications, subscriptions
// and results that ask for input are not touched.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	const of call.Options = "retry.New: Options"
	call.Positive(of, "MaxAttempts", &o.MaxAttempts, 3)
	call.Positive(of, "InitialInterval", &o.InitialInterval, time.Second)
	o.MaxAttempts = min(o.MaxAttempts, 1_000_000) // so that what is counted from it does not overflow
	o.RefuseAfter = min(cmp.Or(o.RefuseAfter, max(6, o.MaxAttempts+3)), 1_000_000_000)
	o.Rules = rulesOf(of, o.Rules)
	g := &guide{Options: o, owners: owner.Finder{Func: o.Owner, Option: "retry.Options.Owner"}, seen: newMemory(remembered)}
	if len(o.Rules) > 0 || o.Witnessed != nil {
		g.settings = &call.Settings{Hints: o.Rules, Witnessed: o.Witnessed}
	}
	return call.WrapLayer("retry.New", g, nil)
}

// rulesOf returns a copy of the rules, none of which may be nil.
func rulesOf(of call.Options, rules []fault.HintRule) []fault.HintRule {
	for i, r := range rules {
		if r == nil {
			panic(fmt.Sprintf("%s.Rules[%d] is nil; remove it or give a rule", of, i))
		}
	}
	return slices.Clone(rules)
}
