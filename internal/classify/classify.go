// Package classify turns any error into a [Finding]: its kind, the party to blame, and what the
// error says about itself and about a second try, with the source of each part. No other package
// looks into errors for this. It knows neither the reader nor the tool: package failure decides
// what a caller may know and whether a call may be made again.
//
// It walks through the tree of wrapped and joined errors, the outermost first. Each type of error
// is examined once (types.go) for methods, fields and names that follow a convention. The meanings
// of statuses, numbers and texts stand in one table for each family: codes.go (HTTP, gRPC, words),
// database.go, standard.go, texts.go.
package classify

import (
	"cmp"
	"errors"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/inner"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An error of any type may state its public part with one or more of these methods. They are looked
// for in the whole chain of wrapped and joined errors, the outermost first. "" says nothing.
type (
	// PublicMessager gives the public sentence of an error.
	PublicMessager interface{ PublicMessage() string }
	// PublicHinter gives the public suggestion of an error.
	PublicHinter interface{ PublicHint() string }
	// PublicKinder gives the kind of an error, such as "not_found".
	PublicKinder interface{ PublicKind() string }
)

// A Rule returns the public fault of an error, or nil if the rule is not about this error. Rules come before the tables, but are not called for a fault, a panic,
// or a protocol error that steers the client (-32042 and its like). A rule may be called
// concurrently; one that panics counts as one that returned nil.
type Rule func(err error) *fault.Error

// A Request is what the caller sent. Sent returns a function for one error. It reports whether a
// text, such as a path, stands in the request.
type Request interface{ Sent() func(text string) bool }

// Origin says where the public part of a failure comes from.
type Origin uint8

// The origins.
const (
	Unknown    Origin = iota // nothing is known: an internal error
	Classified               // an error of a standard kind
	Ruled                    // a user's rule
	Bug                      // a panic, or a result that cannot be sent
	Worded                   // it was made for the caller to read
	Explained                // one of our middlewares made it of what the caller may know
)

// Unworded reports whether only the classification of its error describes a failure: it has no
// public message, matches no rule, and is no bug of the server.
func (o Origin) Unworded() bool { return o == Unknown || o == Classified }

// Worded reports whether the failure was made for the caller.
func (o Origin) Worded() bool { return o == Worded || o == Explained }

// Options hold what the classifier cannot see in an error.
type Options struct {
	// Rules come before the tables.
	Rules []Rule

	// Request says which texts are the caller's. Nil means that the request is unknown: then every
	// text counts as the server's own.
	Request Request

	// OwnCredentials means that services check the caller's own credentials, as with a local server:
	// a refusal then has the kind permission_denied, or unauthenticated.
	OwnCredentials bool

	// Ended means that the server's shutdown has ended the context of the call. The error of its
	// handler is then taken for a consequence, unless the error or a rule states the outcome on purpose.
	Ended bool

	// Received means that a client's call returned the error, so that a protocol error in it is the
	// server's answer and not that of a service behind it.
	Received bool
}

// Words says whose words the Fault of a Finding has.
type Words uint8

// Whose words a Fault has.
const (
	OfRow      Words = iota // ours, from the row of its kind, and nothing else
	OfRowAnd                // the same, except for a kind or a suggestion of the error's own
	OfSentence              // ours: a sentence that says more than the row
	OfTerse                 // ours: a sentence that says no more than a program's own text around the error
	OfAuthor                // the author's
)

// Finding is the classification of an error.
type Finding struct {
	Origin Origin
	Words  Words
	Fault  *fault.Error   // set for a protocol error, too
	Wire   *jsonrpc.Error // a deliberate protocol error, sent as it is
	Panic  *fault.PanicError
	Party  fault.Party // the party to blame, or ""
	Says   Says        // what the error says about a second try

	By     Source // the source of what the Fault itself says about a second try
	Chosen bool   // a handler, a rule or the error itself chose the kind: no table derived it

	// Beside means that the Fault explains the words of a tool's own result or of a protocol error.
	// They are its message and stay.
	Beside bool

	Refused  bool // the SDK, which checks the arguments of typed tools, refused the call
	Protocol bool // the fault is sent as a protocol error
	Own      bool // the fault is the error's own, and so is its cause
	Lost     bool // the tree was too large to be walked to its end
	Hinted   bool // the suggestion of the fault is the error's own

	teller  error // the error with the HTTP status
	speaker error // the first error of a driver's or a service client's type
}

// InResult returns the finding for a failure that a tool's result reports in other words than its
// error's. What the error says about a second try stays.
func (f *Finding) InResult(public *fault.Error) Finding {
	in := Finding{Origin: Worded, Words: OfAuthor, Fault: public, By: ByFault, Says: f.Says, Lost: f.Lost, teller: f.teller, speaker: f.speaker}
	in.Party = in.WhoseFault()
	return in
}

// Shown returns the finding with the error's own text, for a reader who may read it.
func (f *Finding) Shown(public *fault.Error) Finding {
	shown := *f
	shown.Fault, shown.Words = public, OfAuthor
	shown.Party = shown.WhoseFault()
	return shown
}

// HideError returns an error whose caller reads only the given fault; the log has err. It is for failures
// that the server itself caused. A nil fault is the generic internal one.
func HideError(err error, public *fault.Error) error {
	if public == nil {
		public = fault.Generic(fault.KindInternal)
	}
	return &Hidden{error: err, public: public}
}

// HideErrorBy is [HideError] for a fault whose statement about a second try has a source of its own.
func HideErrorBy(by Source, err error, public *fault.Error) error {
	return &Hidden{error: err, public: public, by: by}
}

// Hidden is the error that [HideError] makes.
type Hidden struct { //nolint:errname // the name says what was done to the error
	error
	public *fault.Error
	by     Source
}

// Unwrap returns the hidden error.
func (h *Hidden) Unwrap() error { return h.error }

// Of classifies an error that is not nil.
func Of(err error, opts Options) (f Finding) {
	w := walker{opts: opts}
	defer func() {
		// An untrusted Unwrap, Is or As panicked: nothing is known about the error.
		if recover() != nil {
			f = Finding{Fault: fault.Generic(fault.KindInternal), Party: fault.PartyServer, Lost: true}
		}
	}()
	settled := w.walk(err)
	lost := w.seen > maxErrors || w.below > maxErrors
	if lost {
		w.opts.Rules = nil // they call errors.Is, which would not return from a cycle
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
		w.clue.effect = worse(w.clue.effect, "") // the errors that were not visited may have changed something
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

// replaced reports whether an error is a consequence of the server's shutdown, and replaces the
// clue if so. A description on purpose stays: that of a rule, or a fault that says whether to call
// again or whose kind no ended context leads to.
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
	if w.clue = cutByShutdown; known != "" {
		w.clue.effect, w.clue.proof = known, proof
	}
	return true
}

// endings are the kinds in which handlers report that their context has ended.
var endings = map[fault.Kind]bool{
	fault.KindInternal: true, fault.KindTool: true, fault.KindCancelled: true, fault.KindTimeout: true,
	fault.KindConnectionFailed: true, fault.KindServiceUnavailable: true, fault.KindServerError: true,
}

// WhoseFault returns the party to blame. A kind that was chosen on purpose outweighs the error
// below it.
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

// PartyOf returns the party to blame that a fault names, or that its kind implies.
func PartyOf(public *fault.Error) fault.Party {
	return cmp.Or(public.Party(), fault.Party(kinds.Of(string(public.Kind())).Party))
}

func (w *walker) rule(err error) (public *fault.Error) {
	for _, rule := range w.opts.Rules {
		if safe.Call(func() { public = rule(err) }, nil); public != nil {
			return public
		}
	}
	return nil
}

// decide classifies an error that has no public fault and matches no rule.
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
		c.kind = fault.KindServiceUnavailable // the service asked to come back later
	case c.kind == "" && c.reason == reasonObject && w.sentStatement():
		c.kind, c.party, c.reason = fault.KindAlreadyExists, fault.PartyCaller, reasonConstraint
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

// maxErrors bounds the walk through an error tree, which may be huge or have a cycle. Errors below
// a fault are counted separately, so that they never hide those beside it.
const maxErrors = 256

// walker collects, in one walk through an error tree, everything that is known of it.
type walker struct {
	opts          Options
	found         Finding
	named         fault.Kind // the error's own PublicKind
	message, hint string
	clue          clue
	teller        error
	speaker       error
	seen, below   int         // errors visited; those below a settled error are counted in below
	searching     bool        // below a settled error: only for clues
	network       bool        // below an error of a connection
	session       fault.Party // below the error of a session's call: the party that answered
	asked         func(text string) bool
}

// fromCaller returns a function that reports whether the caller sent a text. It is nil if that is unknown.
func (w *walker) fromCaller() func(text string) bool {
	if w.asked == nil && w.opts.Request != nil {
		w.asked = w.opts.Request.Sent()
	}
	return w.asked
}

// walk visits err and the errors that it wraps, the outermost first. It reports whether an error settles
// the public part.
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

// more counts a visit and reports whether it is allowed.
func (w *walker) more() bool {
	count := &w.seen
	if w.searching {
		count = &w.below
	}
	*count++
	return *count <= maxErrors
}

// walkJoined visits all errors, because joined faults are shown together. A panic or a protocol error
// among them is shown alone. one means that they describe one failure, as fmt.Errorf joins them.
func (w *walker) walkJoined(errs []error, one bool) bool {
	outer, joined, branches := w.clue, clue{}, 0
	var worded []*fault.Error
	alone := false
	for _, err := range errs {
		if err == nil {
			continue
		}
		w.clue = clue{}
		settled := w.walk(err) && !w.searching
		if !one || w.clue != (clue{}) { // in one failure, a part without a clue is a sentinel
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
		worded = append(worded, w.found.Fault)
		w.found = Finding{}
	}
	outer.fill(&joined)
	w.clue = outer
	if !alone && len(worded) > 0 {
		public := fault.Join(worded...)
		if branches > len(worded) { // what the other errors mean for the call is unknown
			public = inner.Derived.(func(*fault.Error) *fault.Error)(public) //nolint:forcetypeassert // package fault has set it
		}
		w.found = Finding{Origin: Worded, Words: OfAuthor, Fault: public, Own: true, Chosen: true}
	}
	return alone || len(worded) > 0
}

// visit looks at one error and reports whether it settles the public part.
func (w *walker) visit(err error) bool {
	switch e := err.(type) {
	case *fault.Error:
		return w.settle(Finding{Origin: Worded, Words: OfAuthor, Fault: e, Own: true, Chosen: true}, e.Unwrap())
	case *jsonrpc.Error:
		switch {
		case e.Code == kinds.Rejected && e.Message == "rejected by transport":
			return false // go-sdk v1.8 wraps the errors of a transport in it
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
		w.network = w.network || w.session != "" // io.EOF is then the end of the process that answers
	}
	s := infoOf(t)
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

// answering returns the party that answered, if err is the error of an MCP session's call, which
// go-sdk v1.8 wraps as calling "tools/call": the client for requests of a server, otherwise the
// server upstream.
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

// ofAnswer returns the meaning of a protocol error that a session got as its answer. The text of
// the error is private.
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

// read runs the readers of an error's type. If a method of the error panics, earlier clues stay.
func (w *walker) read(err error, s *typeInfo) {
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
				w.clue.kind = c.kind // AWS reports too many requests with a status of 400
			}
			w.note(c)
		}
	}, nil)
}

func (w *walker) note(c clue) { w.clue.fill(&c) }

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

// settle notes the public part. The private cause is searched only for clues about a second try.
func (w *walker) settle(found Finding, cause error) bool {
	if w.searching {
		w.note(found.said())
		w.walk(cause)
		return true
	}
	w.found, w.searching = found, true
	before := w.clue
	if _, panicked := safe.Call(func() { w.walk(cause) }, nil); panicked { // an untrusted Unwrap panicked; found stays
		w.clue = before
		w.clue.effect = worse(before.effect, "")
	}
	w.searching = false
	return true
}
