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
// The caller of a failed call reads a line such as these:
//
//	Retry: yes, after 15 s (attempt 3).
//	Retry: not now. It has failed for 5 min (8 calls). Tell the user; it may work again later.
//	Retry: not now: possible again in 1 h 30 min; tell the user.
//	Retry: not the same call: it is still running after 20 s.
//	Retry: only with corrected arguments.
//	Retry: no, unless you see that it did not take effect.
//	Retry: no. The same call will fail again.
//	Retry: unknown. This exact call has failed 3 times in 12 s with the same error. Try another way, or tell the user what does not work.
//	The service asks to wait 30 s.
//
// A program reads "retry" in the machine form: should_retry, retry_after_seconds, next_attempt,
// max_attempts, reason, fact, effect and partial. If it is unknown whether the call may be made again,
// there is no should_retry, and if nothing else is known no line and no "retry".
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
// Models obey advice to the letter, so it is a time and not a number: what passes by itself is tried again
// after about 5, 15, 45 and then 60 seconds. If the same call has failed for five minutes, the answer is
// "not now". There is no limit of attempts, unless a fault or an option names one.
//
// The server counts the failures of a call. Two calls are the same if their caller, tool
// and arguments are, in any order and layout. The caller is the authenticated user, else
// the session, else, on a server that is not reached by HTTP, the connection. If none is
// known, as on a stateless HTTP server without authentication, nothing is counted: one
// caller must not hinder another. Calls that ran at the same time count as one. All calls that
// one caller makes of a tool share the waits of its outage: a call before its time is told what is left. A
// wait that somebody stated is that of its call; other arguments wait for twelve times the first at most. The memory
// is bounded, and old calls are forgotten. It holds hashes of arguments and
// errors and, of a call that is refused, about 1,000 bytes of public words at most.
//
// If a caller repeats a call that fails for a reason that does not pass, the third answer says how often
// it has failed. After six failures the identical call is refused for 30, 60, then 120 seconds at a time,
// and run once after each pause; see [Options]. It is run once more in a pause after the same caller had a
// success with another call of a tool that may write: what it lacked may be there now.
// Failures count for a whole tool only if they show that it, or what it needs, is broken and stays so. A
// tool that is polled returns [NotReady], which is not counted.
//
// A call that package deadline has answered although its handler still runs, or that its caller gave up, is
// not made again while it runs, unless its tool only reads.
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
	// of the same call a yes becomes a no; an answer that nothing is known stays. The failures are
	// counted here, or by the caller, which sends the number of its attempt in the _meta, under
	// [AttemptKey]. If a fault has a MaxAttempts of its own, see [fault.Error.WithRetry], that counts.
	// Zero means no limit but GiveUpAfter.
	MaxAttempts int

	// InitialInterval is about how long to wait before the second attempt, where neither the
	// handler nor a service that it needs said how long. The next waits are three and nine times as
	// long, all later ones twelve times. After a rate limit without a known wait they are six
	// times as long, then twelve times. By chance each is up to a fifth longer, in whole
	// seconds, so that callers that failed together do not come back together. A wait of less than
	// 6 s is too short for that: the default is sent as 5 s to all of them. With a millisecond all
	// waits are sent as 1 s, which suits tests that compare texts. A wait that a
	// handler or a service asked for is sent unchanged. Zero means 5 s.
	InitialInterval time.Duration

	// GiveUpAfter is how long the same call may fail, counted from its first failure, before the answer
	// to a failure that passes by itself is "not now" and not "yes". It is looked at when a call fails: no
	// wait is shortened for it. A call whose handler stopped three times at a limit of package deadline is
	// given up too. Zero means 5 minutes.
	GiveUpAfter time.Duration

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

	// RefuseAfter is after how many failures with the same error the identical call is refused, unless
	// such a failure passes by itself. The call is refused for 30 s, then 60 s, then 120 s at a time: it is
	// answered without running its handler, which is run once after each pause. Such an answer is of kind
	// repeated_failure with the code REPEATED_FAILURE, and recorded like any other. After half as many
	// failures, rounded up, the answer says how often the call has failed, and what to do instead. Zero means 6.
	//
	// After 10 failures in a row that show that a tool is broken and stays so (internal errors, and
	// failures of a service that do not pass by themselves) the answer advises the caller to try
	// another way; after 20, its calls of this tool are refused in the same way. The items of a
	// batch do not count.
	//
	// With a negative number nothing is refused but a call that still runs, and nobody is warned.
	RefuseAfter int

	// HideOthers leaves out what is known of other calls of a tool, such as since when it has failed for
	// all callers. A reader of package mask that is Anyone learns of others only that
	// there are several, and never of their arguments.
	HideOthers bool
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
	call.Positive(of, "MaxAttempts", &o.MaxAttempts, 0)
	call.Positive(of, "InitialInterval", &o.InitialInterval, 5*time.Second)
	call.Positive(of, "GiveUpAfter", &o.GiveUpAfter, 5*time.Minute)
	o.InitialInterval = min(o.InitialInterval, maxKeep) // so that what is counted from it does not overflow
	o.RefuseAfter = min(cmp.Or(o.RefuseAfter, 6), 1_000_000_000)
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
