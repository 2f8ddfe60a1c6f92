// Package classify is the one place that knows errors: it makes of any error a kind,
// whose fault it is, and what the error says about itself and about a second try, with the
// source of each word. It knows neither who reads it nor what a tool does: package failure
// decides what a caller may know and whether a call may be made again.
//
// It walks through the tree of wrapped and joined errors, the outermost first. Each type
// of error is looked at once (types.go) for methods, fields and names that follow a
// convention; what statuses, numbers and texts mean stands in one table for each family:
// codes.go (HTTP, gRPC, words), database.go, standard.go, texts.go.
package classify

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
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
// nil when the rule is not about this error. Rules are asked first, but not about a
// fault, a panic, or a protocol error that steers the client (-32042 and its like). A rule may be called concurrently; one that
// panics counts as one that returned nil.
type Rule func(err error) *fault.Error

// Origin says where the public part of a failure comes from.
type Origin uint8

// The origins.
const (
	Unknown    Origin = iota // nothing is known: an internal error
	Classified               // an error of a standard kind
	Ruled                    // a user's rule
	Bug                      // a panic, or a result that cannot be sent
	Worded                   // somebody made it for the caller to read
	Explained                // a middleware of ours made it of what the caller may know
)

// Unworded reports whether a failure is told by what is known of its error alone: nobody has words for the
// caller, no rule knows it, and it is no bug of the server's.
func (o Origin) Unworded() bool { return o == Unknown || o == Classified }

// Worded reports whether the failure was made for the caller to read.
func (o Origin) Worded() bool { return o == Worded || o == Explained }

// Options are what the classifier cannot see in an error.
type Options struct {
	// Rules are asked before the tables.
	Rules []Rule

	// Request knows what the caller sent. Its Sent returns a function for one error, which
	// reports whether a text, such as a path, stands in the request. Such a text is the
	// caller's. Nil means that nobody knows: then every text counts as the server's own.
	Request interface{ Sent() func(text string) bool }

	// OwnCredentials says that the credentials that services refuse are the caller's own, as those of a
	// local server are: a refusal is then the kind permission_denied, or unauthenticated.
	OwnCredentials bool

	// Ended says that the end of the server has ended the context of the call: then what its
	// handler says is about that, unless it or a rule says on purpose what became of the call.
	Ended bool

	// Received says that the error is what a client's call returned, so that a protocol
	// error in it is the server's answer and not that of a service behind.
	Received bool
}

// Words says whose words the Fault of a Finding has.
type Words uint8

// Whose words a Fault has.
const (
	OfRow      Words = iota // ours, from the row of its kind, and nothing else
	OfRowAnd                // the same, but for a kind or a suggestion of the error's own
	OfSentence              // ours: a sentence that says more than the row
	OfTerse                 // ours: one that says no more than a program's own words around the error
	OfAuthor                // those of whoever made the fault
)

// A Correction is the call that was meant by one with wrong arguments. It holds secrets of the caller's
// own: no log, no store and no other reader gets it, and no scrubber changes it.
type Correction struct {
	Tool      string
	Arguments json.RawMessage
}

// Finding is what the classifier makes of an error.
type Finding struct {
	Origin Origin
	Words  Words
	Fault  *fault.Error   // of a protocol error, too
	Wire   *jsonrpc.Error // a deliberate protocol error, sent as it is
	Panic  *fault.PanicError
	Party  fault.Party // whose fault it is, or ""
	Says   Says        // what the error says about a second try

	By     Source // of what the Fault says itself about a second try
	Chosen bool   // a handler, a rule or the error itself chose the kind: no table derived it

	Private *Correction // what only the caller may read of the Fault, nil for nothing

	Refused  bool // by the SDK, which checks the arguments of typed tools
	Protocol bool // the fault is sent as a protocol error
	Own      bool // the fault is the error's own, and so is its cause
	Lost     bool // the tree has no end that was reached
	Hinted   bool // the suggestion of the fault is the error's own

	teller  error // the error that the status is from
	speaker error // the first error whose type is that of a driver or of a service's client
}

// InResult returns the finding about a failure that the result of a tool reports in other words than its
// error's: what the error says about a second try stays.
func (f *Finding) InResult(public *fault.Error) Finding {
	in := Finding{Origin: Worded, Words: OfAuthor, Fault: public, By: ByFault, Says: f.Says, Lost: f.Lost, teller: f.teller, speaker: f.speaker}
	in.Party = in.WhoseFault()
	return in
}

