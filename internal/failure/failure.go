// Package failure holds what the middlewares of a call know of one failure, and the policy: what
// its reader may know (view.go), and whether the call may be made again (again.go). No other
// package decides either.
//
// A [Failure] is made when a call has ended with an error or a failed result. Then each middleware of
// the call adds what it has to say.
package failure

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A Failure is what the middlewares of a call know about one failure of it. The goroutine that ends the
// call makes it; then all methods but Make and Explain may be called concurrently.
type Failure struct {
	view View
	err  error               // the original, nil if a tool reported its failure in a result of its own
	res  *mcp.CallToolResult // the result that came with it, if any

	unworded  bool // see Explainable
	passedOn  bool // see Circumstances.PassedOn
	known     Known
	witnessed Witnessed // nil: nothing was seen
	recorded  atomic.Bool

	mu       sync.Mutex
	hints    []fault.HintRule // nil when they have run, as they do when Again is called first
	guidance Guidance
	guided   bool
	added    []func(*fault.Error) *fault.Error
	public   *fault.Error // the result of Fault, nil if it has to be made
}

// Guidance is what a caller reads about calling again after a failure.
type Guidance struct {
	// Retry replaces what the failure itself says. Nil means that the caller reads nothing about it.
	Retry *fault.Retry

	// Suggestion replaces the failure's own; empty means none.
	Suggestion string
}

// Circumstances are what a failure is made of, beside the error.
type Circumstances struct {
	Reader  *Reader
	Rules   []classify.Rule
	Hints   []fault.HintRule
	Request classify.Request
	Witness Witnessed // nil: nothing was seen

	OwnCredentials bool  // the credentials that services refuse are the caller's own
	PassedOn       bool  // the same, because the program passes on those of the call
	Client         bool  // a client failed to answer its server
	Refused        bool  // the call was refused before its handler ran, and the fault says so
	Plain          bool  // the result's words were those of the error, before a middleware changed them
	Ended          error // how the caller's context has ended
	Shutdown       bool  // the server's shutdown has ended it
}

// Failed reports whether a call that returned res and err has failed.
func Failed(res mcp.Result, err error) bool { return err != nil || IsError(res) }

// IsError reports whether a result reports a failure. It is on the success path of every
// middleware.
func IsError(res mcp.Result) bool {
	r, ok := res.(*mcp.CallToolResult)
	return ok && r != nil && r.IsError
}

// Make makes f the Failure of res and err.
func (f *Failure) Make(res *mcp.CallToolResult, err error, of *Circumstances) {
	f.err, f.res, f.hints, f.witnessed, f.passedOn = err, res, of.Hints, of.Witness, of.PassedOn
	seen := Seen{Err: err, Hints: len(of.Hints) > 0, Request: of.Request}
	if err != nil {
		seen.Found = classify.Of(err, classify.Options{Rules: of.Rules, Request: of.Request, OwnCredentials: of.OwnCredentials || of.PassedOn, Ended: of.Shutdown})
	}
	if seen.Report = reportOf(res, err); seen.Report == Apart && of.Plain {
		seen.Report = NotReported
	}
	if seen.Report == Alone && len(of.Rules) > 0 && res.Meta[wire.ErrorKey] == nil {
		// A rule may match the words of a tool as it matches the text of an error.
		if ruled := classify.Of(errors.New(FirstText(res.Content)), classify.Options{Rules: of.Rules}); ruled.Origin == classify.Ruled {
			seen.Found, seen.Report = ruled, NotReported
		}
	}
	if seen.Report != NotReported {
		found := seen.Found
		seen.Words = func() *fault.Error { return reported(res, &found) }
	}
	f.view = of.Reader.View(&seen)
	f.unworded = f.view.Origin.Unworded()
	if of.Client {
		f.view.Party = otherSide(&f.view)
	}
	f.known = Known{Finding: f.view.Finding, Shown: f.view.Shown || f.view.Text == Original, Ended: of.Ended}
	if of.Refused && f.known.By == classify.ByFault {
		f.known.By = classify.Proven
	}
}

