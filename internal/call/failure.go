package call

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Failure is what the middlewares of a call know about one failure of it. All
// methods may be called concurrently.
type Failure struct {
	err   error               // the original, nil when a tool told its failure in a result of its own
	res   *mcp.CallToolResult // the result that came with it, if any
	found classify.Finding
	told  bool // the tool told it in a result of its own, whose content stays

	traced bool // err is the cause of what a tool told without an error, see Because

	hints []classify.HintRule
	ended error // how the caller's context had ended when this was found

	hinted sync.Once
	hint   classify.Hint

	logged atomic.Bool

	mu       sync.Mutex
	guidance Guidance
	guided   bool
	added    []func(*fault.Error) *fault.Error
	public   *fault.Error // what Fault returns, nil when it has to be put together
}

// Guidance is what a caller is told about calling again after a failure.
type Guidance struct {
	// Retry is told in the place of what the failure itself says.
	Retry fault.Retry

	// Suggestion is told in the place of the failure's own; empty means none.
	Suggestion string

	// Insist puts the sentence about the retry into the text of a failure, too, that
	// a tool told in its own words, which are left as they are otherwise.
	Insist bool
}

// isError reports whether a result tells a failure. It is on the success path of
// every middleware.
func isError(res mcp.Result) bool {
	r, ok := res.(*mcp.CallToolResult)
	return ok && r != nil && r.IsError
}

// Failure returns what is known about the failure that res and err tell, and nil
// when they tell a success. It is classified once: whoever asks again with the
// same error gets the same Failure, and with another error a new one.
func (c *Call) Failure(res mcp.Result, err error) *Failure {
	if err == nil && !isError(res) {
		return nil
	}
	tool, _ := res.(*mcp.CallToolResult)
	if err == nil {
		err = tool.GetError()
	}
	if wire, ok := err.(*jsonrpc.Error); ok && c.settings().mask != nil {
		err = rendered.original(wire)
	}
	if f := c.known(tool, err); f != nil {
		return f
	}
	f := c.newFailure()
	f.classify(c, tool, err) // without the lock, because an error may ask for the ID
	cold := c.lock()
	defer c.mu.Unlock()
	if have := cold.failure; have.isOf(tool, err) {
		return have
	}
	cold.failure = f
	return f
}

// known returns the Failure that there is, if it is about this one.
func (c *Call) known(tool *mcp.CallToolResult, err error) *Failure {
	cold := c.lock()
	defer c.mu.Unlock()
	switch {
	case cold.settled.isOf(tool, err):
		return cold.settled
	case cold.failure.isOf(tool, err):
		return cold.failure
	default:
		return nil
	}
}

func (f *Failure) isOf(tool *mcp.CallToolResult, err error) bool {
	if f == nil || err == nil && f.res != tool {
		return false
	}
	return f.traced && err == nil || safe.Same(f.err, err)
}

// newFailure returns an empty Failure: for the first one that in the Call itself.
func (c *Call) newFailure() *Failure {
	cold := c.lock()
	defer c.mu.Unlock()
	if cold.taken {
		return &Failure{}
	}
	cold.taken = true
	return &cold.first
}

// classifying returns what the classifier has to know of this call.
func (c *Call) classifying() classify.Options {
	s := c.settings()
	o := classify.Options{Request: c, CallerCredentials: s.callerCredentials}
	if c.quiet {
		return o // nobody reads what becomes of a look-up of ours
	}
	o.Rules = s.rules
	if s.show != nil {
		o.Show = func(err error, known *fault.Error) *fault.Error { return s.show(err, known, c.Sent()) }
	}
	return o
}

// classify finds out what the failure is.
func (f *Failure) classify(c *Call, res *mcp.CallToolResult, err error) {
	f.err, f.res, f.hints, f.ended = err, res, c.settings().hints, c.Err()
	if err != nil {
		f.found = classify.Of(err, c.classifying())
	}
	// What was rendered by a Call inside (see renderedErrors) is made anew where there
	// is a mask, and else stays: the mask may have been in there.
	inside := res != nil && res.IsError && isFault(res.Meta[wire.ErrorKey])
	if err == nil && !c.quiet && len(c.settings().rules) > 0 && res.Meta[wire.ErrorKey] == nil {
		// A rule may know the words of a tool as it knows the text of an error.
		if ruled := classify.Of(errors.New(firstText(res.Content)), classify.Options{Rules: c.settings().rules}); ruled.Origin == classify.Ruled {
			f.found = ruled
			return
		}
	}
	if err == nil || f.found.Wire == nil && (inside && c.settings().mask == nil || !inside && toldApart(res, err)) {
		f.told = true
		f.found = f.found.Told(told(res, f.found))
	}
}

