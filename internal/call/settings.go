package call

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// Settings are what a middleware establishes for the calls that pass it, on the
// way in, with [Call.Establish]. Make them once and do not change them. A zero
// field establishes nothing.
type Settings struct {
	// Recorder records every call, to Logger. The outermost one is used.
	Recorder Recorder

	// Logger is where the middleware records calls. If no middleware records every
	// call, the outermost Logger receives masked failures. Nil means [slog.Default] at
	// the time of the record.
	Logger *slog.Logger

	// Mask is applied to every text of a failure that a caller reads. If it is set, the text of an
	// error that was not written for the caller is replaced. The masks of several middlewares are
	// applied one after the other, the innermost first.
	Mask func(text string) string

	// Finished is applied to the finished text of a failure, after Mask was applied to its parts.
	Finished func(text string) string

	// Own is applied to the text that a tool reports in its own words, of any length, if Mask is
	// set. Nothing is cut off. Nil means Mask.
	Own func(text string) string

	// Reveal shows the text of internal failures too, unless there is a Mask.
	Reveal bool

	// Rules take part in the classification of failures, the innermost first.
	Rules []classify.Rule

	// Trust says, beside a Mask, who reads the text of an error that has no public message and
	// matches no rule. The most trusting middleware counts.
	Trust failure.Trust

	// PassedOn says that the credentials that services refuse are those that came with the call.
	PassedOn bool

	// Quote reports whether the words of a service that refused a request are shown to anyone. The
	// host is "" if the error does not name it.
	Quote func(host, errorType string) bool

	// Hints say what errors mean for a second try, the innermost first.
	Hints []fault.HintRule

	// Witnessed reports whether the [Ledger] sees everything that a tool changes. The innermost one
	// is used.
	Witnessed func(tool string) bool

	// Render says how failures are written. The outermost one is used.
	Render *Rendering

	// KeepBlocks keeps all blocks and the structured content of a result in which a tool reports a
	// failure in its own words, also if the failure is explained: the explanation stands below the
	// words of the first text. It is for a handler that passes on the results of another server.
	// Without it an explained failure has one text.
	KeepBlocks bool

	// Observe says that answers are sent unchanged, see [Call.Observing].
	Observe bool

	last atomic.Pointer[established]
}

// setup is what all middlewares of a Call have established. It is immutable.
type setup struct {
	Settings // those of all middlewares, combined; Render is never nil

	reader failure.Reader // the reader of failures
	silent failure.Reader // the same for an internal look-up, which nobody reads

	parts []*Settings
	logs  *Settings // those of the recorder, else the first that have a Logger
}

// established remembers the result of [Settings.over]. Middlewares stand in the same order for
// every call, so one entry is enough, and calls after the first allocate nothing.
type established struct{ from, to *setup }

// noSetup is the setup of a Call for which nothing is established.
var noSetup = setup{Settings: Settings{Render: &Rendering{}}, logs: &Settings{}}

// Establishing returns a middleware that adds settings to the calls that pass it.
func Establishing(s *Settings) mcp.Middleware {
	return Wrap(func(ctx context.Context, c *Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(s)
		return next(ctx, c.Method(), req)
	})
}

// Establish adds settings to the Call. It reports whether s is the one that
// records every call.
func (c *Call) Establish(s *Settings) (records bool) {
	for {
		have := c.setup.Load()
		e := s.last.Load()
		if e == nil || e.from != have {
			if have != nil && slices.Contains(have.parts, s) {
				return false // this middleware stands in the chain twice
			}
			e = &established{from: have, to: s.over(have)}
			s.last.Store(e)
		}
		if c.setup.CompareAndSwap(have, e.to) {
			return s.Recorder != nil && (have == nil || have.Recorder == nil)
		}
	}
}

// finished returns what is applied to the finished text of a failure.
func (s *Settings) finished() func(text string) string {
	if s.Finished != nil {
		return s.Finished
	}
	return func(text string) string { return text }
}

// over returns have with the settings s of a middleware further inside added.
func (s *Settings) over(have *setup) *setup {
	if have == nil {
		have = &noSetup
	}
	to := &setup{
		Settings: Settings{
			Recorder: cmp.Or(have.Recorder, s.Recorder), Render: have.Render,
			Witnessed: have.Witnessed, Trust: max(have.Trust, s.Trust), Quote: have.Quote, Reveal: have.Reveal || s.Reveal, PassedOn: have.PassedOn || s.PassedOn, Observe: have.Observe || s.Observe, KeepBlocks: have.KeepBlocks || s.KeepBlocks,
			Rules: slices.Concat(s.Rules, have.Rules), Hints: slices.Concat(s.Hints, have.Hints),
		},
		parts: append(slices.Clip(have.parts), s), logs: have.logs,
	}
	if have.Recorder == nil && (s.Recorder != nil || have.logs.Logger == nil) {
		to.logs = s
	}
	if s.Quote != nil {
		to.Quote = s.Quote
	}
	if s.Witnessed != nil {
		to.Witnessed = s.Witnessed
	}
	if to.Finished = have.Finished; s.Finished != nil {
		to.Finished = s.Finished
	}
	if have.Render == noSetup.Render && s.Render != nil {
		to.Render = s.Render
	}
	to.Mask = inTurn(s.Mask, have.Mask)
	if to.Own = have.Own; s.Mask != nil {
		own := s.Own
		if own == nil {
			own = s.Mask
		}
		to.Own = inTurn(own, have.Own)
	}
	to.silent = failure.Reader{Mask: to.Mask, Reveal: to.Reveal, Quote: to.Quote}
	to.reader = to.silent
	to.reader.Trust = to.Trust
	return to
}

// inTurn returns the composition of two functions, each of which may be nil.
func inTurn(first, then func(string) string) func(string) string {
	switch {
	case first == nil:
		return then
	case then == nil:
		return first
	default:
		return func(text string) string { return then(first(text)) }
	}
}

// words reports whether a middleware rewords the failures that others made: it hides them, records
// them under a reference, or says how they are written.
func (s *setup) words() bool {
	return s.Mask != nil || s.Reveal || s.Recorder != nil || s.Render != noSetup.Render
}

// settings returns what is established for the Call.
func (c *Call) settings() *setup {
	if s := c.setup.Load(); s != nil {
		return s
	}
	return &noSetup
}

// Reveals reports whether callers see everything as it is.
func (c *Call) Reveals() bool { return c.settings().Mask == nil && c.settings().Reveal }

// Trusted reports whether callers read the words of errors that were not written for them.
func (c *Call) Trusted() bool { return c.settings().Trust > failure.Anyone }

// Logger returns the logger that receives the record of this Call, or its masked failures. It is
// [slog.Default] if no middleware has set one.
func (c *Call) Logger() *slog.Logger {
	if logger := c.settings().logs.Logger; logger != nil {
		return logger
	}
	return slog.Default()
}

// Options names an Options type in panics, such as "retry.Server: ServerOptions".
type Options string

// Positive replaces a zero value by the default, and panics if the value is negative.
func Positive[N ~int | ~int64](of Options, field string, value *N, otherwise N) {
	switch {
	case *value < 0:
		panic(fmt.Sprintf("%s.%s is negative; leave it zero for the default", of, field))
	case *value == 0:
		*value = otherwise
	}
}

// AtMost panics if a duration is longer than the one that bounds it.
func (of Options) AtMost(field string, value time.Duration, bound string, limit time.Duration) {
	if value > limit {
		panic(fmt.Sprintf("%s.%s is longer than %s (%v > %v); make it shorter, or leave one of them zero", of, field, bound, value, limit))
	}
}
