package failure

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// A Witness holds what was seen of the effect of a call: it counts, by how they ended, the steps
// that change something, such as an unsafe HTTP request or a statement. The zero Witness has seen
// nothing, which proves nothing.
type Witness struct {
	Took int // the steps that took effect
	Open int // the steps whose effect is unknown: they still run, or their answer was lost

	// Whole means that every change of the call is seen.
	Whole bool
}

// Effect returns the effect that the witness proves, "" for none.
func (w Witness) Effect() fault.Effect {
	switch {
	case w.Took > 0:
		return fault.EffectCommitted
	case w.Open > 0:
		return fault.EffectUnknown
	case w.Whole:
		return fault.EffectNone
	default:
		return ""
	}
}

// A Witnessed has a Witness, such as the Call. What the Witness has seen may grow.
type Witnessed interface{ Witness() Witness }

// Witness returns what was seen until now of the effect of the failed call.
func (f *Failure) Witness() Witness {
	if f.witnessed == nil {
		return Witness{}
	}
	return f.witnessed.Witness()
}

// Seen returns the effect that was seen of the failed call, "" if what else is known decides.
func (f *Failure) Seen() fault.Effect {
	own, _ := f.known.Fault.Retry() // of the failure itself, without what our packages have added since
	at := Situation{Witness: f.Witness()}
	effect, _ := at.seen(own.Effect, false)
	return effect
}

// outweigh replaces the effect of the answer by what was seen. own is the Retry of the fault. again
// reports whether a second try may succeed.
func (a *Answer) outweigh(at *Situation, r *fault.Retry, own fault.Retry, again bool) {
	seen, part := at.seen(own.Effect, again)
	if seen == "" {
		r.Partial = own.Partial && own.Effect == fault.EffectCommitted
		return
	}
	if r.Partial = part; part && (r.ShouldRetry || a.By < classify.ByRule) {
		r.Reason = "" // a derived reason is about the step that failed
	}
	a.Effect, a.Proof = seen, classify.Witnessed
}

// seen returns the effect that was seen, "" if what else is known decides. part reports whether it
// may be only a part of the call's effect. said is the effect that the fault itself names. again
// means that a second try can succeed.
//
// The author of a fault that names an effect may have looked for it: that outweighs a lost answer
// and silence, but not an answer that reported success. A tool that only reads changes nothing,
// whatever it sends.
func (at *Situation) seen(said fault.Effect, again bool) (effect fault.Effect, part bool) {
	effect = at.Witness.Effect()
	switch {
	case effect == "", said == fault.EffectCommitted, said != "" && effect != fault.EffectCommitted:
		return "", false
	case effect == fault.EffectNone:
		if at.Running != "" { // the handler may still begin something
			return "", false
		}
		return effect, false
	}
	switch safety := at.safety(); {
	case safety == Reads:
		return "", false
	case effect == fault.EffectCommitted && again && safety > Writes:
		return fault.EffectUnknown, false // a repetition does no harm, even to what took effect
	default:
		return effect, effect == fault.EffectCommitted
	}
}
