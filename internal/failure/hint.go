package failure

import (
	"cmp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// HintOf returns what any error says about a second try; the zero Hint for nil. It looks through
// the whole tree of wrapped and joined errors and below faults, and survives errors and rules that
// panic.
//
// The effect is "" unless a fault, a rule or a method Effect of the error states it: an error proves
// what it is, never what became of the call.
func HintOf(err error, rules ...fault.HintRule) fault.Hint {
	if err == nil {
		return fault.Hint{}
	}
	k := Known{Finding: classify.Of(err, classify.Options{})}
	k.ask(err, rules)
	return Again(&k, Situation{}).Hint
}

// ask runs the rules about a second try; the first that matches the error counts.
func (k *Known) ask(err error, rules []fault.HintRule) {
	if k.Origin == classify.Bug || k.Lost { // a rule calls errors.Is, which may not return here
		return
	}
	for _, rule := range rules {
		var said fault.Hint
		if safe.Call(func() { said, k.Ruled = rule(err) }, nil); !k.Ruled {
			continue
		}
		if said.Retry > fault.RetryNo {
			said.Retry = fault.RetryUnknown
		}
		if !classify.IsFailure(said.Status) {
			said.Status = 0
		}
		said.After, said.Effect = classify.Bounded(said.After), classify.Effect(said.Effect)
		k.Rule = said
		return
	}
}

// A word is a Hint with the sources of its parts.
type word struct {
	fault.Hint

	by    classify.Source // of Retry
	proof classify.Source // of Effect
}

// fill fills the empty fields of a word from another one. A wait and a reason belong to the answer
// that they came with.
func (w *word) fill(by word) {
	if w.Retry == fault.RetryUnknown {
		w.Retry, w.by = by.Retry, by.by
		w.Reason = cmp.Or(w.Reason, by.Reason)
	}
	if w.Retry == by.Retry {
		w.After = cmp.Or(w.After, by.After)
	}
	if w.Effect == "" {
		w.Effect, w.proof = by.Effect, by.proof
	}
	w.Status = cmp.Or(w.Status, by.Status)
}