// Shown returns the finding in other words: those of the error, as a reader who may read them gets them.
func (f *Finding) Shown(public *fault.Error) Finding {
	worded := *f
	worded.Fault, worded.Words = public, OfAuthor
	worded.Party = worded.WhoseFault()
	return worded
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
	return &Hidden{error: err, public: public}
}

// HideErrorBy is [HideError] for a fault of ours, which says about a second try what a middleware knows:
// that the call was refused before its handler ran, or that it was cut.
func HideErrorBy(by Source, err error, public *fault.Error) error {
	return &Hidden{error: err, public: public, by: by}
}

// Hidden is the error that [HideError] makes.
type Hidden struct { //nolint:errname // the name says what was done to the error
	error
	public *fault.Error
	by     Source
}

// Unwrap returns the error that was hidden.
func (h *Hidden) Unwrap() error { return h.error }

// Of returns what is known of an error that is not nil.
func Of(err error, opts Options) (f Finding) {
	w := walker{opts: opts}
	defer func() {
		// An untrusted Unwrap, Is or As panicked: nothing is known about it.
		if recover() != nil {
			f = Finding{Fault: fault.Generic(fault.KindInternal), Party: fault.PartyServer, Lost: true}
		}
	}()
	settled := w.walk(err)
	lost := w.seen > maxErrors || w.below > maxErrors
	if lost {
		w.opts.Rules = nil // errors.Is, which they ask, would not come back from a cycle
	}
	if !settled || w.found.Wire != nil && !kinds.Steers(w.found.Wire.Code) {
		if public := w.rule(err); public != nil {
			w.found, settled = Finding{Origin: Ruled, Words: OfAuthor, Fault: public, Chosen: true}, true
		}
	}
	switch {
	case w.replaced(err, settled):
		w.found, w.teller = Finding{Origin: Classified, Words: OfSentence, Fault: w.clue.public}, nil
		w.speaker = nil
	case !settled:
		w.found = w.decide(err)
	}
	if lost {
		w.clue.effect = worse(w.clue.effect, "") // of what was not looked at
	}
	if w.found.Origin != Bug {
		w.found.Says, w.found.teller, w.found.speaker = w.clue.says(), w.teller, w.speaker
	}
	if w.found.Wire != nil {
		w.found.Fault = FromWire(w.found.Wire)
	}
	w.found.Lost = lost
	w.found.By = cmp.Or(w.found.By, ByFault)
	w.found.Party = w.found.WhoseFault()
	return w.found
}

// replaced reports whether an error tells that the server's end cut the call, and then says so
// in the place of what is known. Words that somebody found for something else stand: a rule's, and
// a fault's that says whether to call again, or whose kind no end of a context leads to.
func (w *walker) replaced(err error, settled bool) bool {
	if !w.opts.Ended && !safe.Is(err, ErrShutdown) {
		return false
	}
	switch f := &w.found; {
	case settled:
		if f.Origin != Worded || f.Wire != nil || !endings[f.Fault.Kind()] {
			return false
		}
		if _, said := f.Fault.Retry(); said {
			return false
		}
	case w.message != "" && !endings[cmp.Or(w.named, w.clue.kind, fault.KindTool)]:
		return false
	}
	known, proof := w.clue.effect, w.clue.proof
	if w.clue = cutByShutdown; !proof.Derived() && known != fault.EffectUnknown { // what a table proves is true of one step
		w.clue.effect, w.clue.proof = known, proof
	}
	return true
}

// endings are the kinds of what handlers make of a context that has ended.
var endings = map[fault.Kind]bool{
	fault.KindInternal: true, fault.KindTool: true, fault.KindCancelled: true, fault.KindTimeout: true,
	fault.KindConnectionFailed: true, fault.KindServiceUnavailable: true, fault.KindServerError: true,
}

// WhoseFault returns whose fault the failure is: who chose a kind on purpose knows it better
// than the error below.
func (f *Finding) WhoseFault() fault.Party {
	byKind := PartyOf(f.Fault)
	switch {
	case f.Fault.Party() != "":
		return byKind
	case f.Origin == Worded || f.Origin == Ruled:
		return cmp.Or(byKind, f.Says.Party, fault.Party(kinds.Of(string(f.Says.Kind)).Party))
	default:
		return cmp.Or(f.Says.Party, byKind)
	}
}

// PartyOf returns whose fault a failure is, as far as it says so or its kind does.
func PartyOf(public *fault.Error) fault.Party {
	return cmp.Or(public.Party(), fault.Party(kinds.Of(string(public.Kind())).Party))
}

