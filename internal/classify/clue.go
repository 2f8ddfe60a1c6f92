package classify

import (
	"cmp"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
)

// A clue holds what an error, or a branch of a tree of errors, says about itself and about a second try.
// In a chain the outermost error counts.
type clue struct {
	kind   fault.Kind
	party  fault.Party
	retry  fault.Retryable // said on purpose, or as certain as that
	by     Source          // of retry; zero is ByTable
	reason *reason         // of retry
	after  time.Duration
	effect fault.Effect
	proof  Source       // of effect, which an error has only by a statement
	status int          // of HTTP; decides about a second try if retry is open
	public *fault.Error // a sentence of ours that fits better than that of the kind
	terse  bool         // public says no more than a program's text around the error
	chosen bool         // the error names its kind on purpose

	anonymous bool // the service refused credentials that are missing or unknown to it
}

// fill takes from an error further inside what is open in c.
func (c *clue) fill(inner *clue) {
	if c.retry == fault.RetryUnknown {
		c.retry, c.by, c.reason = inner.retry, inner.by, inner.reason
	}
	if c.kind == "" {
		c.kind, c.public, c.terse, c.chosen, c.anonymous = inner.kind, inner.public, inner.terse, inner.chosen, inner.anonymous
	}
	c.party = cmp.Or(c.party, inner.party)
	if c.effect == "" {
		c.effect, c.proof = inner.effect, inner.proof
	}
	c.after = cmp.Or(c.after, inner.after)
	c.status = cmp.Or(c.status, inner.status)
}

// resolved returns the complete clue of a branch, to be compared with other branches.
func (c clue) resolved() clue {
	if c.kind == "" && c.retry == fault.RetryUnknown {
		return c // nothing is known, which is not the same as an internal error
	}
	var why *reason
	c.retry, why, c.by = c.second()
	if c.by <= ByStatus {
		c.by = 0 // next to other branches it counts as said on purpose
	}
	if text := c.words(why); text != c.reason.String() {
		c.reason = &reason{text: text}
	}
	return c
}

// second returns whether a second try can succeed, and why not. The error's own statement comes
// first, then its status, then the row of its kind.
func (c *clue) second() (retry fault.Retryable, why *reason, by Source) {
	if c.retry != fault.RetryUnknown {
		return c.retry, c.reason, cmp.Or(c.by, ByTable)
	}
	if status := ofStatus(c.status); status.retry != fault.RetryUnknown {
		return status.retry, status.reason, ByStatus
	}
	return fault.Retryable(kinds.Of(string(c.kind)).Retry), reasonOf(c.kind), ByKind
}

func (c *clue) words(why *reason) string {
	if why == reasonRefused && c.status != 0 {
		return why.text + " (HTTP " + strconv.Itoa(c.status) + ")"
	}
	return why.String()
}

// beside returns the clue of two joined branches: the more careful one where they differ.
func (c clue) beside(d clue) clue {
	both := c
	both.fill(&d)
	if c.retry == fault.RetryYes && d.retry == fault.RetryNo {
		both.retry, both.by, both.reason = d.retry, d.by, d.reason
	}
	if c.retry == d.retry && c.by < d.by {
		both.by, both.reason = d.by, d.reason
	}
	both.after = max(c.after, d.after)
	both.effect, both.proof = worse(c.effect, d.effect), max(c.proof, d.proof)
	return both
}

// worse returns the effect of two failures together. A failure without a statement may have changed
// something, so "none" does not hold for both.
func worse(a, b fault.Effect) fault.Effect {
	switch {
	case a == b, a == fault.EffectCommitted, a == fault.EffectUnknown && b != fault.EffectCommitted:
		return a
	case b == fault.EffectNone, a == fault.EffectNone && b == "":
		return ""
	default:
		return b
	}
}

func (c *clue) refusedCredentials() bool {
	return c.reason == reasonCredentials || c.kind == fault.KindServerError && ofStatus(c.status).reason == reasonCredentials
}

// said returns the clue of a fault that is the cause of another fault.
func (f *Finding) said() clue {
	if f.Panic != nil {
		return clue{party: fault.PartyServer, retry: fault.RetryNo, reason: reasonOf(fault.KindInternal)}
	}
	public := f.Fault
	if f.Wire != nil {
		public = FromWire(f.Wire)
	}
	c := clue{kind: public.Kind(), party: public.Party()}
	switch own, ok := public.Retry(); {
	case own.Unknown:
		c.after = Seconds(own.RetryAfterSeconds)
	case ok:
		c.retry, c.by = fault.RetryNo, ByError
		if own.ShouldRetry {
			c.retry, c.after = fault.RetryYes, Seconds(own.RetryAfterSeconds)
		}
		// That nothing was done is true of the step that this fault is about.
		if c.effect = Effect(own.Effect); c.effect == fault.EffectNone {
			c.effect = ""
		}
		if c.effect != "" {
			c.proof = ByError
		}
	}
	return c
}

// says returns the clue with what follows from its status and its kind.
func (c *clue) says() Says {
	retry, why, by := c.second()
	s := Says{
		Kind: c.kind, Party: c.party, Status: c.status, After: c.after,
		Retry: retry, By: by, Reason: c.words(why),
		Effect: c.effect, Proof: c.proof,
	}
	if s.Effect == "" {
		s.Proof = Nobody
	}
	return s
}

// Effect returns e if it is a known effect, else "".
func Effect(e fault.Effect) fault.Effect {
	switch e {
	case fault.EffectNone, fault.EffectUnknown, fault.EffectCommitted:
		return e
	default:
		return ""
	}
}