func isFault(v any) bool {
	_, ok := v.(*fault.Error)
	return ok
}

// toldApart reports whether a result that holds an error tells the failure in
// other words than the error's: content that a tool put there before it called
// SetError, which keeps it.
func toldApart(res *mcp.CallToolResult, err error) bool {
	if res == nil || !res.IsError || !safe.Same(res.GetError(), err) || len(res.Content) == 0 {
		return false
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	return len(res.Content) > 1 || !ok || text == nil || text.Text != "" && text.Text != safe.Error(err)
}

// told reads a failure that a tool told in a result of its own. The kind is that
// of the error that the result holds, where that is known.
func told(res *mcp.CallToolResult, found classify.Finding) *fault.Error {
	if e, ok := classify.FromMeta(res.Meta); ok {
		return e
	}
	kind := fault.KindTool
	if found.Fault != nil && found.Origin != classify.Unknown && found.Origin != classify.Bug {
		kind = found.Fault.Kind()
	}
	return fault.New(kind, contentText(res.Content))
}

// FaultOf reads the failure that a call ended with, see middleware.FaultOf.
func FaultOf(res mcp.Result, err error) (*fault.Error, bool) {
	if err != nil {
		return classify.Received(err), true
	}
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || !isError(res) {
		return nil, false
	}
	if e, ok := classify.FromMeta(tool.Meta); ok {
		return e, true
	}
	if err := tool.GetError(); err != nil && !toldApart(tool, err) {
		return classify.Received(err), true
	}
	return told(tool, classify.Finding{}), true
}

// maxTold is how much of a tool's own text the machine form repeats.
const maxTold = 500

func contentText(content []mcp.Content) string {
	text := firstText(content)
	switch {
	case text == "":
		return fault.Generic(fault.KindTool).Message()
	case len(text) > maxTold:
		return strings.ToValidUTF8(text[:maxTold], "") + " ..."
	default:
		return text
	}
}

func firstText(content []mcp.Content) string {
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok && t != nil && t.Text != "" {
			return t.Text
		}
	}
	return ""
}

// Hint returns what the failure says about a second try: the guidance of a fault
// itself, else the rules that are established for the call, else the built-in
// table. A call that its caller gave up is not repeated.
func (f *Failure) Hint() classify.Hint {
	f.hinted.Do(func() {
		f.hint = f.found.Hint(f.err, f.hints)
		public := f.found.Public()
		switch _, guided := public.Retry(); {
		case guided:
		case errors.Is(f.ended, context.Canceled) && f.hint.Retry != classify.RetryNo:
			f.hint.Retry, f.hint.After, f.hint.Reason = classify.RetryNo, 0, classify.ReasonCancelled
		case errors.Is(f.ended, context.DeadlineExceeded) && f.hint.Reason == "" && public.Kind() == fault.KindTimeout:
			f.hint.Reason = classify.ReasonCaller
		}
	})
	return f.hint
}

// CauseEffect returns the effect that the private cause proves, or an error without a
// fault. It is "" if that proves nothing. The failure's own kind and rules do not count.
func (f *Failure) CauseEffect() fault.Effect { return f.found.CauseEffect() }

// Err returns the original error, which is private; nil when a tool told its
// failure in a result of its own, without an error.
func (f *Failure) Err() error { return f.err }

// Panic returns the panic that caused the failure, or nil.
func (f *Failure) Panic() *classify.PanicError { return f.found.Panic }

// Wire returns the deliberate protocol error, or nil when there is none.
func (f *Failure) Wire() *jsonrpc.Error { return f.found.Wire }

// Worded reports whether somebody made the failure for the caller to read: a
// fault, a protocol error, a result of the tool's own, an error with a public
// message.
func (f *Failure) Worded() bool {
	return f.found.Origin == classify.Worded || f.found.Origin == classify.Explained
}

// Fault returns the public part as it stands now, for a deliberate protocol error
// too. The original error is not in it.
func (f *Failure) Fault() *fault.Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.public == nil {
		e := f.found.Fault
		if e == nil {
			e = classify.FromWire(f.found.Wire)
		}
		e = f.advised(e)
		for _, add := range f.added {
			if more := guarded(add, e); more != nil {
				e = more
			}
		}
		f.public = e
	}
	return f.public
}