// rule returns what the first rule says that knows the error.
func (w *walker) rule(err error) (public *fault.Error) {
	for _, rule := range w.opts.Rules {
		if safe.Call(func() { public = rule(err) }, nil); public != nil {
			return public
		}
	}
	return nil
}

// decide says what an error is for which neither its maker nor a rule has words.
func (w *walker) decide(err error) Finding {
	c := &w.clue
	if c.kind == "" && c.retry == fault.RetryUnknown && w.named == "" && w.message == "" {
		text := safe.Error(err)
		if found := bySDKText(text); found.Fault != nil {
			return found
		}
		w.note(ofWholeText(text))
	}
	switch {
	case w.named != "":
		c.kind, c.public = w.named, nil
	case c.kind == "" && c.after > 0:
		c.kind = fault.KindServiceUnavailable // who asks to come back later
	case c.kind == "" && c.reason == reasonStatement && w.sentStatement():
		c.kind, c.party, c.public, c.terse = fault.KindClientError, fault.PartyCaller, statement, true
	}
	chosen := w.named != "" || c.chosen
	if w.message != "" {
		public := fault.New(cmp.Or(c.kind, fault.KindTool), w.message).Suggest(w.hint)
		return Finding{Origin: Worded, Words: OfAuthor, Fault: public, Chosen: chosen}
	}
	found := Finding{Origin: Classified, Words: OfSentence, Fault: c.public, Chosen: chosen}
	if c.terse {
		found.Words = OfTerse
	}
	switch {
	case c.kind == "" || c.kind == fault.KindInternal && w.named == "":
		found = Finding{Fault: fault.Generic(fault.KindInternal)}
	case c.refusedCredentials() && w.opts.OwnCredentials:
		found.Chosen = false
		required := requiredBy(w.teller)
		c.kind, c.party, c.retry, c.by, c.reason = fault.KindPermissionDenied, fault.PartyCaller, fault.RetryNo, ByTable, reasonOwnCredentials
		if c.anonymous && required == "" {
			c.kind = fault.KindUnauthenticated
		}
		found.Words = OfTerse
		found.Fault = fault.Generic(c.kind).WithMessage("a service that is needed refused the credentials of this call").Needs(required)
	case c.public != nil:
	case c.refusedCredentials():
		found.Words, found.Fault = OfTerse, fault.Generic(c.kind).WithMessage("a service that is needed refused the access of this server")
	default:
		found.Words, found.Fault = OfRow, fault.Generic(c.kind)
		if !kinds.Known(string(c.kind)) {
			found.Words = OfRowAnd
		}
	}
	if w.hint != "" {
		found.Fault, found.Hinted = found.Fault.Suggest(w.hint), true
		if found.Words == OfRow {
			found.Words = OfRowAnd
		}
	}
	return found
}

// maxErrors bounds the walk through an error tree, which may be huge or have a
// cycle. What stands below a fault is counted apart, so that it never hides what
// stands beside.
const maxErrors = 256

// walker collects, in one walk through an error tree, all that is known of it.
type walker struct {
	opts          Options
	found         Finding
	named         fault.Kind // by the error's own word
	message, hint string
	clue          clue
	teller        error
	speaker       error
	seen, below   int         // errors visited, those below what is settled apart
	searching     bool        // below what is settled: only for clues
	network       bool        // below an error of a connection
	session       fault.Party // below what a call of a session returned: who answered
	asked         func(text string) bool
}

// fromCaller returns what reports whether a text is the caller's, nil if nobody knows.
func (w *walker) fromCaller() func(text string) bool {
	if w.asked == nil && w.opts.Request != nil {
		w.asked = w.opts.Request.Sent()
	}
	return w.asked
}

