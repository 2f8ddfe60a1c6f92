package classify

import (
	"cmp"
	"math"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
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

// What is said of a call of which nobody knows whether it took effect, and of one whose
// repetition does no harm.
const (
	mayHaveChanged = "It may have changed something" // fault says what to do about that
	doesNoHarm     = "A repetition does no harm"
	sameKey        = "With the same idempotency key it takes effect only once"
)

// Advise answers whether a call that ended with this failure may be made again, from
// what the failure says and from what a repetition can do. It is the one place that
// decides it.
//
// Of a write, only two things count as "nothing was done": what somebody said (a fault
// with a word about the retry, a rule), unless the cause of that fault contradicts, and
// what the failure proves (h.Effect is [fault.EffectNone], or the kind proves it). Else
// the effect is unknown and the call is not to be repeated.
func (f *Finding) Advise(h Hint, s Safety) fault.Retry {
	public := f.Public()
	kind := public.Kind()
	row := kinds.Of(string(kind))
	own, said := public.Retry()
	declined := kind == fault.KindCancelled && f.Origin == Worded // somebody said no
	effect := h.Effect
	switch {
	case said:
		effect = own.Effect
		if effect == "" && h.Effect != fault.EffectNone {
			effect = f.CauseEffect()
		}
	case declined:
		effect = f.CauseEffect()
	case effect == "" && proves(kind):
		effect = fault.EffectNone
	}
	r := fault.Retry{ShouldRetry: h.Retry == RetryYes, Reason: h.Reason}
	if !said && r.Reason == row.Reason {
		r.Reason = "" // the row of the kind has one for where no effect is told
	}
	begun := !said && !declined && (mayHaveBegun(kind) || f.shown && kind == fault.KindTool)
	switch {
	case effect == fault.EffectCommitted:
		r.ShouldRetry, r.Effect = false, effect
	case effect == fault.EffectNone:
		if own.Effect == effect || begun && s != Reads { // else it goes without saying
			r.Effect = effect
		}
	case s == Reads, said && effect == "":
	case s == Keyed && r.ShouldRetry:
		r.Reason = sameKey
	case s == Idempotent:
		if r.ShouldRetry && (begun || effect == fault.EffectUnknown) {
			r.Reason = doesNoHarm
		}
	case r.ShouldRetry:
		r.ShouldRetry, r.Reason, r.Effect = false, "", fault.EffectUnknown
	case begun || effect == fault.EffectUnknown:
		r.Effect = fault.EffectUnknown
		if own.Effect == "" || r.Reason == "" { // else the reason speaks of the effect
			r.Reason = joined(r.Reason, mayHaveChanged)
		}
	}
	switch {
	case r.ShouldRetry:
		r.RetryAfterSeconds = math.Ceil(h.After.Seconds())
	case r.Reason == "" && r.Effect != fault.EffectUnknown && !said && !declined:
		r.Reason = cmp.Or(row.Reason, row.Again)
	}
	return r
}

// proves reports whether a failure of this kind proves that nothing was done.
func proves(kind fault.Kind) bool {
	return kind == fault.KindNotFound || kinds.Of(string(kind)).Effect == string(fault.EffectNone)
}

// mayHaveBegun reports whether a failure of this kind leaves it open whether the call
// took effect: what it needs was at work. The other kinds are refusals.
func mayHaveBegun(kind fault.Kind) bool {
	row := kinds.Of(string(kind))
	return row.Party == "upstream" || row.Effect == string(fault.EffectUnknown)
}

// joined returns two sentences without the last full stop.
func joined(first, second string) string {
	if first == "" {
		return second
	}
	return strings.TrimRight(first, ". ") + ". " + second
}