// otherSide returns which party is to blame if a client did not answer its server. The classifier
// takes this program for the server and the peer for the caller: here they have changed places,
// unless the author of the failure named a party.
func otherSide(v *View) fault.Party {
	switch {
	case v.Fault.Party() != "":
	case v.Party == fault.PartyServer:
		return fault.PartyCaller
	case v.Party == fault.PartyCaller:
		return fault.PartyServer
	}
	return v.Party
}

// Explain replaces what is known of the failure by x, for a middleware that knows more about it than
// its error says. x has a Fault, or a Wire that replaces the protocol error, with the Fault that its
// data says if that is known. The original error stays, for the log. The explanation is not masked: it
// is made of what the server lists to the caller anyway and of what the caller sent, which the
// explaining middleware has scrubbed. Guidance that was given before goes. If the handler did not run,
// the By of x is classify.Proven.
func (f *Failure) Explain(x classify.Finding, reader *Reader) {
	x.Origin, x.Words, x.By, x.Refused, x.Chosen = classify.Explained, classify.OfSentence, cmp.Or(x.By, classify.ByFault), f.view.Refused, true
	switch {
	case x.Wire == nil:
		x.Party = classify.PartyOf(x.Fault)
	case x.Fault == nil:
		x.Fault = classify.FromWire(x.Wire)
	}
	f.known, f.hints, f.passedOn, f.guided, f.public = Known{Finding: x}, nil, false, false, nil
	f.view = reader.View(&Seen{Found: x, Err: f.err})
}

// bare reports whether there is no error, or it has no private part.
func bare(err error) bool {
	switch e := err.(type) {
	case nil:
		return true
	case *fault.Error:
		return e.Unwrap() == nil
	case *jsonrpc.Error:
		return true
	default:
		return classify.SDKChecks[safe.Error(err)]
	}
}

// Plain reports whether the words of a result are those of its error, which were not written for the
// caller.
func Plain(res *mcp.CallToolResult) bool {
	err := res.GetError()
	return err != nil && reportOf(res, err) == NotReported
}

// reportOf says whose words report the failure in a result.
func reportOf(res *mcp.CallToolResult, err error) Report {
	switch {
	case err == nil:
		return Alone
	case res == nil || !res.IsError:
		return NotReported
	}
	if _, inside := res.Meta[wire.ErrorKey].(*fault.Error); inside {
		return Rendered
	}
	if !safe.Same(res.GetError(), err) || len(res.Content) == 0 {
		return NotReported
	}
	// A tool may add content before it calls SetError, which keeps the content. A middleware may add to the
	// error's own text, which does not make it a text for the caller.
	own := safe.Error(err)
	for _, block := range res.Content {
		text, ok := block.(*mcp.TextContent)
		if ok && text != nil && (own != "" && strings.Contains(text.Text, own) || text.Text == "" && len(res.Content) == 1) {
			return NotReported
		}
	}
	return Apart
}

// reported returns the fault of a failure that a tool reported in a result of its own. Its kind is
// that of the error in the result, if that is known. If that error has a public message, everything
// but the message is kept.
func reported(res *mcp.CallToolResult, found *classify.Finding) *fault.Error {
	if e, ok := classify.FromMeta(res.Meta); ok {
		return e
	}
	words := ContentText(res.Content)
	switch {
	case found.Fault == nil, found.Origin == classify.Unknown, found.Origin == classify.Bug:
		return fault.New(fault.KindTool, words)
	case found.Origin == classify.Classified:
		return fault.New(found.Fault.Kind(), words)
	default:
		return found.Fault.WithMessage(words)
	}
}

// MaxRepeated is how many bytes of a tool's own text the machine form repeats.
const MaxRepeated = 500

// ContentText returns the part of a failed tool's content that the machine form repeats.
func ContentText(content []mcp.Content) string {
	text := FirstText(content)
	switch {
	case text == "":
		return fault.Generic(fault.KindTool).Message()
	case len(text) > MaxRepeated:
		return strings.ToValidUTF8(text[:MaxRepeated], "") + " ..."
	default:
		return text
	}
}

// FirstText returns the first text of a content, "" for none.
func FirstText(content []mcp.Content) string {
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok && t != nil && t.Text != "" {
			return t.Text
		}
	}
	return ""
}

