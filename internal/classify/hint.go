package classify

import (
	"cmp"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Hint is what an error says about a second try, beside its kind. The zero Hint
// says nothing.
type Hint struct {
	// Retry says whether a second try can succeed at all.
	Retry Retryable

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

// Retryable says whether a second try can succeed.
type Retryable uint8

// The answers to the question whether a second try can succeed.
const (
	RetryUnknown Retryable = iota // nobody knows
	RetryYes
	RetryNo
)

// String returns "unknown", "yes" or "no".
func (r Retryable) String() string {
	switch r {
	case RetryYes:
		return "yes"
	case RetryNo:
		return "no"
	default:
		return "unknown"
	}
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
	f := Of(err, Options{})
	return f.Hint(err, rules)
}

// The reasons for a caller to read.
const (
	ReasonCancelled = "The call was cancelled"
	ReasonCaller    = "The caller's own time limit was over"
)

// CauseEffect returns the effect that the cause proves, or that an error without a fault
// proves. It is empty if that proves nothing; kinds and rules do not count.
func (f *Finding) CauseEffect() fault.Effect {
	return cmp.Or(f.clue.effect, fault.Effect(kinds.Of(string(f.clue.kind)).Effect))
}

// Hint makes the hint of what was found out about err.
func (f *Finding) Hint(err error, rules []HintRule) Hint {
	public := f.Public()
	h, _ := guidance(public)
	if f.Origin != Bug && !f.lost { // else errors.Is, which rules ask, may not come back
		for _, rule := range rules {
			if said, ok := h.asked(rule, err); ok {
				h = said
				break
			}
		}
	}
	h = h.filled(f.clue.hint(public.Kind(), f.Origin == Worded || f.Origin == Ruled))
	if h.Retry != RetryYes {
		h.After = 0
	}
	return h
}

// guidance returns what a fault says itself about a second try, and whether it does.
func guidance(public *fault.Error) (Hint, bool) {
	r, ok := public.Retry()
	if !ok {
		return Hint{}, false
	}
	h := Hint{Retry: RetryNo, Effect: effect(r.Effect), Reason: r.Reason}
	if r.ShouldRetry {
		h.Retry, h.After = RetryYes, seconds(r.RetryAfterSeconds)
	}
	return h, true
}

// asked returns h with what a rule says about err, as far as a hint can say it.
func (h Hint) asked(rule HintRule, err error) (said Hint, ok bool) {
	if safe.Call(func() { said, ok = rule(err) }, nil); !ok {
		return Hint{}, false
	}
	if said.Retry > RetryNo {
		said.Retry = RetryUnknown
	}
	if !isFailure(said.Status) {
		said.Status = 0
	}
	said.After, said.Effect = bounded(said.After), effect(said.Effect)
	return h.filled(said), true
}

// filled returns h with what is open in it taken from another hint. A wait and a
// reason belong to the answer that they came with.
func (h Hint) filled(by Hint) Hint {
	if h.Retry == RetryUnknown {
		h.Retry, h.Reason = by.Retry, cmp.Or(h.Reason, by.Reason)
	}
	if h.Retry == by.Retry {
		h.After = cmp.Or(h.After, by.After)
	}
	h.Effect = cmp.Or(h.Effect, by.Effect)
	h.Status = cmp.Or(h.Status, by.Status)
	return h
}

// effect returns e if it is one that has a name.
func effect(e fault.Effect) fault.Effect {
	switch e {
	case fault.EffectNone, fault.EffectUnknown, fault.EffectCommitted:
		return e
	default:
		return ""
	}
}
