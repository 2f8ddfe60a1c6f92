package failure

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Safety says what a repetition of a call can do, whatever became of the first one. A greater value
// is safer.
type Safety uint8

// What a repetition of a call can do.
const (
	Unsaid     Safety = iota // no annotation: MCP's default is that the tool may destroy something
	Writes                   // the annotations say that it destroys or adds something
	Keyed                    // a write under an idempotency key: it takes effect once
	Idempotent               // a repetition has no further effect
	Reads                    // it has no effect at all
)

// SafetyOf returns what the annotations of a tool say.
func SafetyOf(a *mcp.ToolAnnotations) Safety {
	switch {
	case a == nil:
		return Unsaid
	case a.ReadOnlyHint:
		return Reads
	case a.IdempotentHint:
		return Idempotent
	case a.DestructiveHint != nil: // false says that it adds, which is not repeatable either
		return Writes
	default:
		return Unsaid
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
	// Safety says what a repetition can do. Nil means Unsaid.
	Safety func() Safety

	// Costly means that Safety is not called only to decide whether "nothing was changed" is worth
	// saying.
	Costly bool

	// Counted counts the failure and returns the counts. advice is what the caller would read
	// without them. Nil means that failures are not counted.
	Counted func(advice fault.Retry) Counts

	// Cut means that the call began and we cut it. Running means that its handler is still at work.
	Cut, Running bool

	// Witness is what was seen of the effect of the call.
	Witness Witness
}

// As is the Situation of a call whose Safety is known.
func As(s Safety) Situation { return Situation{Safety: func() Safety { return s }} }

// Counts are the counts of a call that fails repeatedly.
type Counts struct {
	Same     int  // the failures in a row with the same error, if they are too many
	Attempts int  // how often the call was made
	Limit    int  // how often it may be made
	Streak   int  // the failures in a row of the tool, if they are too many
	Steps    bool // the failure has next steps
}

// Answer says whether a call may be made again, and names the source of each part.
type Answer struct {
	Retry fault.Retry     // what the caller reads, unless By is Nobody
	By    classify.Source // the source of ShouldRetry; Nobody: the caller reads nothing about calling again
	Proof classify.Source // the source of Retry.Effect; Nobody if that is empty, or unknown because nothing names an effect

	// Step is what the caller reads about the step that failed, if the error proves nothing about
	// the whole call: one or more sentences without the last full stop, "" for none.
	Step string

	// Effect is the effect of the call, even if Retry omits it as obvious. It is "" if unknown.
	Effect fault.Effect

	Hint fault.Hint // whether a second try can succeed at all, whatever a repetition does
	Loop bool       // the caller repeats the call although it keeps failing
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
	mayStillChange = "It may still take effect"
	doesNoHarm     = "A repetition does no harm"
	onceMore       = "One more try does no harm"
	sameKey        = "With the same idempotency key it takes effect only once"
	limitOfCaller  = "Your time limit for this call was over"
)

// The sentences about the step that failed, and about a call of which nothing else is shown.
const (
	stepChangedNothing = "The step that failed changed nothing"
	stepRefused        = "The step that failed changed nothing, and will fail again unless something changes"
	stepUnknown        = "It is not known whether the step that failed took effect"
	callUnknown        = "It is not known whether this call took effect"
)

// Again decides whether a failed call may be made again, and names the source of the decision. No
// other function decides it.
//
// What our tables derive from an error is true of the step that failed. The handler may have done
// something before that step, so nothing about the call follows from it alone. An answer about the
// call needs a statement (a fault, a rule, a method of the error, a kind that was chosen) or the
// annotations of the tool.
func Again(k *Known, at Situation) Answer {
	kind := k.Fault.Kind()
	row := kinds.Of(string(kind))
	own, said := k.Fault.Retry()
	declined := kind == fault.KindCancelled && k.Origin == classify.Worded // a person or a service declined

	can := k.can(kind, row)
	derived := can.by.Derived()
	effect, proof := k.effect(can, row, declined)
	step := k.step()
	a := Answer{Hint: can.Hint, By: can.by}
	r := fault.Retry{ShouldRetry: can.Retry == fault.RetryYes, Reason: can.Reason}
	if derived || declined && !said {
		r.Reason = "" // it describes the step, or a caller that has gone
	}
	effect, proof = at.outweigh(&r, own, can.by, r.ShouldRetry || derived && k.unexpected(), effect, proof)
	once := false
	switch {
	case effect == fault.EffectCommitted:
		r.ShouldRetry, r.Effect, a.By = false, effect, proof
	case effect == fault.EffectNone:
		if derived {
			a.By = proof
		}
		begun := !said && (derived || mayHaveBegun(row))
		if own.Effect == effect || (begun || r.ShouldRetry && proof == classify.Witnessed) && (at.Costly || at.safety() != Reads) { // else it is obvious
			r.Effect = effect
		}
	case !derived && !r.ShouldRetry && effect == "", said && effect == "" && (step != fault.EffectUnknown || proof == classify.ByRule): // the answer holds whatever a repetition does
	default:
		switch safety := at.safety(); {
		case safety == Keyed && r.ShouldRetry:
			r.Reason, a.By = sameKey, classify.Annotated
		case safety < Idempotent:
			a.Step = k.told(step, at.Cut)
			effect, proof = fault.EffectUnknown, a.write(k, can, step, proof, safety == Writes, &r)
		default:
			if once = a.harmless(k, can, safety == Idempotent, &r); r.ShouldRetry && safety == Reads && at.Cut {
				r.Effect, proof = fault.EffectNone, classify.Annotated
			}
			if safety == Reads {
				effect = fault.EffectNone
			}
		}
	}
	if at.Running && r.Effect == fault.EffectUnknown {
		r.Reason = mayStillChange
	}
	switch {
	case r.ShouldRetry && !once:
		r.RetryAfterSeconds = math.Ceil(can.After.Seconds())
	case r.Reason == "" && r.Effect != fault.EffectUnknown && can.by == classify.ByChoice && !r.Partial && !declined:
		r.Reason = cmp.Or(row.Reason, row.Again)
	}
	if at.Counted != nil {
		a.count(&r, kind, once, at.Counted(r))
	}
	if a.Effect = effect; effect == "" && !can.proof.Derived() {
		a.Effect = can.Effect
	}
	return a.said(k, can, r, proof)
}

// said fills in what the caller reads, if the answer has a source.
func (a Answer) said(k *Known, can word, r fault.Retry, proof classify.Source) Answer {
	if a.By == classify.Nobody {
		return a
	}
	if a.Retry = r; r.Effect != "" {
		a.Proof = proof
	}
	if can.by == classify.ByChoice && a.By == can.by && (k.Origin == classify.Explained || k.Refused) { // the handler did not run
		a.By = classify.Proven
	}
	return a
}

// write decides about a call that may have taken effect, and may take effect a second time. It
// returns the source of the effect.
func (a *Answer) write(k *Known, can word, step fault.Effect, proof classify.Source, annotated bool, r *fault.Retry) classify.Source {
	_, said := k.Fault.Retry()
	switch derived := can.by.Derived(); {
	case proof == classify.Witnessed: // a request was sent, and its answer lost
		r.Effect, a.By = fault.EffectUnknown, proof
	case step == fault.EffectNone && (derived || can.by == classify.ByChoice || can.by == classify.ByError):
		a.By = classify.Nobody // a passing failure is that of the step, whose effect is known
	case !derived:
		if r.Effect = fault.EffectUnknown; proof.Derived() {
			proof = can.by
		}
	case annotated && (step == fault.EffectUnknown || k.silent()):
		r.Effect, a.By, proof = fault.EffectUnknown, classify.Annotated, classify.Annotated
	default:
		a.By = classify.Nobody
	}
	if r.Effect != "" {
		a.Step = "" // the line about calling again says it
	}
	if r.ShouldRetry || !said && (can.by == classify.ByChoice || can.by == classify.Cut) {
		r.Reason = "" // it belongs to a call that may be made again
	}
	r.ShouldRetry = false
	return proof
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

// silent reports whether the failure has no public message and no chosen kind.
func (k *Known) silent() bool {
	return (k.Origin.Unworded() || k.Origin == classify.Bug) && !k.chosen()
}

// step returns the effect that the error proves for the step that failed. It proves nothing about
// the call.
func (k *Known) step() fault.Effect {
	if !k.Says.Proof.Derived() {
		return ""
	}
	return k.Says.Effect
}

// told returns what the caller reads about the step that failed.
func (k *Known) told(step fault.Effect, cut bool) string {
	text := ""
	switch {
	case cut:
		return ""
	case step == fault.EffectNone && k.Says.Retry == fault.RetryNo && !k.Shown: // else the error's own text says why
		text = stepRefused
	case step == fault.EffectNone:
		text = stepChangedNothing
	case k.unexpected():
		if k.silent() && !k.Shown { // else the error's own text may say more
			text = callUnknown
		}
	case step == fault.EffectUnknown:
		text = stepUnknown
	}
	if k.Says.After > 0 && k.Says.After < classify.MaxAfter { // a wait as long as MaxAfter was cut to it
		text = joined(text, "The service accepts calls again after "+words.Wait(k.Says.After))
	}
	return text
}

func (at *Situation) safety() Safety {
	if at.Safety == nil {
		return Unsaid
	}
	return at.Safety()
}

// can says whether a second try can succeed at all. Each field comes from the first source that has
// it: the fault, a rule, the error, the kind. A call that its caller gave up is not repeated.
func (k *Known) can(kind fault.Kind, row *kinds.Row) word {
	if k.Hint != nil {
		return word{Hint: *k.Hint, by: k.By, proof: k.By}
	}
	w := word{}
	own, said := k.Fault.Retry()
	if said {
		w = word{Hint: fault.Hint{Retry: fault.RetryNo, Effect: classify.Effect(own.Effect), Reason: own.Reason}, by: k.By, proof: k.By}
		if own.ShouldRetry {
			w.Retry, w.After = fault.RetryYes, classify.Seconds(own.RetryAfterSeconds)
		}
	}
	if k.Ruled {
		w.fill(word{Hint: k.Rule, by: classify.ByRule, proof: classify.ByRule})
	}
	w.fill(k.error(row))
	if w.Retry != fault.RetryYes {
		w.After = 0
	}
	switch {
	case said:
	case errors.Is(k.Ended, context.Canceled) && (w.Retry != fault.RetryNo || w.by.Derived()):
		cancelled := kinds.Of(string(fault.KindCancelled)).Reason
		w.Retry, w.After, w.Reason, w.by = fault.RetryNo, 0, cancelled, classify.Cut
		if w.proof.Derived() {
			w.Effect, w.proof = fault.EffectUnknown, classify.Cut
		}
	case errors.Is(k.Ended, context.DeadlineExceeded) && kind == fault.KindTimeout && w.by.Derived():
		w.Reason, w.by = limitOfCaller, classify.Cut
	}
	return w
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
	ofKind := classify.ByKind
	if chosen {
		ofKind = classify.ByChoice
	}
	if effect := fault.Effect(row.Effect); effect != "" && (w.Effect == "" || chosen && w.proof.Derived() && (row.Final && w.proof == classify.ByKind || w.Effect == effect)) {
		w.Effect, w.proof = effect, ofKind
	}
	if w.Retry != fault.RetryYes {
		w.After = 0
	}
	return w
}

// effect returns the effect of the call, if something states it: the fault, a rule, a method of the
// error, or a kind that was chosen. A fault that speaks of a second try but not of the effect does
// not override its cause.
func (k *Known) effect(can word, row *kinds.Row, declined bool) (effect fault.Effect, proof classify.Source) {
	own, said := k.Fault.Retry()
	switch {
	case said && own.Effect != "":
		return own.Effect, k.By
	case said && can.Effect != fault.EffectNone, declined:
		effect, proof = k.Says.Effect, k.Says.Proof
	case said: // a rule or the cause says that nothing changed, but the fault does not
		return "", can.proof
	case k.chosen() && can.proof.Derived() && can.Effect != fault.EffectUnknown && (k.Fault.Kind() == fault.KindNotFound || row.Final && row.Effect == string(fault.EffectNone)):
		return fault.EffectNone, classify.ByChoice
	default:
		effect, proof = can.Effect, can.proof
	}
	if proof.Derived() {
		return "", classify.Nobody
	}
	return effect, proof
}

// mayHaveBegun reports whether a failure of this kind leaves open whether the call took effect,
// because a service was at work. The other kinds are refusals.
func mayHaveBegun(row *kinds.Row) bool {
	return row.Party == "upstream" || row.Effect == string(fault.EffectUnknown)
}

// joined joins two sentences, without the last full stop.
func joined(first, second string) string {
	if first == "" {
		return second
	}
	return strings.TrimRight(first, ". ") + ". " + second
}

// count replaces the advice if the counts exceed a limit. once means that the call may fail twice
// at most.
func (a *Answer) count(r *fault.Retry, kind fault.Kind, once bool, n Counts) {
	limit := n.Limit
	if once {
		limit = min(limit, r.MaxAttempts)
	}
	switch {
	case n.Same > 0:
		a.Loop = true
		r.Reason = words.Capital(ThisCallFailed(n.Same)) + " with the same error"
	case n.Streak > 0 && (once || !r.ShouldRetry):
		a.Loop = true
		r.Reason = words.Capital(TheToolFailed(n.Streak))
	case r.ShouldRetry && n.Attempts >= limit:
		r.Reason = "This call has failed " + times(n.Attempts)
	default:
		return
	}
	r.ShouldRetry, r.MaxAttempts, r.RetryAfterSeconds, a.By = false, 0, 0, classify.Counted
	if a.Loop {
		a.Step = "" // a caller that is to stop needs no time for the next call
	}
	if r.Effect != fault.EffectUnknown && !r.Partial { // else the line about the effect says what to do
		r.Reason += ". " + instead(kind, n.Steps)
	}
}

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

// ThisCallFailed says how often a call failed.
func ThisCallFailed(n int) string { return "this exact call has failed " + times(n) }

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
