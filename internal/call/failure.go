package call

import (
	"cmp"
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

	client bool // a client failed to answer its server

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
	if wire, ok := err.(*jsonrpc.Error); ok && wire != nil && c.settings().Mask != nil {
		if original, ours := rendered.Get(wire); ours {
			err = original
		}
	}
	f, known := c.known(tool, err)
	if known {
		return f
	}
	f.classify(c, tool, err) // without the lock, because an error may ask for the ID
	cold := c.lock()
	defer c.mu.Unlock()
	if have := cold.failure; have.isOf(tool, err) {
		return have
	}
	cold.failure = f
	return f
}

// Settle makes err the failure that the Call ends with, for a middleware that answers
// before the handlers inside of it have returned: what those make known of their own
// errors later, in another goroutine, does not replace what is known about this one.
// A middleware that waits for its handler needs none of it.
func (c *Call) Settle(err error) {
	f := c.Failure(nil, err)
	cold := c.lock()
	defer c.mu.Unlock()
	cold.settled = f
}

// known returns the Failure that there is, if it is about this one, and else an empty one: the
// first stands in the Call itself.
func (c *Call) known(tool *mcp.CallToolResult, err error) (_ *Failure, known bool) {
	cold := c.lock()
	defer c.mu.Unlock()
	switch {
	case cold.settled.isOf(tool, err):
		return cold.settled, true
	case cold.failure.isOf(tool, err):
		return cold.failure, true
	case cold.taken:
		return &Failure{}, false
	}
	cold.taken = true
	return &cold.first, false
}

func (f *Failure) isOf(tool *mcp.CallToolResult, err error) bool {
	if f == nil || err == nil && f.res != tool {
		return false
	}
	return safe.Same(f.err, err)
}

// replace puts a Failure in the place of another one.
func (c *Call) replace(f, by *Failure) *Failure {
	by.logged.Store(f.logged.Load())
	cold := c.lock()
	defer c.mu.Unlock()
	cold.failure = by
	return by
}

// classifying returns what the classifier has to know of this call.
func (c *Call) classifying() classify.Options {
	s := c.settings()
	o := classify.Options{Request: c, CallerCredentials: s.CallerCredentials}
	if c.quiet {
		return o // nobody reads what becomes of a look-up of ours
	}
	o.Rules = s.Rules
	if s.Show != nil {
		o.Show = func(err error, known *fault.Error) *fault.Error { return s.Show(err, known, c.Sent()) }
	}
	return o
}

