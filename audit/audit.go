// Package audit keeps an append-only record of who called what with which effect. Each
// record has the hash of the one before it, so that a change is found.
//
//	log, err := audit.Open("/var/log/weather/audit", &audit.FileOptions{Key: key})
//	if err != nil {
//		return err
//	}
//	defer log.Close()
//	server.AddReceivingMiddleware(audit.New(&audit.Options{Log: log}))
//
// A call that cannot change anything is one record, of the event "call". Any other call,
// such as that of a tool that is not annotated as read-only, is two: "begin" is on disk
// before the handler runs, and "end" says how the call ended. The answer goes out when they
// are on disk. A begin without an end is a call that may have taken effect. Records look like this, each on one line:
//
//	{"seq":2,"time":"2026-07-28T12:00:00Z","event":"begin","method":"tools/call","target":"pay","owner":"user:ada",
//	"arguments":{"amount":20,"card":"[redacted]"},"reference":"0198c7f2-...","prev":"5f0c...","hash":"e7d1..."}
//	{"seq":3,"time":"2026-07-28T12:00:01Z","event":"end","method":"tools/call","target":"pay","owner":"user:ada",
//	"outcome":"ok","effect":"committed","reference":"0198c7f2-...","begin":2,"duration_ms":812.4,"prev":"e7d1...","hash":"93ab..."}
//
// What a tool may change, and which of its arguments are secrets, is read from the list of
// tools that the server gave to the caller within the last second.
//
// Recorded are calls of tools, reads of resources, prompts, subscriptions and the program's own
// methods. Lists, completions, pings, handshakes, notifications and internal lookups of mcpchain
// are not recorded; a tool that your own middleware calls as a lookup is. Neither results nor the
// texts of errors are recorded: the reference leads to the log of package correlate.
//
// # What is found
//
// [Verify] finds every record that was changed, removed, inserted, doubled or moved. Two
// things a chain of hashes alone cannot show:
//
//   - That records are missing at the end. Keep a [Head] from time to time where the log's
//     writer cannot change it, and give it to [Verifier.Heads].
//   - That somebody who may write the log has computed the rest of the chain anew. With a
//     key that is not on the same machine's disk ([FileOptions.Key]), the hashes are
//     HMACs and cannot be computed without it.
//
// # When a record cannot be kept
//
// A call that may change something is refused, with the words that nothing was changed; a
// call that only reads goes on. See [Options.GoOn]. A record of the event "lost" says how
// many records are missing, as soon as it can be kept. The Logger gets a record when that
// begins and when it is over.
package audit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/owner"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

// Options configure [New].
type Options struct {
	// Log keeps the records. It is required; [Open] and [NewLog] make one. Several
	// servers of a process may share it.
	Log *Log

	// GoOn lets calls that may change something go on if they cannot be recorded. Without it
	// they are refused, because an audit must prevent changes without a record. Calls that
	// only read go on, so that a full disk does not stop them too.
	GoOn bool

	// Arguments says what is recorded of the arguments of a call. The zero value is
	// [Redacted]. If they have more than 16 KiB, only their size is recorded.
	Arguments Arguments

	// Owner returns the caller of a request, "" if it is unknown. It may be called
	// concurrently. Nil: the authenticated user as "user:" and a name, or else a hash of
	// the session's ID. A call that does not come by HTTP has a name of the connection
	// instead.
	Owner func(ctx context.Context, req mcp.Request) string

	// Logger gets a record when the log cannot keep records, and when it can again. Nil
	// means the logger of the call, or else [slog.Default].
	Logger *slog.Logger
}

// New returns a middleware that records calls. It panics without a Log.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case o.Log == nil:
		panic("audit.New: Options.Log is nil; give what audit.Open or audit.NewLog returns")
	case o.Arguments > Omitted:
		panic("audit.New: Options.Arguments is neither Redacted nor Omitted; give one of them")
	}
	a := &auditor{Options: o, owners: owner.Finder{Func: o.Owner}}
	return call.WrapLayer("audit.New", call.Func(a.run), nil)
}

type auditor struct {
	Options

	owners  owner.Finder
	schemas secrets.Schemas
	failing atomic.Bool // the Logger has the record that records cannot be kept
}

// recordedIn is the key under which a context has the Call that a Log records already.
type recordedIn struct{ *Log }

