package call

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/kinds"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// A Record is what [Call.Log] writes about the end of a call.
type Record struct {
	Result mcp.Result
	Err    error

	// Duration is how long the call took. Zero means since [Call.Begin], or, where
	// that was not called, that it is left out.
	Duration time.Duration
}

// LevelOf is the level at which an outcome is recorded by default: Debug for
// what went well, Info for a failure that the caller can mend or was told on
// purpose, Warn when something that the server needs is down or slow, and Error
// for bugs. An error that was only told apart by its standard kind, such as
// a reset connection, is recorded at Warn at least, unless it is the caller's.
func LevelOf(outcome Outcome) slog.Level {
	switch outcome {
	case OutcomeOK, OutcomeInputRequired:
		return slog.LevelDebug
	case OutcomeTimeout, OutcomeUnavailable:
		return slog.LevelWarn
	case OutcomeInternal, OutcomePanic:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

// epoch makes time.Since read the monotonic clock only, which costs half of
// time.Now.
var epoch = time.Now()

// Begin notes the time, for the duration in the record of this call. One that is watched counts
// as in flight, until [Call.Finish] or [Call.Observe].
func (c *Call) Begin(watched bool) {
	c.began.Store(int64(time.Since(epoch)))
	if watched && c.atEnd.Or(observeAtEnd)&observeAtEnd == 0 {
		c.recording().Stats.InFlight.Add(1)
	}
}

// Duration returns how long ago Begin was called, zero if it was not.
func (c *Call) Duration() time.Duration {
	began := c.began.Load()
	if began == 0 {
		return 0
	}
	return max(1, time.Since(epoch)-time.Duration(began))
}

// Log writes the one record of how the call ended: the method, the tool, prompt or
// resource, the outcome, the duration, the reference, who called, and for a failure its
// kind, the whole error with its types, and the stack of a panic; and what the [Recording]
// asks for. It does nothing for an internal look-up and for a failure that was logged before.
//
// A nil logger means the one that the call was set up with, or else
// [slog.Default]. A panic of the logger's handler is survived.
func (c *Call) Log(logger *slog.Logger, r Record) {
	defer func() {
		if p := recover(); p != nil { // a log that cannot be written must not fail the call
			report("the record of a call could not be written", p, slog.String("method", c.method), slog.String("reference", c.ID()),
				slog.String("error", clip(safe.Error(r.Err))))
		}
	}()
	f := c.Failure(r.Result, r.Err)
	if c.quiet || f != nil && !f.logged.CompareAndSwap(false, true) {
		return
	}
	if r.Duration == 0 {
		r.Duration = c.Duration()
	}
	how := c.recording()
	if c.part {
		how.observe(c, r.Duration, r.Result, r.Err)
	}
	if logger == nil {
		logger = c.Logger()
	}
	outcome := c.Outcome(r.Result, r.Err)
	level := c.level(f, outcome)
	if how.Level != nil {
		own := level
		if apart("a record has its default level", func() { own = how.Level(outcome) }) {
			level = own
		}
	}
	slow := how.Slow > 0 && r.Duration > how.Slow
	if slow {
		level = max(level, slog.LevelWarn)
	}
	if !logger.Enabled(c, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("method", c.method))
	if key := TargetKey(c.method); key != "" {
		attrs = append(attrs, slog.String(key, Name(c.req)))
	}
	attrs = append(attrs, slog.String("outcome", string(outcome)))
	if f != nil {
		attrs = append(attrs, slog.String("kind", oneLine(string(f.Fault().Kind()))))
	}
	if r.Duration > 0 {
		attrs = append(attrs, slog.Float64("duration_ms", float64(r.Duration.Microseconds())/1000))
	}
	if slow {
		attrs = append(attrs, slog.Bool("slow", true))
	}
	if attempts, _ := c.noted(); attempts > 1 {
		attrs = append(attrs, slog.Int("attempts", attempts))
	}
	attrs = append(attrs, slog.String("reference", c.ID()))
	if how.CallerID != nil {
		if id := c.ask("a record has no ID of the caller's", how.CallerID); id != "" {
			attrs = append(attrs, slog.String("caller_id", id))
		}
	}
	if name := clientName(c.req); name != "" {
		attrs = append(attrs, slog.String("client", oneLine(name)))
	}
	attrs = identity(attrs, c.req)
	if f != nil {
		attrs = f.logAttrs(attrs)
	}
	attrs = how.arguments(attrs, c)
	if how.Attrs != nil {
		attrs = append(attrs, how.attrs(c)...)
	}
	message := "mcp call"
	if c.part {
		message = "mcp part of a call"
	}
	record := slog.NewRecord(time.Now(), level, message, 0)
	record.AddAttrs(attrs...)
	c.settings().logs.sink.write(context.WithoutCancel(c), logger.Handler(), record)
}

// level is the default level of a record: that of its outcome, but a warning at least
// for what nobody worded and is not the caller's doing, such as the rate limit of a
// service. A rule does not lower the level of the error that it words, unless its fault
// says that the caller is to blame.
func (c *Call) level(f *Failure, outcome Outcome) slog.Level {
	level := LevelOf(outcome)
	if f == nil || outcome == OutcomeCancelled {
		return level
	}
	switch found := &f.found; {
	case found.Origin == classify.Classified && found.Party != fault.PartyCaller:
		return max(level, slog.LevelWarn)
	case found.Origin == classify.Ruled && f.err != nil && found.Fault.Party() != fault.PartyCaller:
		unruled := c.classifying()
		unruled.Rules, unruled.Show = nil, nil
		bare := &Failure{err: f.err, found: classify.Of(f.err, unruled)}
		return max(level, c.level(bare, Outcome(kinds.Of(string(bare.found.Public().Kind())).Outcome)))
	}
	return level
}

// maxText is how much of an error's text is recorded, or shown where nobody masks: a
// client may end the session over a message that is too long.
const maxText = 64 << 10

// clip bounds a text and says how much of it is missing.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " ... (" + strconv.Itoa(len(text)-maxText) + " bytes more)"
}

// errorText is the error's text, but for the SDK's of arguments that it refused: that
// repeats a value whole, be it a password, where the violations say all that it says.
func (f *Failure) errorText() string {
	if f.found.Origin == classify.Explained && f.found.Refused && len(f.found.Fault.Data().Violations) > 0 {
		return `validating "arguments"`
	}
	return safe.Error(f.err)
}

func (f *Failure) logAttrs(attrs []slog.Attr) []slog.Attr {
	public := f.Fault()
	if party := f.party(); party != "" {
		attrs = append(attrs, slog.String("party", string(party)))
	}
	if retry, ok := public.Retry(); ok && retry.Effect != "" {
		attrs = append(attrs, slog.String("effect", string(retry.Effect)))
	}
	if f.err == nil {
		return append(attrs, slog.Any("fault", public))
	}
	worded := (f.Worded() || f.found.Origin == classify.Ruled) && f.found.Wire == nil
	if text := f.errorText(); !worded || text != f.found.Fault.Error() && text != f.found.Fault.Text() { // else "fault" has it
		attrs = append(attrs, slog.String("error", clip(text)))
	}
	attrs = append(attrs, slog.String("error_types", errorTypes(f.err)))
	if worded {
		attrs = append(attrs, slog.Any("fault", public))
	}
	if f.found.Panic != nil {
		attrs = append(attrs, slog.String("stack", f.found.Panic.Stack()))
	}
	return attrs
}

// LogAtEnd is Log for a success. It writes nothing before the opener is done with
// the call, because the answer may yet turn out to be one that cannot be sent; then
// the record tells that instead. The call is recorded to the logger that it was
// set up with.
func (c *Call) LogAtEnd() { c.atEnd.Or(recordAtEnd) }

// logEnd writes the record of how the call ends, if one is to be written now.
func (c *Call) logEnd(hidden bool, res mcp.Result, err error) {
	if c.atEnd.And(^uint32(recordAtEnd))&recordAtEnd != 0 || hidden {
		c.Log(nil, Record{Result: res, Err: err})
	}
}

// apart runs a function of the program's own, which may panic or end its goroutine, and
// reports whether it returned. Else the log says so, and what follows.
func apart(consequence string, f func()) bool {
	p, panicked, exited := safe.Apart(f)
	switch {
	case exited:
		report(consequence, errGoexit)
	case panicked:
		report(consequence, p)
	}
	return !exited && !panicked
}

// report says in the default log that something of the program's own, which
// mcpchain called, panicked or ended its goroutine. The default log may be what panicked.
func report(what string, p any, more ...slog.Attr) {
	defer func() { _ = recover() }()
	slog.Default().LogAttrs(context.Background(), slog.LevelError, "mcpchain: the program's own code panicked or ended its goroutine",
		append([]slog.Attr{slog.String("consequence", what), slog.String("panic", safe.Value(p))}, more...)...)
}

// errorTypes names the types of an error and of what it wraps, because they say
// more to an operator than the text alone: "*fmt.wrapError > *net.OpError".
func errorTypes(err error) string {
	var b strings.Builder
	seen := 0
	safe.Find(err, func(err error) bool {
		if _, ours := err.(*classify.Hidden); !ours { // it only wraps
			if b.Len() > 0 {
				b.WriteString(" > ")
			}
			fmt.Fprintf(&b, "%T", err)
			seen++
		}
		return seen == maxLoggedTypes // a nil one ends its own branch alone
	})
	return b.String()
}

const maxLoggedTypes = 16

// maxName is how much of a name that a client sent is recorded.
const maxName = 256

// oneLine bounds a name that came from outside, and escapes in it what could look like
// another line or cannot be seen: not every handler quotes as slog's own do.
func oneLine(name string) string {
	return words.JSON(shortened(name, maxName))
}