// classify finds out what the failure is.
func (f *Failure) classify(c *Call, res *mcp.CallToolResult, err error) {
	f.err, f.res, f.hints, f.ended = err, res, c.settings().Hints, c.Err()
	if err != nil {
		f.found = classify.Of(err, c.classifying())
	}
	f.client = methods[c.method].client
	// What was rendered by a Call inside (see rendered) is made anew where there
	// is a mask, and else stays: the mask may have been in there.
	inside := false
	if res != nil && res.IsError {
		_, inside = res.Meta[wire.ErrorKey].(*fault.Error)
	}
	if err == nil && !c.quiet && len(c.settings().Rules) > 0 && res.Meta[wire.ErrorKey] == nil {
		// A rule may know the words of a tool as it knows the text of an error.
		if ruled := classify.Of(errors.New(firstText(res.Content)), classify.Options{Rules: c.settings().Rules}); ruled.Origin == classify.Ruled {
			f.found = ruled
			return
		}
	}
	if err == nil || f.found.Wire == nil && (inside && c.settings().Mask == nil || !inside && toldApart(res, err)) {
		f.told = true
		f.found = f.found.Told(told(res, f.found))
	}
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
// of the error that the result holds, where that is known; of an error that somebody
// worded all is kept but the message.
func told(res *mcp.CallToolResult, found classify.Finding) *fault.Error {
	if e, ok := classify.FromMeta(res.Meta); ok {
		return e
	}
	words := contentText(res.Content)
	switch {
	case found.Fault == nil, found.Origin == classify.Unknown, found.Origin == classify.Bug:
		return fault.New(fault.KindTool, words)
	case found.Origin == classify.Classified:
		return fault.New(found.Fault.Kind(), words)
	default:
		return found.Public().WithMessage(words)
	}
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

// Err returns the original error, which is private; nil when a tool told its
// failure in a result of its own, without an error.
func (f *Failure) Err() error { return f.err }

// Party returns whose fault the failure is, "" where that is not known.
func (f *Failure) Party() fault.Party { return cmp.Or(f.party(), f.Fault().Party()) }

// party returns what was found out about whose fault the failure is. The classifier knows this
// program as the server, and who asks it as the caller. Where a client answers its server, the
// two have changed places, but for what its author said.
func (f *Failure) party() fault.Party {
	party := f.found.Party
	switch said := f.found.Public().Party() != ""; {
	case !f.client || said:
	case party == fault.PartyServer:
		return fault.PartyCaller
	case party == fault.PartyCaller:
		return fault.PartyServer
	}
	return party
}

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
		if f.guided {
			e = e.Suggest(f.guidance.Suggestion).WithRetry(f.guidance.Retry)
		}
		for _, add := range f.added {
			safe.Call(func() { // one that panics changes nothing
				if more := add(e); more != nil {
					e = more
				}
			}, nil)
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

// Hides reports whether the caller of c learns less than the error says, so that
// the error must be recorded somewhere.
func (c *Call) Hides(f *Failure) bool {
	masked := c.settings().Mask != nil
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

// Explain replaces what the caller is told of a failure of this Call, for a middleware that knows
// more about it than its error says: the Fault of x, which is a protocol error if x says so, or its
// Wire in the place of the protocol error that there was. The original
// error stays what it was, for the log and for the middlewares outside. What is told
// is not masked: it is made of what the server lists to the caller anyway and of what
// the caller sent, which who explains has scrubbed. Explain is for the middleware
// that stands next to the handler: what others have added to f is not carried over.
func (c *Call) Explain(f *Failure, x classify.Finding) {
	x.Origin, x.Refused = classify.Explained, f.found.Refused
	if x.Fault != nil {
		x.Party = classify.PartyOf(x.Fault)
	}
	c.replace(f, &Failure{err: f.err, res: f.res, found: x})
}

// Explainable reports whether what the caller is told of the failure says no more
// than its kind, so that a middleware that knows more may say it: nobody worded it,
// no rule knows it, and it is no bug of the server's.
func (f *Failure) Explainable() bool {
	return f.err != nil && (f.found.Origin == classify.Unknown || f.found.Origin == classify.Classified)
}

// Refused reports whether the SDK refused the arguments of a typed tool, which it
// tells by the text of the error alone: the handler was not called, unless it
// imitates that text.
func (f *Failure) Refused() bool { return f.found.Refused && f.res != nil && f.Explainable() }

// ArgumentError marks an error as being about the arguments of the call.
type ArgumentError struct{ Err error }

func (e ArgumentError) Error() string { return e.Err.Error() }
func (e ArgumentError) Unwrap() error { return e.Err }

// PublicKind is what is told of the error where package validate does not explain it.
func (e ArgumentError) PublicKind() string { return string(fault.KindValidation) }

// OwnWords reports whether a tool told the failure in a result of its own and nothing
// else is known of it.
func (f *Failure) OwnWords() bool {
	if !f.told || f.found.Fault == nil || f.found.Fault.Kind() != fault.KindTool {
		return false
	}
	_, said := f.found.Fault.Retry()
	return !said
}

// The outcomes that do not follow from a kind alone, see [kinds.Row].
const (
	OutcomeOK            = "ok"
	OutcomeInputRequired = "input_required" // the call goes on when the client has given more input
	OutcomePanic         = "panic"

	outcomeCancelled     = "cancelled" // the client gave up
	outcomeProtocolError = "protocol_error"
	outcomeToolError     = "tool_error" // any other failure that the tool told on purpose
)

// Outcome says in one word how the call ended that gave res and err.
func (c *Call) Outcome(res mcp.Result, err error) string {
	f := c.Failure(res, err)
	if f == nil {
		if NeedsInput(res) {
			return OutcomeInputRequired
		}
		return OutcomeOK
	}
	switch {
	case f.found.Panic != nil:
		return OutcomePanic
	// A call that was given up is cancelled, whoever worded its end.
	case errors.Is(c.Err(), context.Canceled):
		return outcomeCancelled
	case f.found.Wire != nil:
		if _, ours := classify.FromJSON(f.found.Wire.Data); !ours {
			return outcomeProtocolError
		}
	}
	kind := f.Fault().Kind()
	if kind == fault.KindCancelled && c.Err() == nil && !f.Worded() {
		return outcomeToolError // a context of the handler's own; the client waits
	}
	return kinds.Of(string(kind)).Outcome
}