// Is reports whether the Failure was made of res and err. A nil err is compared by its result. A failure that
// the words of a result report is another one without that result.
func (f *Failure) Is(res *mcp.CallToolResult, err error) bool {
	if f == nil || err == nil && f.res != res || res == nil && f.view.Own {
		return false
	}
	return safe.Same(f.err, err)
}

// View returns what the reader may know of the failure.
func (f *Failure) View() *View { return &f.view }

// Err returns the original error, which is private; nil when a tool reported its
// failure in a result of its own, without an error.
func (f *Failure) Err() error { return f.err }

// Result returns the tool's result that held the failure, or nil.
func (f *Failure) Result() *mcp.CallToolResult { return f.res }

// Party returns which party is to blame, "" if that is unknown.
func (f *Failure) Party() fault.Party { return cmp.Or(f.view.Party, f.Fault().Party()) }

// Panic returns the panic that is the failure, or nil. It is nil for a fault around a panic: what
// the fault says about the effect counts.
func (f *Failure) Panic() *fault.PanicError { return f.view.Panic }

// Raised returns the panic that caused the failure, for its record, or nil. A fault around the
// panic changes what the caller reads, but not what happened.
func (f *Failure) Raised() *fault.PanicError {
	if f.view.Origin != classify.Worded {
		return f.view.Panic
	}
	p, _ := safe.As[*fault.PanicError](f.err)
	return p
}

// Stack returns the stack of the panic that caused the failure, "" if none did.
func (f *Failure) Stack() string {
	if p := f.Raised(); p != nil {
		return p.Stack()
	}
	return ""
}

// Wire returns the deliberate protocol error, nil if there is none.
func (f *Failure) Wire() *jsonrpc.Error { return f.view.Wire }

// Worded reports whether the failure has a public message: it is a fault, a protocol error, a
// result of the tool's own, or an error with a public message.
func (f *Failure) Worded() bool { return f.view.Origin.Worded() }

// Explainable reports whether the error says no more to the caller than its kind, so that a middleware
// that knows more may explain it, for the first time or anew: it has no public message, matches no rule,
// and is not a bug of the server.
func (f *Failure) Explainable() bool { return f.unworded }

// Refused reports whether the SDK refused the arguments of a typed tool. Only the text of the error
// shows that. The handler did not run, unless it imitates that text.
func (f *Failure) Refused() bool { return f.view.Refused && f.res != nil && f.Explainable() }

// OwnWords reports whether a tool reported the failure in a result of its own, and nothing else is
// known of the failure.
func (f *Failure) OwnWords() bool {
	if !f.view.Own || f.view.Fault.Kind() != fault.KindTool {
		return false
	}
	_, said := f.view.Fault.Retry()
	return !said
}

// LeftAlone reports whether the tool's own result is sent as the tool wrote it: nothing else is
// known of the failure, and no middleware has added to it.
func (f *Failure) LeftAlone() bool { return f.own() && len(f.res.Content) > 0 }

// own reports whether the tool wrote the result, even one without content, and nothing is added to it.
func (f *Failure) own() bool {
	if !f.OwnWords() || f.res == nil || f.touched() {
		return false
	}
	_, rendered := f.res.Meta[wire.ErrorKey]
	return !rendered
}

// Foreign reports whether the failure comes from the program or the SDK, is not made for mcpchain,
// and no mcpchain middleware has added to it. A typed output that the SDK refused is one: recover
// has made nothing of it.
func (f *Failure) Foreign() bool {
	bySDK := f.view.Origin == classify.Bug && f.view.Words == classify.OfRow && f.Panic() == nil
	return f.own() || f.view.Wire == nil && (f.view.Origin.Unworded() || bySDK) && !f.touched()
}

// touched reports whether a middleware has added something to the failure.
func (f *Failure) touched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guided || len(f.added) > 0
}

// Withheld reports whether the caller reads a sentence of ours although a more trusted reader would
// read the error's own text.
func (f *Failure) Withheld() bool { return f.view.Closed && !private(f.err) }

// Hides reports whether the caller learns less than the error says, so that the error must be
// recorded.
func (f *Failure) Hides() bool { return f.view.Hidden }

// Masked reports whether the caller reads a sentence of ours instead of the error's own text.
func (f *Failure) Masked() bool {
	return f.view.Hidden && !f.view.Shown && (f.view.Origin.Unworded() || f.view.Origin == classify.Bug)
}

