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

// Safety says what a repetition of a call can do, whatever became of the first one.
type Safety uint8

// What a repetition of a call can do.
const (
	Writes     Safety = iota // it may take effect a second time; also where nobody said
	Keyed                    // a write under an idempotency key: it takes effect once
	Idempotent               // it has no further effect
	Reads                    // it has no effect at all
)

// SafetyOf returns what the annotations of a tool say. A tool without annotations
// writes.
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

// Known is what is known of a failure when it is decided whether its call may be made again.
type Known struct {
	classify.Finding

	Shown bool  // the reader gets the error's own words, which nobody meant for it
	Rule  Hint  // what a rule of the program says about a second try,
	Ruled bool  // if one knows the error
	Ended error // how the caller's context had ended when the failure was found

	// Hint, if it is not nil, is what was found out already about whether a second try can succeed:
	// neither the fault nor a rule nor the error is asked for it.
	Hint *Hint
}

// Situation is what stands around a failure. The zero Situation is that of a write of which nothing is
// counted. Its functions are called at most once, and only where their answer matters.
type Situation struct {
	// Safety says what a repetition can do. Nil means Writes.
	Safety func() Safety

	// Costly says that Safety is not to be asked where only the word hangs on it that nothing was changed.
	Costly bool

	// Counted counts the failure, which would be advised on so, and returns what was counted. Nil means
	// that nothing is.
	Counted func(advice fault.Retry) Counts

	// Cut says that the call was begun and cut by us, and Running that its handler is still at work.
	Cut, Running bool

	// Witness is what was seen of the effect of the call.
	Witness Witness
}

// As is the Situation of a call of which it is known what a repetition can do.
func As(s Safety) Situation { return Situation{Safety: func() Safety { return s }} }

// Counts are what was counted of a call that fails again and again.
type Counts struct {
	Same     int  // the failures in a row with the same error, if they are too many
	Attempts int  // how often the call was made
	Limit    int  // how often it may be made
	Streak   int  // the failures in a row of the tool, if they are too many
	Steps    bool // the failure comes with next steps
}

// Answer says whether a call may be made again.
type Answer struct {
	Retry fault.Retry     // what the caller reads
	By    classify.Source // how it is known whether to call again
	Proof classify.Source // how the effect of Retry is known; Nobody where it has none, or is unknown because nobody said anything
	Hint  Hint            // whether a second try can succeed at all, whatever a repetition does
	Loop  bool            // the caller goes on and on: it reads so even beside the words of a tool
}

// What is said of a call of which nobody knows whether it took effect, and of one whose
// repetition does no harm.
const (
	mayHaveChanged = "It may have changed something" // fault says what to do about that
	mayStillChange = "It may still take effect"
	doesNoHarm     = "A repetition does no harm"
	sameKey        = "With the same idempotency key it takes effect only once"
	limitOfCaller  = "The caller's own time limit was over"
)

// Again decides whether a call that failed may be made again, and says how that is known. It is the one
// place that decides it.
//
// Of a write, only two things count as "nothing was done": what somebody said (a fault
// with a word about the retry, a rule), unless the cause of that fault contradicts, and
// what the failure proves. Else the effect is unknown and the call is not to be repeated.
func Again(k *Known, at Situation) Answer {
	kind := k.Fault.Kind()
	row := kinds.Of(string(kind))
	own, said := k.Fault.Retry()
	declined := kind == fault.KindCancelled && k.Origin == classify.Worded // somebody said no
	begun := !said && !declined && (mayHaveBegun(row) || k.Shown && kind == fault.KindTool)

	can := k.can(kind, row)
	a := Answer{Hint: can.Hint, By: can.by}
	r := fault.Retry{ShouldRetry: can.Retry == classify.RetryYes, Reason: can.Reason}
	if !said && can.row != "" && can.row == kind {
		r.Reason = "" // the row of the kind has one for where nothing is said of the effect
	}

	effect, proof := k.effect(can, row, declined)
	effect, proof = at.outweigh(&r, own, can.by, effect, proof)
	unsure := begun || effect == fault.EffectUnknown
	if begun && effect == "" {
		proof = classify.ByKind
	}
	switch {
	case effect == fault.EffectCommitted:
		r.ShouldRetry, r.Effect, a.By = false, effect, proof
	case effect == fault.EffectNone:
		if own.Effect == effect || (begun || r.ShouldRetry && proof == classify.Witnessed) && (at.Costly || at.safety() != Reads) { // else it goes without saying
			r.Effect = effect
		}
	case said && effect == "", !r.ShouldRetry && !unsure: // whatever a repetition does
	default:
		switch s := at.safety(); {
		case s == Reads:
			if at.Cut {
				r.Effect, proof = fault.EffectNone, classify.Annotated
			}
		case s == Keyed && r.ShouldRetry:
			r.Reason, a.By = sameKey, classify.Annotated
		case s == Idempotent:
			if r.ShouldRetry && unsure {
				r.Reason, a.By = doesNoHarm, classify.Annotated
			}
		case r.ShouldRetry:
			r.ShouldRetry, r.Reason, r.Effect = false, "", fault.EffectUnknown
		default:
			r.Effect = fault.EffectUnknown
			if own.Effect == "" || r.Reason == "" { // else the reason speaks of the effect
				r.Reason = joined(r.Reason, mayHaveChanged)
			}
		}
	}
	if at.Running && r.Effect == fault.EffectUnknown {
		r.Reason = mayStillChange
	}
	switch {
	case r.ShouldRetry:
		r.RetryAfterSeconds = math.Ceil(can.After.Seconds())
	case r.Reason == "" && r.Effect != fault.EffectUnknown && !r.Partial && !said && !declined:
		r.Reason = cmp.Or(row.Reason, row.Again)
	}
	if at.Counted != nil {
		a.count(&r, kind, at.Counted(r))
	}
	if a.Retry = r; r.Effect != "" {
		a.Proof = proof
	}
	return a
}

