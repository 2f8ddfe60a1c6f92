package failure

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Safety says what a repetition of a call can do, whatever became of the first one. A greater value
// is safer.
type Safety uint8

// What a repetition of a call can do.
const (
	Writes     Safety = iota // it may take effect a second time, as MCP assumes of a tool without annotations
	Keyed                    // a write under an idempotency key: it takes effect once
	Idempotent               // a repetition has no further effect
	Reads                    // it has no effect at all
)

// SafetyOf returns what the annotations of a tool say.
func SafetyOf(a *mcp.ToolAnnotations) Safety {
	switch {
	case a == nil:
		return Writes
	case a.ReadOnlyHint:
		return Reads
	case a.IdempotentHint:
		return Idempotent
	default:
		return Writes
	}
}

// Known holds the facts about a failure that decide whether its call may be made again.
type Known struct {
	classify.Finding

	Shown bool       // the reader gets the error's own text, which was not written for it
	Rule  fault.Hint // what a rule of the program says about a second try; set if Ruled
	Ruled bool       // a rule matches the error
	Ended error      // how the caller's context had ended when the failure was found

	// Hint, if it is not nil, is already decided: neither the fault nor a rule nor the error is
	// asked about a second try.
	Hint *fault.Hint
}

// Situation holds the facts around a failure. The zero Situation knows nothing about the tool and
// counts nothing. Its functions are called at most once, and only if their answer matters.
type Situation struct {
	// Safety says what a repetition can do. Nil means Writes.
	Safety func() Safety

	// Costly means that Safety is not called only to decide whether "nothing was changed" is worth
	// saying.
	Costly bool

	// Counted counts the failure and returns the counts. advice is what the caller would read
	// without them. passes means that such a failure passes by itself. Nil means that nobody counts.
	Counted func(advice fault.Retry, passes bool) Counts

	// Cut means that the call began and we cut it. Running means that its handler is still at work, or
	// may be: a sentence says so.
	Cut     bool
	Running string

	// Witness is what was seen of the effect of the call.
	Witness Witness

	asked  bool   // Safety was called
	answer Safety // its result
}

// As is the Situation of a call whose Safety is known.
func As(s Safety) Situation { return Situation{Safety: func() Safety { return s }} }

// Counts say how often and since when a call fails.
type Counts struct {
	Attempts int           // how often the call was made
	Lasts    time.Duration // since its first failure
	Limit    int           // how often it may be made, if somebody said so, else zero
	Wait     time.Duration // before it should be made again, if nobody said so
	NotNow   bool          // it has failed for so long that a person has to know
	Same     int           // the failures in a row with the same error, if they are too many
	Streak   int           // the failures in a row of the tool, if they are too many
	Steps    bool          // the failure has next steps
	Fact     string        // what is known of the tool's other callers, or ""
}

// Answer says whether a call may be made again, and names the source of each part.
type Answer struct {
	Retry fault.Retry     // what the caller reads, unless By is Nobody
	By    classify.Source // the source of Retry; Nobody: the caller reads nothing about calling again
	Proof classify.Source // the source of Retry.Effect; Nobody if that is empty

	// Effect is the effect of the call, even if Retry omits it as obvious. It is "" if that is unknown.
	Effect fault.Effect

	Hint fault.Hint // whether a second try can succeed at all, whatever a repetition does
}

// Said returns what the caller reads about calling again, nil if that is nothing.
func (a *Answer) Said() *fault.Retry {
	if a.By == classify.Nobody {
		return nil
	}
	return &a.Retry
}

// The reasons for a call whose repetition does no harm, and for one that was cut.
const (
	doesNoHarm    = "A repetition does no harm"
	onceMore      = "One more try does no harm"
	sameKey       = "With the same idempotency key it takes effect only once"
	limitOfCaller = "Your time limit for this call was over"
)