// walk visits err and what it wraps, the outermost first, and reports whether it
// found something that settles what a caller may know.
func (w *walker) walk(err error) bool {
	network, session := w.network, w.session
	defer func() { w.network, w.session = network, session }()
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
	alone := false
	for _, err := range errs {
		if err == nil {
			continue
		}
		w.clue = clue{}
		settled := w.walk(err) && !w.searching
		if settled && !one && w.found.Fault != nil {
			// What a fault says by its kind alone, such as that nothing was run.
			w.clue.effect = cmp.Or(w.clue.effect, fault.Effect(kinds.Of(string(w.found.Fault.Kind())).Effect))
		}
		if !one || w.clue != (clue{}) { // of one failure a part that says nothing is a sentinel
			if w.clue = w.clue.resolved(); branches > 0 {
				w.clue = joined.beside(w.clue)
			}
			joined = w.clue
			branches++
		}
		if !settled {
			continue
		}
		if alone = w.found.Origin != Worded || w.found.Wire != nil; alone {
			break
		}
		faults = append(faults, w.found.Fault)
		w.found = Finding{}
	}
	outer.fill(&joined)
	w.clue = outer
	if !alone && len(faults) > 0 {
		w.found = Finding{Origin: Worded, Words: OfAuthor, Fault: fault.Join(faults...), Own: true, Chosen: true}
	}
	return alone || len(faults) > 0
}

// visit looks at one error and reports whether it settles what a caller may know.
func (w *walker) visit(err error) bool {
	switch e := err.(type) {
	case *fault.Error:
		return w.settle(Finding{Origin: Worded, Words: OfAuthor, Fault: e, Own: true, Chosen: true}, e.Unwrap())
	case *jsonrpc.Error:
		switch {
		case e.Code == kinds.Rejected && e.Message == "rejected by transport":
			return false // go-sdk v1.8 wraps the errors of a transport with it
		case w.session != "":
			w.note(w.ofAnswer(e))
			return false
		}
		return w.settle(Finding{Origin: Worded, Words: OfAuthor, Wire: e, Chosen: true}, nil)
	case *fault.PanicError:
		return w.settle(Finding{Origin: Bug, Fault: fault.Generic(fault.KindInternal), Panic: e}, nil)
	case *Hidden:
		return w.settle(Finding{Origin: Bug, Words: OfAuthor, Fault: e.public, By: e.by, Chosen: true}, nil)
	case fault.Kind:
		w.note(clue{kind: e, chosen: true})
		return false
	}
	t := reflect.TypeOf(err)
	if t == fmtWrapType && w.session == "" && !w.opts.Received {
		w.session = answering(err)
		w.network = w.network || w.session != "" // its EOF is the end of the process that answers
	}
	s := sortOf(t)
	if s.public && !w.searching {
		w.listen(err)
	}
	w.network = w.network || s.network
	if s != wrapping {
		w.note(w.standard(err))
	}
	if len(s.readers) > 0 {
		w.read(err, s)
	}
	return false
}

// answering returns who answered when err is what a call of an MCP session returned, which
// go-sdk v1.8 wraps as calling "tools/call": the client for what servers ask of it,
// otherwise the server upstream.
func answering(err error) fault.Party {
	rest, ok := strings.CutPrefix(safe.Error(err), `calling "`)
	if !ok {
		return ""
	}
	method, _, ok := strings.Cut(rest, `": `)
	switch {
	case !ok || len(method) > maxWord || !strings.Contains(method, "/") && method != "initialize" && method != "ping":
		return ""
	case method == "elicitation/create", method == "sampling/createMessage", method == "roots/list":
		return fault.PartyCaller
	default:
		return fault.PartyUpstream
	}
}

// ofAnswer returns what a protocol error means that a session got for an answer. Its text
// is private.
func (w *walker) ofAnswer(e *jsonrpc.Error) clue {
	c := sentinels.of(e.Message)
	if c.public == nil {
		c = ofWire(e)
	}
	if c.kind != "" {
		c.party = w.session
	}
	return c
}

// read asks an error for what its type can say. What was said before a method of it panics
// stays.
func (w *walker) read(err error, s *sort) {
	safe.Call(func() {
		for _, reader := range s.readers {
			c := reader(err)
			if c.status != 0 && w.teller == nil {
				w.teller = err
			}
			if w.speaker == nil && !w.searching && s != plain && (c.kind != "" || c.reason != nil || c.status != 0) {
				w.speaker = err
			}
			if c.kind == fault.KindRateLimited && (w.clue.kind == "" || w.clue.kind == fault.KindClientError) {
				w.clue.kind = c.kind // AWS tells of too many requests below a status of 400
			}
			w.note(c)
		}
	}, nil)
}

// note takes what is still open.
func (w *walker) note(c clue) { w.clue.fill(&c) }

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
		w.walk(cause)
		return true
	}
	w.found, w.searching = found, true
	before := w.clue
	if _, panicked := safe.Call(func() { w.walk(cause) }, nil); panicked { // an untrusted Unwrap; what is settled stays
		w.clue = before
		w.clue.effect = worse(before.effect, "")
	}
	w.searching = false
	return true
}
