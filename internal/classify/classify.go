package classify

import (
	"cmp"
	"errors"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An error of any type may say what a caller may know of it, by having one or
// more of these methods. They are looked for in the whole chain of wrapped and
// joined errors, the outermost first, and may return "" for "nothing to say".
type (
	// PublicMessager gives the public sentence of an error.
	PublicMessager interface{ PublicMessage() string }
	// PublicHinter gives the public suggestion of an error.
	PublicHinter interface{ PublicHint() string }
	// PublicKinder gives the kind of an error, such as "not_found".
	PublicKinder interface{ PublicKind() string }
)

// A Rule says what a caller may know of an error: it returns the public fault, or
// nil when the rule is not about this error. Rules are asked for errors that were
// not made for a caller on purpose. A rule may be called concurrently; one that
// panics counts as one that returned nil.
type Rule func(err error) *fault.Error

// origin says where the public part of a failure comes from.
type Origin uint8

const (
	Unknown    Origin = iota // nothing is known: an internal error
	Classified               // an error of a standard kind
	Ruled                    // a user's rule
	Bug                      // a panic, or a result that cannot be sent
	Worded                   // somebody made it for the caller to read
	Explained                // a middleware of ours made it of what the caller may know
)

// Finding is what the classifier makes of an error.
type Finding struct {
	Origin Origin
	Fault  *fault.Error
	Wire   *jsonrpc.Error // a deliberate protocol error, sent as it is
	Panic  *PanicError

	Refused  bool // by the SDK, which checks the arguments of typed tools
	Protocol bool // the fault is told as a protocol error

	own  bool // the fault is the error's own, and so is its cause
	clue clue // what the error says about a second try
	lost bool // the tree has no end that was reached
}

// Told returns the finding about a failure that was told in other words than its
// error's: what the error says about a second try stays.
func (f Finding) Told(public *fault.Error) Finding {
	return Finding{Origin: Worded, Fault: public, clue: f.clue, lost: f.lost}
}

// HideError returns an error of which a caller learns only what the given fault
// says; the log has err. It is for failures that the server itself caused.
//
// A nil error stays nil, and a nil fault is the generic internal one.
func HideError(err error, public *fault.Error) error {
	if err == nil {
		return nil
	}
	if public == nil {
		public = fault.Generic(fault.KindInternal)
	}
	return &Hidden{err, public}
}

// Hidden is the error that [HideError] makes.
type Hidden struct {
	error
	public *fault.Error
}

// Unwrap returns the error that was hidden.
func (h *Hidden) Unwrap() error { return h.error }

// Classify returns what a caller may know of err, nil for a nil error. It is the
// one place where errors are told apart: deliberate faults and *jsonrpc.Errors,
// the given rules, errors with public methods, the standard kinds of context, os,
// io, net and database/sql, and errors that have an HTTP status, a gRPC status, an
// SQLSTATE or a similar word of their own, anywhere in the chain. Of an error that
// it does not know it says only that it is an internal error. It survives errors
// whose methods panic. What an error means for a second try, [HintOf] says.
func Classify(err error, rules ...Rule) *fault.Error {
	if err == nil {
		return nil
	}
	f := Of(err, rules)
	switch {
	case f.Wire != nil:
		return FromWire(f.Wire)
	case f.own:
		return f.Fault
	default:
		return f.Fault.Because(err)
	}
}

func Of(err error, rules []Rule) (f Finding) {
	defer func() {
		// A stranger's Unwrap, Is or As panicked: nothing is known about it.
		if recover() != nil {
			f = Finding{Fault: fault.Generic(fault.KindInternal), lost: true}
		}
	}()
	var w walker
	settled := w.walk(err)
	lost := w.seen > maxErrors || w.below > maxErrors
	if !settled {
		if lost {
			rules = nil // errors.Is, which they ask, would not come back from a cycle
		}
		w.found = w.decide(err, rules)
	}
	if lost {
		w.clue.effect = worse(w.clue.effect, "") // of what was not looked at
	}
	if w.found.Origin != Bug {
		w.found.clue = w.clue
	}
	w.found.lost = lost
	return w.found
}

// decide says what an error is for which nobody made words.
func (w *walker) decide(err error, rules []Rule) Finding {
	for _, rule := range rules {
		if public := ask(rule, err); public != nil {
			return Finding{Origin: Ruled, Fault: public}
		}
	}
	if w.named != "" {
		w.clue.kind = w.named
	}
	kind := w.clue.kind
	if kind == "" && w.clue.after > 0 {
		kind = fault.KindServiceUnavailable // who asks to come back later
	}
	switch {
	case w.message != "":
		public := fault.New(cmp.Or(kind, fault.KindTool), w.message).Suggest(w.hint)
		return Finding{Origin: Worded, Fault: public}
	case kind != "":
		public := fault.Generic(kind)
		if w.hint != "" {
			public = public.Suggest(w.hint)
		}
		return Finding{Origin: Classified, Fault: public}
	}
	if found := bySDKText(safe.Error(err)); found.Fault != nil {
		return found
	}
	public := fault.Generic(fault.KindInternal)
	if w.hint != "" {
		public = public.Suggest(w.hint)
	}
	return Finding{Fault: public}
}

func ask(rule Rule, err error) (public *fault.Error) {
	defer func() {
		if recover() != nil {
			public = nil
		}
	}()
	if rule == nil {
		return nil
	}
	return rule(err)
}

// maxErrors bounds the walk through an error tree, which may be huge or have a
// cycle. What stands below a fault is counted apart, so that it never hides what
// stands beside.
const maxErrors = 256

// walker collects, in one walk through an error tree, all that is known of it.
type walker struct {
	found         Finding
	named         fault.Kind // by the error's own word
	message, hint string
	clue          clue
	seen, below   int  // errors visited, those below what is settled apart
	searching     bool // below what is settled: only for clues
}

// walk visits err and what it wraps, the outermost first, and reports whether it
// found something that settles what a caller may know.
func (w *walker) walk(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if !w.more() || safe.Nil(err) {
			return false
		}
		if w.visit(err) {
			return true
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return w.walkJoined(joined.Unwrap(), reflect.TypeOf(err) == fmtJoinType)
		}
	}
	return false
}

