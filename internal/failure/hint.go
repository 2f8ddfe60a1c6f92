package failure

import (
	"cmp"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Hint is what an error says about a second try, beside its kind. The zero Hint
// says nothing.
type Hint struct {
	// Retry says whether a second try can succeed at all.
	Retry classify.Retryable

	// After is how long to wait before it, as a service that is needed asked; zero
	// means that nobody said. It is never negative and never more than 30 days.
	After time.Duration

	// Effect says whether the failed try may have changed something:
	// [fault.EffectNone] when it was refused before anything was done,
	// [fault.EffectUnknown] when it was sent and no answer came,
	// [fault.EffectCommitted] when the change was made, and "" when the error alone
	// does not tell.
	Effect fault.Effect

	// Status is the HTTP status of the answer of a service that is needed, from 400
	// to 599, or zero.
	Status int

	// Reason is a public sentence of ours, without a full stop, such as "The failure is
	// permanent"; never the text of an error. It may be empty.
	Reason string
}

// A HintRule is a retry.HintRule: it reports false for an error that it does not know.
type HintRule func(err error) (Hint, bool)

// HintOf returns what any error says about a second try; the zero Hint for nil. It
// looks through the whole tree of wrapped and joined errors and below faults, and
// survives errors and rules that panic.
//
// An effect is that of the one failure that the error tells. A handler that had
// changed something before this failure says so itself, with
// [fault.Error.WithRetry].
func HintOf(err error, rules ...HintRule) Hint {
	if err == nil {
		return Hint{}
	}
	k := Known{Finding: classify.Of(err, classify.Options{})}
	k.ask(err, rules)
	return Again(&k, Situation{}).Hint
}

// ask asks the rules about a second try; the first that knows the error counts.
func (k *Known) ask(err error, rules []HintRule) {
	if k.Origin == classify.Bug || k.Lost { // errors.Is, which rules ask, may not come back
		return
	}
	for _, rule := range rules {
		var said Hint
		if safe.Call(func() { said, k.Ruled = rule(err) }, nil); !k.Ruled {
			continue
		}
		if said.Retry > classify.RetryNo {
			said.Retry = classify.RetryUnknown
		}
		if !classify.IsFailure(said.Status) {
			said.Status = 0
		}
		said.After, said.Effect = classify.Bounded(said.After), classify.Effect(said.Effect)
		k.Rule = said
		return
	}
}

// A word is a Hint with the sources of what it says.
type word struct {
	Hint

	by    classify.Source // of Retry
	proof classify.Source // of Effect
}

// fill takes what is open in a word from another one. A wait and a reason belong to the answer that
// they came with.
func (w *word) fill(by word) {
	if w.Retry == classify.RetryUnknown {
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