func (a *auditor) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	method := c.Method()
	if c.Notification() || !recorded(method) || ctx.Value(recordedIn{a.Log}) == c {
		return next(ctx, method, req)
	}
	ctx = context.WithValue(ctx, recordedIn{a.Log}, c)
	began := time.Now()
	t := about(c, next)
	rec := Record{
		Event: eventCall, Method: safeName(method), Target: safeName(call.Target(req)), Owner: a.owner(ctx, req), Reference: c.ID(),
	}
	a.addArguments(&rec, call.ArgumentsOf(req), t.tool)
	if t.safety != failure.Reads {
		rec.Event = eventBegin
		seq, err := a.keep(c, rec)
		if err != nil && !a.GoOn {
			return nil, errNotMade.Because(err)
		}
		rec.Event, rec.Begin = eventEnd, seq
		rec.Arguments, rec.ArgumentsBytes = nil, 0
	}
	returned := false
	defer func() {
		if !returned { // a panic passes, or a runtime.Goexit
			rec.Outcome, rec.Effect = call.OutcomePanic, effectOf(c, nil, t)
			rec.DurationMS = millis(time.Since(began))
			a.addMended(&rec, c, t.tool)
			_, _ = a.keep(c, rec)
		}
	}()
	res, err := next(ctx, method, req)
	returned = true
	f := c.End(res, err)
	rec.Outcome, rec.DurationMS = c.Outcome(res, f), millis(time.Since(began))
	a.addMended(&rec, c, t.tool)
	switch {
	case f != nil:
		rec.Kind, rec.Effect = safeName(string(f.Fault().Kind())), effectOf(c, f, t)
	case t.safety == failure.Reads:
		rec.Effect = fault.EffectNone
	case call.NeedsInput(res):
		rec.Effect = fault.EffectUnknown
	default:
		rec.Effect = fault.EffectCommitted
	}
	_, _ = a.keep(c, rec)
	return res, err
}

// recorded reports whether calls of a method are recorded.
func recorded(method string) bool {
	switch method {
	case call.MethodInitialize, call.MethodDiscover, call.MethodPing, call.MethodListTools, call.MethodListPrompts,
		call.MethodListResources, call.MethodListResourceTemplates, middleware.MethodComplete, call.MethodSetLevel, call.MethodListen:
		return false
	default:
		return true
	}
}

// A target is what is called, as far as it is known before the call.
type target struct {
	tool     *mcp.Tool      // nil if the target is not a tool, or is unknown
	unlisted bool           // the server does not list the tool
	safety   failure.Safety // what the call may do
}

// about returns what is called. Only a tool is looked up.
func about(c *call.Call, next mcp.MethodHandler) target {
	switch c.Method() {
	case middleware.MethodCallTool:
	case call.MethodSubscribe, call.MethodUnsubscribe: // they change what the server sends, and nothing else
		return target{safety: failure.Reads}
	default:
		return target{safety: c.Safety(next)}
	}
	tool, err := c.Server().Tool(next)
	if err != nil {
		return target{unlisted: errors.Is(err, ask.ErrNotListed), safety: failure.Writes}
	}
	return target{tool: tool, safety: failure.SafetyOf(tool.Annotations)}
}

// effectOf returns the effect of a call that failed with f; a nil f means that the handler
// panicked.
func effectOf(c *call.Call, f *failure.Failure, t target) fault.Effect {
	switch {
	case t.safety == failure.Reads:
		return fault.EffectNone
	case f == nil:
		return cmp.Or(c.Witness().Effect(), fault.EffectUnknown)
	case f.Seen() != "":
		return f.Seen()
	case t.unlisted && f.Wire() != nil && f.Fault().Kind() == fault.KindNotFound:
		return fault.EffectNone // the server lists no such tool, and says that there is none
	}
	// That a handler refused the call, by the kind of its fault, is no word about the effect: it may have
	// changed something before.
	return cmp.Or(f.Again(failure.As(t.safety)).Retry.Effect, fault.EffectUnknown)
}

// keep keeps a record, and writes to the Logger when that begins or ceases to fail.
func (a *auditor) keep(c *call.Call, rec Record) (seq uint64, err error) {
	rec.Time = time.Now().UTC()
	seq, err = a.Log.append(rec)
	logger := a.Logger
	if logger == nil {
		logger = c.Logger()
	}
	switch {
	case err != nil && a.failing.CompareAndSwap(false, true):
		call.Notice(c, logger, slog.LevelError, "audit records cannot be kept", slog.Any("error", err), slog.Bool("writes_refused", !a.GoOn))
	case err == nil && a.failing.CompareAndSwap(true, false):
		call.Warn(c, logger, "audit records can be kept again")
	}
	return seq, err
}

var errNotMade = fault.New(fault.KindServiceUnavailable, "this call was not made, because the server cannot record it now").
	Suggest("Only calls that change nothing are possible now.").
	WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 10, Effect: fault.EffectNone})

const ownPrefix, sessionPrefix = "own:", "session:"

// owner returns the name of the caller. The ID of a session would let a reader of the log
// act for its owner. So a hash of it is recorded, by which two calls can still be compared.
func (a *auditor) owner(ctx context.Context, req mcp.Request) string {
	name := a.owners.Of(ctx, req)
	if id, ok := strings.CutPrefix(name, sessionPrefix); ok {
		return sessionPrefix + hexOf(id)[:16]
	}
	name = strings.TrimPrefix(name, ownPrefix)
	if shown := safeName(name); shown != name {
		return shown + " (" + hexOf(name)[:16] + ")" // so that two names do not become the same
	}
	return name
}

// maxName is how much of a name is recorded, in bytes.
const maxName = 256

// safeName makes a name from outside fit for a record: bounded, and without credentials,
// such as those in a URI.
func safeName(name string) string {
	return words.Clip(words.Line(scrub.Credentials(strings.ToValidUTF8(name[:min(len(name), 4*maxName)], ""))), maxName)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