// Again decides whether a failed call may be made again, and names the source of the decision. No
// other function decides it.
//
// An error proves what it is, never what became of the call: a client may have followed a redirect or
// sent a request twice, and a handler may have changed something before. An effect is known if it was
// said (by a fault, a rule or a method of the error), proven (the handler did not run), witnessed, or
// left open by a cut. If it is not known, the annotations of the tool decide. Of any other tool
// nothing is said, except what was said on purpose, and the wait that a service asked for.
func Again(k *Known, at Situation) Answer {
	row := kinds.Of(string(k.Fault.Kind()))
	own, said := k.own()
	can := k.can(row)
	a := Answer{Hint: can.Hint, By: can.by, Effect: can.Effect, Proof: can.proof}
	r := fault.Retry{ShouldRetry: can.Retry == fault.RetryYes, Reason: can.Reason}
	declined := k.Origin == classify.Worded && k.Fault.Kind() == fault.KindCancelled && !said // by a person or a service
	if can.by.Derived() || declined {
		r.Reason = "" // it describes the step, or a caller that has gone
	}
	if said {
		r.Fact = own.Fact
	}
	if at.Cut && a.Effect == "" {
		a.Effect, a.Proof = fault.EffectUnknown, classify.Cut
	}
	a.outweigh(&at, &r, own, r.ShouldRetry || can.by.Derived() && k.unexpected())
	// A rule knows only the error, and a fault with a cause is about a step.
	again := said && k.Origin != classify.Ruled && k.Fault.Unwrap() == nil
	onPurpose := !can.by.Derived() && !r.ShouldRetry || again

	once, asked := false, false
	switch {
	case a.Effect == fault.EffectCommitted:
		r.ShouldRetry, r.Effect, a.By = false, a.Effect, a.Proof
	case a.Effect == fault.EffectNone:
		once = a.nothing(k, &at, &r, own, can)
	case a.Effect == "" && onPurpose: // the answer holds whatever a repetition does
	case at.safety() >= Idempotent:
		if once = a.harmless(k, can, at.safety() == Idempotent, &r); at.safety() == Reads {
			if a.Effect = fault.EffectNone; r.ShouldRetry && at.Cut {
				r.Effect, a.Proof = a.Effect, classify.Annotated
			}
		}
	case at.safety() == Keyed && r.ShouldRetry:
		r.Reason, a.By = sameKey, classify.Annotated
	case a.Effect == fault.EffectUnknown:
		if can.by.Derived() || a.Proof == classify.Witnessed {
			a.By = a.Proof
		}
		if r.Effect = a.Effect; r.ShouldRetry || !said && can.by == classify.Cut {
			r.Reason = "" // it belongs to a call that may be made again
		}
		r.ShouldRetry = false
	default:
		r, asked = k.asked(can), true
		if a.By = classify.Nobody; r != (fault.Retry{}) {
			a.By = can.by
		}
	}
	switch {
	case asked:
	case at.Running != "":
		r.ShouldRetry, r.MaxAttempts, r.Reason, a.By = false, 0, fault.StillRunning, classify.Cut
		r.Fact = strings.Clone(at.Running) // a copy, so that the functions of at stay on the stack
	case r.Reason == fault.NotNow && !r.ShouldRetry: // another server has said so
		r.RetryAfterSeconds = math.Ceil(classify.Seconds(own.RetryAfterSeconds).Seconds())
	case r.ShouldRetry && !once:
		r.RetryAfterSeconds = math.Ceil(can.After.Seconds())
	case r.Reason == "" && r.Effect != fault.EffectUnknown && can.by == classify.ByChoice && !r.Partial && !declined:
		r.Reason = cmp.Or(row.Reason, row.Again)
	}
	if at.Counted != nil {
		passes := a.Hint.Retry == fault.RetryYes && r.Effect != fault.EffectCommitted
		a.count(&r, k.Fault.Kind(), once, passes, at.Counted(r, passes))
	}
	return a.said(k, can, r)
}

// own returns what the fault says about a second try. A wait alone says nothing about it.
func (k *Known) own() (own fault.Retry, said bool) {
	own, said = k.Fault.Retry()
	return own, said && !own.Unknown
}

// nothing decides about a call that changed nothing. once is that of harmless.
func (a *Answer) nothing(k *Known, at *Situation, r *fault.Retry, own fault.Retry, can word) (once bool) {
	if can.by.Derived() {
		a.By = a.Proof
	}
	telling := a.Proof != classify.ByChoice && (r.ShouldRetry || can.by.Derived())
	if own.Effect == a.Effect || telling && (at.Costly || at.safety() != Reads) { // else it is obvious
		r.Effect = a.Effect
	}
	switch {
	case r.ShouldRetry || !can.by.Derived() || !k.unexpected(): // no more is known of the cause than that nothing was changed
	case k.Shown || at.safety() < Idempotent:
		r.Unknown, r.Reason = true, ""
	default:
		r.ShouldRetry, r.MaxAttempts, r.Reason, once = true, 2, onceMore, true
	}
	return once
}

// asked returns the wait that a service asked for, and nothing else.
func (k *Known) asked(can word) fault.Retry {
	own, _ := k.Fault.Retry()
	wait := cmp.Or(can.After, k.Says.After, classify.Seconds(own.RetryAfterSeconds))
	if wait >= classify.MaxAfter { // it was cut to it
		wait = 0
	}
	return fault.Retry{Unknown: wait > 0, RetryAfterSeconds: math.Ceil(wait.Seconds())}
}

// said fills in what the caller reads, if the answer has a source.
func (a Answer) said(k *Known, can word, r fault.Retry) Answer {
	if a.By != classify.Nobody {
		a.Retry = r
	}
	if a.Retry.Effect == "" {
		a.Proof = classify.Nobody
	}
	if can.by == classify.ByChoice && a.By == can.by && k.By == classify.Proven { // the handler did not run
		a.By = classify.Proven
	}
	return a
}