// Add changes what the caller is told of the failure, after everything that is added
// already. It does not change what the log has of it. A deliberate protocol error and
// the words of a tool stay as they are.
func (f *Failure) Add(change func(*fault.Error) *fault.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added, f.public = append(f.added, change), nil
}

// guarded survives a change that panics, which changes nothing.
func guarded(change func(*fault.Error) *fault.Error, e *fault.Error) (changed *fault.Error) {
	defer func() {
		if recover() != nil {
			changed = nil
		}
	}()
	return change(e)
}

// advised returns e with what is said about calling again. It is called with the
// lock.
func (f *Failure) advised(e *fault.Error) *fault.Error {
	if g := &f.guidance; f.guided {
		return e.Suggest(g.Suggestion).WithRetry(g.Retry)
	}
	return e
}

// Hides reports whether the caller of c learns less than the error says, so that
// the error must be recorded somewhere.
func (c *Call) Hides(f *Failure) bool {
	masked := c.settings().mask != nil
	switch f.found.Origin {
	case classify.Worded, classify.Explained:
		// A fault with a cause, or an error around it, says more than it shows.
		return masked && f.err != nil && !bare(f.err)
	case classify.Bug:
		return true
	default:
		return masked
	}
}

// bare reports whether an error is nothing but its public part.
func bare(err error) bool {
	switch e := err.(type) {
	case *fault.Error:
		return e.Unwrap() == nil
	case *jsonrpc.Error:
		return true
	default:
		return classify.SDKChecks[safe.Error(err)]
	}
}

// Guide says what the caller is told about calling again. It has the last word:
// over what the failure itself says, and over an earlier call of it.
func (f *Failure) Guide(g Guidance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.guidance, f.guided, f.public = g, true, nil
}

// Guided reports whether [Failure.Guide] was called.
func (f *Failure) Guided() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guided
}

// insisted returns the line that is put into a tool's own text, "" for none.
func (f *Failure) insisted() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.guided || !f.guidance.Insist {
		return ""
	}
	return f.guidance.Retry.String()
}

// Outcome is how a call ended, in one word for the log.
type Outcome string

// The outcomes: a closed set.
const (
	OutcomeOK            Outcome = "ok"
	OutcomeInputRequired Outcome = "input_required" // the call goes on when the client has given more input
	OutcomeValidation    Outcome = "validation"     // wrong arguments
	OutcomeNotFound      Outcome = "not_found"
	OutcomeDenied        Outcome = "denied"
	OutcomeConflict      Outcome = "conflict"
	OutcomeRateLimited   Outcome = "rate_limited"
	OutcomeRefused       Outcome = "refused"   // it had failed too often, and was not made again
	OutcomeCancelled     Outcome = "cancelled" // the client gave up
	OutcomeTimeout       Outcome = "timeout"
	OutcomeUnavailable   Outcome = "unavailable" // something that the tool needs is down or broken
	OutcomeToolError     Outcome = "tool_error"  // any other failure that the tool told on purpose
	OutcomeProtocolError Outcome = "protocol_error"
	OutcomeInternal      Outcome = "internal_error"
	OutcomePanic         Outcome = "panic"
)

// Outcome says in one word how the call ended that gave res and err.
func (c *Call) Outcome(res mcp.Result, err error) Outcome {
	f := c.Failure(res, err)
	if f == nil {
		if needsInput(res) {
			return OutcomeInputRequired
		}
		return OutcomeOK
	}
	switch {
	case f.found.Panic != nil:
		return OutcomePanic
	// A call that was given up is cancelled, whoever worded its end.
	case errors.Is(c.Err(), context.Canceled):
		return OutcomeCancelled
	case f.found.Wire != nil:
		if _, ours := classify.FromJSON(f.found.Wire.Data); !ours {
			return OutcomeProtocolError
		}
	}
	kind := f.Fault().Kind()
	if kind == fault.KindCancelled && c.Err() == nil && !f.Worded() {
		return OutcomeToolError // a context of the handler's own; the client waits
	}
	return Outcome(kinds.Of(string(kind)).Outcome)
}

func needsInput(res mcp.Result) bool {
	switch r := res.(type) {
	case *mcp.CallToolResult:
		return r != nil && r.InputRequests != nil
	case *mcp.GetPromptResult:
		return r != nil && r.InputRequests != nil
	case *mcp.ReadResourceResult:
		return r != nil && r.InputRequests != nil
	default:
		return false
	}
}
