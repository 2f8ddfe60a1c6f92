package call

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A Recorder records every call. It adds attributes to the records and is notified of ends.
type Recorder interface {
	// NewID makes the ID of a Call. An empty one means a UUIDv7.
	NewID(c *Call) string
	// Level returns the level of a record that has a level by default.
	Level(outcome string, took time.Duration, byDefault slog.Level) slog.Level
	// Attrs returns the attributes of a record that follow the reference.
	Attrs(c *Call, took time.Duration) []slog.Attr
	// Ended is called when a watched Call ends, see [Call.Begin], and when a part of a Call fails.
	Ended(c *Call, took time.Duration, res mcp.Result, f *failure.Failure)
	// Stuck is called with 1 when a handler was given up and still runs, and with -1 when it has
	// returned.
	Stuck(change int64)
}

// LevelOf is the level at which an outcome is recorded by default: Debug for a success, Info for a
// failure that the caller can mend or that the tool reported on purpose, Warn if something that the
// server needs is down or slow, and Error for bugs. An error that only its standard kind
// classifies, such as a reset connection, is recorded at Warn at least, unless the caller is to
// blame.
func LevelOf(outcome string) slog.Level {
	switch outcome {
	case OutcomeOK, OutcomeInputRequired:
		return slog.LevelDebug
	case "timeout", "unavailable":
		return slog.LevelWarn
	case "internal_error", OutcomePanic:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

// epoch makes time.Since read the monotonic clock only, which costs half of
// time.Now.
var epoch = time.Now()

// Begin notes the time, for the duration in the record of this call. It reports whether this is the
// first Begin that asks to watch the Call: then [Recorder.Ended] is called at its end. A part of a
// call is never watched; [Call.Log] calls Ended for a part that fails.
func (c *Call) Begin(watch bool) (watched bool) {
	c.began.Store(int64(time.Since(epoch)))
	return watch && !c.part && c.atEnd.Or(notifyAtEnd)&notifyAtEnd == 0
}

// Duration returns how long ago Begin was called, zero if it was not.
func (c *Call) Duration() time.Duration {
	began := c.began.Load()
	if began == 0 {
		return 0
	}
	return max(1, time.Since(epoch)-time.Duration(began))
}

// Log writes the one record of how the call ended: the method, the tool, prompt or resource, the
// outcome, the duration, the reference, the caller, and what the [Recorder] adds. For a failure it
// adds the kind, the whole error with its types, and the stack of a panic. It does nothing for an
// internal look-up and for a failure that is already recorded. A zero took means the time since
// [Call.Begin]. The record goes to [Call.Logger]; Log survives a panic of its handler.
func (c *Call) Log(res mcp.Result, f *failure.Failure, took time.Duration) {
	defer func() {
		if p := recover(); p != nil { // a failing log must not fail the call
			var err error
			if f != nil {
				err = f.Err()
			}
			sink.Report("the record of a call could not be written", p, slog.String("method", c.method), slog.String("reference", c.ID()),
				slog.String("error", clip(safe.Error(err))))
		}
	}()
	if c.quiet || f != nil && !f.Record() {
		return
	}
	took = cmp.Or(took, c.Duration())
	outcome := c.Outcome(res, f)
	logger, level, recorder := c.Logger(), c.level(f, outcome), c.settings().Recorder
	if recorder != nil {
		if c.part && f != nil {
			recorder.Ended(c, took, res, f)
		}
		level = recorder.Level(outcome, took, level)
	}
	if !logger.Enabled(c, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("method", c.method))
	if key := TargetKey(c.method); key != "" {
		attrs = append(attrs, slog.String(key, Name(c.req)))
	}
	attrs = append(attrs, slog.String("outcome", outcome))
	if f != nil {
		attrs = append(attrs, slog.String("kind", OneLine(string(f.Fault().Kind()))))
	}
	if took > 0 {
		attrs = append(attrs, slog.Float64("duration_ms", float64(took.Microseconds())/1000))
	}
	if attempts := c.Attempts(); attempts > 1 {
		attrs = append(attrs, slog.Int("attempts", attempts))
	}
	if changes := c.Changes(); changes != nil {
		attrs = append(attrs, slog.Any("mended", changesText(changes)))
	}
	attrs = append(attrs, slog.String("reference", c.ID()))
	if recorder != nil {
		attrs = append(attrs, recorder.Attrs(c, took)...)
	}
	attrs = identity(attrs, c.req)
	if f != nil {
		attrs = failureAttrs(attrs, f)
	}
	message := "mcp call"
	if c.part {
		message = "mcp part of a call"
	}
	record := slog.NewRecord(time.Now(), level, message, 0)
	record.AddAttrs(attrs...)
	sink.Write(ended{c}, logger, record)
}

// ended is the context in which a call is recorded, which may last longer than the call.
type ended struct{ *Call }

// Deadline reports that there is none.
func (ended) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done returns nil, because the context does not end.
func (ended) Done() <-chan struct{} { return nil }

// Err returns nil.
func (ended) Err() error { return nil }

// Value returns the values of the Call, and for a record that has to wait a context without its request.
func (e ended) Value(key any) any {
	if key != (sink.Lasting{}) {
		return e.Call.Value(key)
	}
	root := e.Call
	for outer := root.Parent(); outer != nil; outer = outer.Parent() {
		root = outer
	}
	lasting := &Call{Context: context.WithoutCancel(root.Context), method: e.method, cold: &cold{id: e.ID()}}
	lasting.setup.Store(e.setup.Load())
	return context.Context(lasting)
}

// identity adds the caller: the client, the authenticated user, and the beginning of a hash of the
// session's ID. The ID itself would let a reader of the log take over the session.
func identity(attrs []slog.Attr, req mcp.Request) []slog.Attr {
	if safe.Nil(req) {
		return attrs
	}
	if name := clientName(req); name != "" {
		attrs = append(attrs, slog.String("client", OneLine(name)))
	}
	if user := User(req); user != "" {
		attrs = append(attrs, slog.String("user", OneLine(user)))
	}
	if id := SessionID(req); id != "" {
		sum := sha256.Sum256([]byte(id))
		attrs = append(attrs, slog.String("session", hex.EncodeToString(sum[:6])))
	}
	return attrs
}

// level is the default level of a record. It is that of its outcome, but at least Warn for an error
// that was only classified and is not the caller's doing, such as the rate limit of a service. A
// rule does not lower the level of the error that it words, unless its fault blames the caller.
func (c *Call) level(f *failure.Failure, outcome string) slog.Level {
	level := LevelOf(outcome)
	if f == nil || outcome == outcomeCancelled {
		return level
	}
	switch v := f.View(); {
	case v.Origin == classify.Classified && v.Party != fault.PartyCaller:
		return max(level, slog.LevelWarn)
	case v.Origin == classify.Ruled && f.Err() != nil && v.Fault.Party() != fault.PartyCaller:
		unruled := c.circumstances()
		unruled.Rules, unruled.Reader = nil, &c.settings().silent
		var bare failure.Failure
		bare.Make(nil, f.Err(), &unruled)
		return max(level, c.level(&bare, kinds.Of(string(bare.View().Fault.Kind())).Outcome))
	}
	return level
}

// maxText is how much of an error's text is recorded, or shown without a Mask: a client may end the
// session over a message that is too long.
const maxText = 64 << 10

func clip(text string) string { return words.Clip(text, maxText) }

// errorText is the error's text. For arguments that the SDK refused or could not decode it leaves out
// what the SDK's text repeats of them, which may be a password.
func errorText(f *failure.Failure) string {
	if v := f.View(); v.Origin == classify.Explained && v.Refused && len(v.Fault.Data().Violations) > 0 {
		return `validating "arguments"` // the violations say the rest
	}
	if e, ok := f.Err().(*json.UnmarshalTypeError); ok && e != nil && strings.ContainsAny(e.Value, `"{}[],`) {
		without := *e
		without.Value = "a value"
		return safe.Error(&without)
	}
	return safe.Error(f.Err())
}

// failureAttrs adds what a record has only for a failure: the party, the effect, the error with its types, and the
// stack of a panic. The fault is added where the error's text does not show what the caller read.
func failureAttrs(attrs []slog.Attr, f *failure.Failure) []slog.Attr {
	public, v := f.Fault(), f.View()
	if party := f.Party(); party != "" {
		attrs = append(attrs, slog.String("party", string(party)))
	}
	if retry, ok := public.Retry(); ok && retry.Effect != "" {
		attrs = append(attrs, slog.String("effect", string(retry.Effect)))
	}
	if f.Err() == nil {
		return append(attrs, slog.Any("fault", public))
	}
	worded := (f.Worded() || v.Origin == classify.Ruled) && v.Wire == nil
	if text := errorText(f); !worded || text != v.Fault.Error() && text != v.Fault.Text() { // else the attribute "fault" has it
		attrs = append(attrs, slog.String("error", clip(text)))
	}
	attrs = append(attrs, slog.String("error_types", errorTypes(f.Err())))
	if worded {
		attrs = append(attrs, slog.Any("fault", public))
	}
	if stack := f.Stack(); stack != "" {
		attrs = append(attrs, slog.String("stack", stack))
	}
	return attrs
}

// LogAtEnd is [Call.Log] for a success. The record is written when the opener is done with the
// call, because the answer may yet turn out to be one that cannot be sent: a failure is recorded in its
// place.
func (c *Call) LogAtEnd() { c.atEnd.Or(recordAtEnd) }

// ReferAtEnd puts the ID of the call into the _meta of its success, when the opener is done with
// the call: a middleware outside may keep the result for the answers of other calls.
func (c *Call) ReferAtEnd() {
	if !c.part {
		c.atEnd.Or(referAtEnd)
	}
}

// LogFailure records a failure if every call is recorded, or if its caller learns less than the error
// says.
func (c *Call) LogFailure(res mcp.Result, f *failure.Failure) {
	if f.Hides() || c.settings().Recorder != nil && !c.Unanswered() {
		c.Log(res, f, 0)
	}
}

// errorTypes names the types of an error and of the errors that it wraps, because they say more to
// an operator than the text alone: "*fmt.wrapError > *net.OpError".
func errorTypes(err error) string {
	var b strings.Builder
	seen := 0
	safe.Find(err, func(err error) bool {
		if _, ours := err.(*classify.Hidden); !ours { // Hidden only wraps
			if b.Len() > 0 {
				b.WriteString(" > ")
			}
			b.WriteString(reflect.TypeOf(err).String())
			seen++
		}
		return seen == maxLoggedTypes // a nil error ends its own branch alone
	})
	return b.String()
}

const maxLoggedTypes = 16

// Warn writes a warning about the program itself, such as an option that has no effect.
func Warn(ctx context.Context, logger *slog.Logger, message string, attrs ...slog.Attr) {
	Notice(ctx, logger, slog.LevelWarn, message, attrs...)
}

// Notice is [Warn] with a level. A handler that hangs does not hold up the call. A nil logger
// means that of the Call of ctx, and [slog.Default] outside of one.
func Notice(ctx context.Context, logger *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) {
	if c := FromContext(ctx); logger == nil && c != nil {
		logger = c.Logger()
	} else if logger == nil {
		logger = slog.Default()
	}
	sink.Log(ctx, logger, level, "mcpchain: "+message, attrs...)
}

// MaxName is how many bytes of a name from a client are recorded.
const MaxName = 256

// OneLine bounds a name that came from outside, and escapes what could look like another line or is
// invisible: not every handler quotes as slog's own do.
func OneLine(name string) string { return words.JSON(words.Clip(name, MaxName)) }

// NotifyEnd calls [Recorder.Ended] for a watched Call. It does nothing the second time.
func (c *Call) NotifyEnd(res mcp.Result, f *failure.Failure) {
	if c.atEnd.And(^uint32(notifyAtEnd))&notifyAtEnd != 0 {
		c.settings().Recorder.Ended(c, c.Duration(), res, f)
	}
}

// Refused notes that the middleware of a package refuses the Call before its handler runs.
func (c *Call) Refused(by string) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.refused = by
}

// Attempted notes that the handler runs for the nth time.
func (c *Call) Attempted(n int) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.attempts = n
}

// Attempts returns how often the handler ran, at least 1.
func (c *Call) Attempts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cold == nil {
		return 1
	}
	return max(1, c.cold.attempts)
}

// RefusedBy returns the package that refused the Call, "" for none.
func (c *Call) RefusedBy() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cold == nil {
		return ""
	}
	return c.cold.refused
}

// Stuck reports to the [Recorder] that the handler of the Call was given up, with 1, or has
// returned after all, with -1.
func (c *Call) Stuck(change int64) {
	if recorder := c.settings().Recorder; recorder != nil {
		recorder.Stuck(change)
	}
}