// harmless decides about a call whose repetition has no further effect. once reports whether it
// allows one more try: the cause is unknown, and a second failure is the last.
func (a *Answer) harmless(k *Known, can word, idempotent bool, r *fault.Retry) (once bool) {
	derived := can.by.Derived()
	switch {
	case r.ShouldRetry && idempotent:
		r.Reason, a.By = doesNoHarm, classify.Annotated
	case !derived:
	case r.ShouldRetry:
		a.By = classify.Annotated
	case k.Shown: // the error's own text says more than we know
		a.By = classify.Nobody
	case k.unexpected():
		r.ShouldRetry, r.MaxAttempts, r.Reason, a.By = true, 2, onceMore, classify.Annotated
		return true
	case can.Reason == "":
		a.By = classify.Nobody
	default: // a tool that only reads has changed nothing before the step that failed
		a.By = classify.Annotated
		if k.Fault.Kind() != fault.KindInternal { // the reason of an internal error says only that it was not expected
			r.Reason = can.Reason
		}
	}
	return false
}

// unexpected reports whether the cause is entirely unknown: an unknown error, or a panic.
func (k *Known) unexpected() bool {
	return k.Hint == nil && k.Says.By <= classify.ByKind && (k.Origin == classify.Unknown || k.Fault.Kind() == fault.KindInternal)
}

// chosen reports whether the kind was chosen on purpose. An internal error does not count, because
// it says nothing.
func (k *Known) chosen() bool { return k.Chosen && k.Fault.Kind() != fault.KindInternal }

func (at *Situation) safety() Safety {
	if at.Safety == nil {
		return Writes
	}
	if !at.asked {
		at.asked, at.answer = true, at.Safety()
	}
	return at.answer
}

// can says whether a second try can succeed at all, and what was said of the effect. Each field comes
// from the first source that has it: the fault, a rule, the error, the kind. A call that its caller
// gave up is not repeated.
func (k *Known) can(row *kinds.Row) word {
	if k.Hint != nil {
		return word{Hint: *k.Hint, by: k.By, proof: k.By}
	}
	w := word{}
	own, said := k.own()
	if said {
		w = word{Hint: fault.Hint{Retry: fault.RetryNo, Effect: classify.Effect(own.Effect), Reason: own.Reason}, by: k.By, proof: k.By}
		if own.ShouldRetry {
			w.Retry, w.After = fault.RetryYes, classify.Seconds(own.RetryAfterSeconds)
		}
	}
	if !said {
		w.After = classify.Seconds(own.RetryAfterSeconds)
	}
	if k.Ruled {
		w.fill(word{Hint: k.Rule, by: classify.ByRule, proof: classify.ByRule})
	}
	w.fill(k.error(row))
	if w.Effect == "" && k.refuses() {
		w.Effect, w.proof = fault.EffectNone, classify.ByChoice
	}
	if w.Retry != fault.RetryYes {
		w.After = 0
	}
	switch {
	case said:
	case errors.Is(k.Ended, context.Canceled) && (w.Retry != fault.RetryNo || w.by.Derived()):
		w.Retry, w.After, w.Reason, w.by = fault.RetryNo, 0, kinds.Of(string(fault.KindCancelled)).Reason, classify.Cut
		if w.Effect == "" {
			w.Effect, w.proof = fault.EffectUnknown, classify.Cut
		}
	case errors.Is(k.Ended, context.DeadlineExceeded) && k.Fault.Kind() == fault.KindTimeout && w.by.Derived():
		w.Reason, w.by = limitOfCaller, classify.Cut
		if w.Effect == "" {
			w.Effect, w.proof = fault.EffectUnknown, classify.Cut
		}
	}
	return w
}

// refuses reports whether the handler, or what refuses a call before it, says by its own fault that
// nothing was done. A rule knows only the error, so that its fault does not say it.
func (k *Known) refuses() bool {
	return (k.Own || k.By == classify.Proven) && faults.Refuses(k.Fault)
}