// Record marks the failure as recorded. It reports whether it was not before.
func (f *Failure) Record() bool { return f.recorded.CompareAndSwap(false, true) }

// Recorded reports whether the failure was recorded.
func (f *Failure) Recorded() bool { return f.recorded.Load() }

// Fault returns the public part as it is now, for a deliberate protocol error too. It does not
// contain the original error.
func (f *Failure) Fault() *fault.Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.public != nil {
		return f.public
	}
	e := f.view.Fault
	if f.guided {
		if f.guidance.Suggestion != e.Suggestion() {
			e = e.Suggest(f.guidance.Suggestion)
		}
		if f.guidance.Retry != nil {
			e = e.WithRetry(*f.guidance.Retry)
		}
	}
	for _, add := range f.added {
		safe.Call(func() { // a function that panics changes nothing
			if more := add(e); more != nil {
				e = more
			}
		}, nil)
	}
	f.public = e
	return e
}

// Add registers a change to what the caller reads of the failure. Changes apply in the order in
// which they are added. They do not change the record, a deliberate protocol error or the words of
// a tool.
func (f *Failure) Add(change func(*fault.Error) *fault.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added, f.public = append(f.added, change), nil
}

// Text says what is done to the public text before it is sent. If texts are masked, a failure to
// which a user's middleware added something is scrubbed, even if the rest of its text is ours.
func (f *Failure) Text(masked bool) Text {
	f.mu.Lock()
	defer f.mu.Unlock()
	if masked && len(f.added) > 0 && f.view.Text == AsItIs {
		return Scrubbed
	}
	return f.view.Text
}

// Guide sets what the caller reads about calling again. It overrides what the failure itself says,
// and an earlier Guide.
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

// Again decides whether the call may be made again, see [Again]. The rules of the program run when it is called
// first; retry.Server asks its own before it repeats a call.
// If at has no Witness, what the call's own witness has seen until now counts.
func (f *Failure) Again(at Situation) Answer {
	f.mu.Lock()
	if f.hints != nil {
		f.known.ask(f.err, f.hints)
		f.hints = nil
	}
	f.mu.Unlock()
	if at.Witness == (Witness{}) {
		at.Witness = f.Witness()
	}
	return Again(&f.known, at)
}

// Hint returns what the failure says about a second try, whatever a repetition does.
func (f *Failure) Hint() fault.Hint { return f.Again(Situation{}).Hint }

// Classify returns what a caller may know of err, nil for a nil error. An unknown error becomes an
// internal error and nothing else. Classify survives errors whose methods panic. [HintOf] returns
// what an error means for a second try.
func Classify(err error, rules ...classify.Rule) *fault.Error {
	return of(err, classify.Options{Rules: rules})
}

// Received returns what a client may know of the error that its call returned.
func Received(err error) *fault.Error {
	return of(err, classify.Options{Received: true, OwnCredentials: true})
}

func of(err error, opts classify.Options) *fault.Error {
	if err == nil {
		return nil
	}
	f := classify.Of(err, opts)
	switch {
	case f.Wire != nil && opts.Received:
		if public, ok := classify.FromText(f.Wire); ok {
			return public
		}
		return f.Fault
	case f.Wire != nil, f.Own:
		return f.Fault
	}
	public := faults.Derived(f.Fault.Because(err))
	if f.Party != "" {
		public = public.WithParty(f.Party)
	}
	if f.Says.Status != 0 {
		public = public.With("status_code", f.Says.Status)
	}
	return public
}

// FaultOf returns the failure that a call ended with, see middleware.FaultOf.
func FaultOf(res mcp.Result, err error) (*fault.Error, bool) {
	if err != nil {
		return Received(err), true
	}
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || !IsError(res) {
		return nil, false
	}
	if e, ok := classify.FromMeta(tool.Meta); ok {
		return e, true
	}
	e := reported(tool, &classify.Finding{})
	if err := tool.GetError(); err != nil && reportOf(tool, err) != Apart {
		e = Received(err)
	}
	if id, ok := tool.Meta[wire.ReferenceKey].(string); ok {
		e = faults.WithReference(e, id)
	}
	return e, true
}
