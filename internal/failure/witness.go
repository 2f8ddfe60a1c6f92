package failure

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// A Witness is what was seen of the effect of a call: how the steps ended with which it changes
// something, such as a request that is not safe or a statement. The zero Witness has seen nothing,
// which proves nothing.
type Witness struct {
	Took int // the steps that took effect
	Open int // the steps whose end is not known: they go on, or their answer was lost

	// Whole says that nothing that the call changes goes unseen.
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

// Witness returns what was seen until now of the effect of the call that failed.
func (f *Failure) Witness() Witness {
	if f.witnessed == nil {
		return Witness{}
	}
	return f.witnessed.Witness()
}

// Seen returns the effect that was seen of the call that failed, "" where what else is known of it holds.
func (f *Failure) Seen() fault.Effect {
	own, _ := f.known.Fault.Retry() // and not what a package of ours has added since
	at := Situation{Witness: f.Witness()}
	effect, _ := at.seen(own.Effect, false)
	return effect
}

// outweigh returns the effect of the call and how it is known: what was seen, or else what is known without that. own is
// what the fault says, by how it is known whether a second try can succeed, as r says, and again whether one may be tried.
func (at *Situation) outweigh(r *fault.Retry, own fault.Retry, by classify.Source, again bool, effect fault.Effect, proof classify.Source) (fault.Effect, classify.Source) {
	seen, part := at.seen(own.Effect, again)
	if seen == "" {
		r.Partial = own.Partial && own.Effect == fault.EffectCommitted
		return effect, proof
	}
	if r.Partial = part; part && (r.ShouldRetry || by < classify.ByRule) {
		r.Reason = "" // what a guess says is about the step that failed
	}
	return seen, classify.Witnessed
}

// seen returns the effect that was seen, "" where what else is known holds, and whether it may be a
// part only of the call's. said is the effect that the fault itself names. again says that a second try
// can succeed.
//
// Who names an effect may have looked for it: that holds against a lost answer and against silence, but
// not against an answer that reported success. A tool that only reads changes nothing, whatever it sends.
func (at *Situation) seen(said fault.Effect, again bool) (effect fault.Effect, part bool) {
	effect = at.Witness.Effect()
	switch {
	case effect == "", said == fault.EffectCommitted, said != "" && effect != fault.EffectCommitted:
		return "", false
	case effect == fault.EffectNone:
		if at.Running { // it may still begin something
			return "", false
		}
		return effect, false
	}
	safety := at.safety()
	at.Safety = As(safety).Safety // it is asked once
	switch {
	case safety == Reads:
		return "", false
	case effect == fault.EffectCommitted && again && safety > Writes:
		return fault.EffectUnknown, false // a repetition does no harm, also to what took effect
	default:
		return effect, effect == fault.EffectCommitted
	}
}