// error combines what the error says with what its kind says. A kind that was chosen on purpose
// overrides what our tables derive from the error; a final kind overrides the error's own methods
// too.
func (k *Known) error(row *kinds.Row) word {
	says, chosen := &k.Says, k.chosen()
	ofRow := word{Hint: fault.Hint{Retry: fault.Retryable(row.Retry), Reason: row.Reason}, by: classify.ByKind}
	switch {
	case row.Retry == kinds.Unknown && (!chosen || row.Again == ""):
		ofRow.by = classify.Nobody
	case chosen:
		ofRow.by = classify.ByChoice
	}
	w := word{Hint: fault.Hint{Retry: says.Retry, Reason: says.Reason}, by: says.By}
	switch {
	case chosen && row.Final,
		chosen && says.By.Derived() && (row.Retry == kinds.No || row.Retry == kinds.Yes && (says.By <= classify.ByKind || says.Retry == fault.RetryYes)),
		says.By <= classify.ByKind && (says.Retry == fault.RetryUnknown || says.Kind == fault.KindInternal):
		w = ofRow
	case chosen && says.By.Derived() && row.Retry == kinds.Unknown && row.Again != "" && says.Retry == fault.RetryNo:
		w.by, w.Reason = classify.ByChoice, ""
	}
	w.After, w.Status, w.Effect, w.proof = says.After, says.Status, says.Effect, says.Proof
	if w.Retry != fault.RetryYes {
		w.After = 0
	}
	return w
}

// count says when to call again, if nobody said so, and how often the call has failed. A count alone is no
// "no": it proves nothing about the service. once means that the cause is unknown, and one more try does
// no harm.
func (a *Answer) count(r *fault.Retry, kind fault.Kind, once, passes bool, n Counts) {
	var sentence string
	last := !passes
	switch {
	case r.Reason == fault.StillRunning, r.Reason == fault.NotNow:
		return
	case r.ShouldRetry && n.Limit > 0 && n.Attempts >= n.Limit: // somebody said how often
		r.ShouldRetry, r.MaxAttempts, r.RetryAfterSeconds = false, 0, 0
		sentence, last = ThisCallFailed(n.Attempts, n.Lasts), true
	case r.ShouldRetry && !once && n.NotNow && r.RetryAfterSeconds <= words.LongestWait:
		*r = fault.Retry{RetryAfterSeconds: later.Seconds(), Reason: fault.NotNow, Effect: r.Effect}
		r.Fact = "It has failed for " + words.Since(n.Lasts) + " (" + words.Plural(n.Attempts, "call") + ")"
		a.By = classify.Counted
		return
	case r.ShouldRetry && !once:
		if r.RetryAfterSeconds == 0 {
			r.RetryAfterSeconds = n.Wait.Seconds()
		}
		r.Fact = cmp.Or(r.Fact, n.Fact)
		return
	case n.Same > 0:
		if sentence = ThisCallFailed(n.Same, n.Lasts); n.Same > 1 {
			sentence += " with the same error"
		}
	case n.Streak > 0:
		sentence = TheToolFailed(n.Streak)
	case once && n.Attempts > 1, passes && (a.By == classify.Nobody || r.Unknown) && n.Attempts > 2:
		sentence = ThisCallFailed(n.Attempts, n.Lasts)
	case once:
		r.Fact = n.Fact
		return
	case a.By == classify.Nobody && n.Fact != "":
		*r, a.By = fault.Retry{Unknown: true, RetryAfterSeconds: r.RetryAfterSeconds, Fact: n.Fact}, classify.Counted
		return
	default:
		return
	}
	sentence = words.Capital(sentence)
	if last && r.Effect != fault.EffectUnknown && !r.Partial { // else the line about the effect says what to do
		sentence += ". " + instead(kind, n.Steps)
	}
	if refused := !r.ShouldRetry && !r.Unknown && a.By != classify.Nobody; refused {
		r.Reason, r.Fact = sentence, ""
	} else {
		*r = fault.Retry{Unknown: true, RetryAfterSeconds: r.RetryAfterSeconds, Fact: sentence, Effect: r.Effect}
	}
	a.By = classify.Counted
}

// later is after how long a call that has failed for long may work again.
const later = 5 * time.Minute

// instead says what to do if calling again does not help.
func instead(kind fault.Kind, steps bool) string {
	switch kind {
	case fault.KindValidation:
		return "Compare the arguments with what is expected, or ask the user for the right values."
	case fault.KindNotFound:
		return "Find out what exists, or ask the user."
	case fault.KindPermissionDenied, fault.KindUnauthenticated:
		return "Ask the user."
	}
	if steps {
		return "Take the next steps below, try another way, or tell the user what does not work."
	}
	return "Try another way, or tell the user what does not work."
}

// AskForLess is the advice about a call that takes too long.
const AskForLess = "Ask for less at a time, or for another form, if the tool allows it."

// StillRunning says that a call is still running after a time.
func StillRunning(after time.Duration) string {
	return "it is still running after " + words.Since(after)
}

// ThisCallFailed says how often a call failed, and in how much time if it is a second or more.
func ThisCallFailed(n int, in time.Duration) string {
	said := "this exact call has failed " + times(n)
	if in >= time.Second {
		said += " in " + words.Since(in)
	}
	return said
}

// TheToolFailed says how often a tool failed in a row.
func TheToolFailed(n int) string {
	return "the last " + strconv.Itoa(n) + " calls of this tool have failed"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