func (at *Situation) safety() Safety {
	if at.Safety == nil {
		return Writes
	}
	return at.Safety()
}

// can says whether a second try can succeed at all: each word is the first one's that has it, of the
// fault, of a rule, of the error, of the kind. A call that its caller gave up is not repeated.
func (k *Known) can(kind fault.Kind, row *kinds.Row) word {
	if k.Hint != nil {
		return word{Hint: *k.Hint, by: k.By, proof: k.By}
	}
	w := word{}
	own, said := k.Fault.Retry()
	if said {
		w = word{Hint: Hint{Retry: classify.RetryNo, Effect: classify.Effect(own.Effect), Reason: own.Reason}, by: k.By, proof: k.By}
		if own.ShouldRetry {
			w.Retry, w.After = classify.RetryYes, classify.Seconds(own.RetryAfterSeconds)
		}
	}
	if k.Ruled {
		w.fill(word{Hint: k.Rule, by: classify.ByRule, proof: classify.ByRule})
	}
	w.fill(k.error(kind, row))
	if w.Retry != classify.RetryYes {
		w.After = 0
	}
	switch {
	case said:
	case errors.Is(k.Ended, context.Canceled) && w.Retry != classify.RetryNo:
		cancelled := kinds.Of(string(fault.KindCancelled)).Reason
		w.Retry, w.After, w.Reason, w.row, w.by = classify.RetryNo, 0, cancelled, fault.KindCancelled, classify.Cut
	case errors.Is(k.Ended, context.DeadlineExceeded) && w.Reason == "" && kind == fault.KindTimeout:
		w.Reason, w.row = limitOfCaller, ""
	}
	return w
}

// error is what the error says, and what the kind says that it is reported as. A kind that somebody chose on
// purpose overrides the error where it is final, and else what the error's own kind says.
func (k *Known) error(kind fault.Kind, row *kinds.Row) word {
	says, meant := &k.Says, k.Origin == classify.Worded || k.Origin == classify.Ruled
	ofRow := word{Hint: Hint{Retry: classify.Retryable(row.Retry), Reason: row.Reason}, by: classify.ByKind, row: kind}
	if row.Retry == kinds.Unknown {
		ofRow.by = classify.Nobody
	}
	w := word{Hint: Hint{Retry: says.Retry, Reason: says.Reason}, by: says.By, row: says.Row}
	final := meant && row.Final
	switch byKind := says.By <= classify.ByKind; {
	case final, byKind && meant && row.Retry == kinds.Yes,
		byKind && (says.Retry == classify.RetryUnknown || says.Kind == fault.KindInternal):
		w = ofRow
	}
	w.After, w.Status, w.Effect, w.proof = says.After, says.Status, says.Effect, says.Proof
	if final && says.Proof == classify.ByKind {
		w.Effect = "" // what the error's kind says is overridden, too
	}
	if w.Effect == "" && row.Effect != "" {
		w.Effect, w.proof = fault.Effect(row.Effect), classify.ByKind
	}
	if w.Retry != classify.RetryYes {
		w.After = 0
	}
	return w
}

// effect returns what became of the call, as far as the fault, a rule, the error or the kind says so. What
// the fault says of a second try without a word about the effect does not outweigh what its cause says.
func (k *Known) effect(can word, row *kinds.Row, declined bool) (fault.Effect, classify.Source) {
	own, said := k.Fault.Retry()
	switch {
	case said && own.Effect != "":
		return own.Effect, k.By
	case said && can.Effect != fault.EffectNone, declined:
		return k.Says.Effect, k.Says.Proof
	case said: // a rule or the cause says so, but the fault does not
		return "", can.proof
	case can.Effect == "" && (k.Fault.Kind() == fault.KindNotFound || row.Effect == string(fault.EffectNone)):
		return fault.EffectNone, classify.ByKind
	default:
		return can.Effect, can.proof
	}
}

// mayHaveBegun reports whether a failure of this kind leaves it open whether the call
// took effect: what it needs was at work. The other kinds are refusals.
func mayHaveBegun(row *kinds.Row) bool {
	return row.Party == "upstream" || row.Effect == string(fault.EffectUnknown)
}

// joined returns two sentences without the last full stop.
func joined(first, second string) string {
	if first == "" {
		return second
	}
	return strings.TrimRight(first, ". ") + ". " + second
}

// count changes the advice to what was counted.
func (a *Answer) count(r *fault.Retry, kind fault.Kind, n Counts) {
	switch {
	case n.Same > 0:
		r.ShouldRetry, a.Loop = false, true
		r.Reason = words.Capital(ThisCallFailed(n.Same)) + " with the same error. " + instead(kind, n.Steps, r.Effect)
	case r.ShouldRetry && n.Attempts >= n.Limit:
		r.ShouldRetry = false
		r.Reason = "This call has failed " + times(n.Attempts) + ". " + instead(kind, n.Steps, r.Effect)
	case !r.ShouldRetry && n.Streak > 0:
		a.Loop = true
		r.Reason = words.Capital(TheToolFailed(n.Streak)) + ". " + instead(kind, n.Steps, r.Effect)
	default:
		return
	}
	a.By = classify.Counted
}

// instead says what to do when calling again does not help.
func instead(kind fault.Kind, steps bool, effect fault.Effect) string {
	if effect == fault.EffectUnknown {
		return mayHaveChanged // the line says what to do about that
	}
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
	return "the last " + strconv.Itoa(n) + " calls of this tool have all failed"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