// more counts a visit and reports whether it may be made.
func (w *walker) more() bool {
	count := &w.seen
	if w.searching {
		count = &w.below
	}
	*count++
	return *count <= maxErrors
}

// walkJoined visits all the errors, because faults that were joined are told
// together; a panic or a protocol error among them is told alone. one says that
// they are one failure told twice, as by fmt.Errorf, and not several.
func (w *walker) walkJoined(errs []error, one bool) bool {
	outer, joined, branches := w.clue, clue{}, 0
	var faults []*fault.Error
	for _, err := range errs {
		if err == nil {
			continue
		}
		w.clue = clue{}
		settled := w.walk(err)
		if !one || w.clue != (clue{}) { // of one failure a part that says nothing is a sentinel
			if w.clue = w.clue.resolved(); branches > 0 {
				w.clue = joined.beside(w.clue)
			}
			joined = w.clue
			branches++
		}
		switch {
		case !settled || w.searching:
		case w.found.Origin != Worded || w.found.Wire != nil:
			outer.fill(&joined)
			w.clue = outer
			return true
		default:
			faults = append(faults, w.found.Fault)
			w.found = Finding{}
		}
	}
	outer.fill(&joined)
	w.clue = outer
	if len(faults) == 0 {
		return false
	}
	w.found = Finding{Origin: Worded, Fault: fault.Join(faults...), own: true}
	return true
}

// visit looks at one error and reports whether it settles what a caller may know.
func (w *walker) visit(err error) bool {
	switch e := err.(type) {
	case *fault.Error:
		return w.settle(Finding{Origin: Worded, Fault: e, own: true}, e.Unwrap())
	case *jsonrpc.Error:
		return w.settle(Finding{Origin: Worded, Wire: e}, nil)
	case *PanicError:
		return w.settle(Finding{Origin: Bug, Fault: fault.Generic(fault.KindInternal), Panic: e}, nil)
	case *RenderedError:
		if public, ok := FromMeta(e.Result.Meta); ok {
			return w.settle(Finding{Origin: Worded, Fault: public, own: true}, e.Result.GetError())
		}
		return false
	case *Hidden:
		return w.settle(Finding{Origin: Bug, Fault: e.public}, nil)
	case fault.Kind:
		w.clue.kind = cmp.Or(w.clue.kind, e)
		return false
	}
	has := traitsOf(err)
	if has == wraps {
		return false
	}
	if has&(saysMessage|saysHint|saysKind) != 0 && !w.searching {
		w.listen(err)
	}
	w.note(standard(err, has))
	if has&saysClues != 0 {
		w.ask(err, has)
	}
	return false
}

// listen takes the public words of an error.
func (w *walker) listen(err error) {
	if m, ok := err.(PublicMessager); ok && w.message == "" {
		w.message = m.PublicMessage()
	}
	if h, ok := err.(PublicHinter); ok && w.hint == "" {
		w.hint = h.PublicHint()
	}
	if k, ok := err.(PublicKinder); ok && w.named == "" {
		w.named = fault.Kind(k.PublicKind())
	}
}

// settle notes what a caller may know. The private cause of it is searched for
// what it says about a second try, and for nothing else.
func (w *walker) settle(found Finding, cause error) bool {
	if w.searching {
		w.note(found.said())
		if cause != nil {
			w.walk(cause)
		}
		return true
	}
	w.found = found
	if cause != nil {
		w.search(cause)
	}
	return true
}

func (w *walker) search(cause error) {
	before := w.clue
	w.searching = true
	defer func() {
		w.searching = false
		if recover() != nil { // a stranger's Unwrap; what is settled stays
			w.clue = before
			w.clue.effect = worse(before.effect, "")
		}
	}()
	w.walk(cause)
}

// bySDKText knows the failures that go-sdk v1.8 tells by their text alone.
func bySDKText(text string) Finding {
	switch {
	// The rest of the text is the validator's and echoes the argument.
	case strings.HasPrefix(text, `validating "arguments": `):
		return Finding{Origin: Classified, Fault: fault.Generic(fault.KindValidation), Refused: true}
	case text == "the server is busy, retry later":
		return Finding{Origin: Classified, Fault: busy}
	// A typed output that JSON cannot hold or that breaks its schema: the server's
	// fault, whatever stands in the chain.
	case strings.HasPrefix(text, "marshaling output: "), strings.HasPrefix(text, "validating tool output: "):
		return Finding{Origin: Bug, Fault: fault.Generic(fault.KindInternal)}
	default:
		return Finding{}
	}
}

// busy is what the SDK means when it refuses a call before the handler has it.
var busy = fault.New(fault.KindServiceUnavailable, "the server is busy now").
	WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})

// SDKChecks are the texts with which go-sdk v1.8 wraps a protocol error of its
// own. They are kept whole; of any other wrapped protocol error only the
// protocol error itself is sent, because nobody knows what is in the wrapping.
var SDKChecks = map[string]bool{
	"invalid params: missing required 'ref' field":           true,
	"invalid params: missing required 'argument.name' field": true,
	"invalid params: missing required 'notifications' field": true,
}
