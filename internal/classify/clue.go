package classify

import (
	"cmp"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
)

// A clue is what one error, or one branch of a tree of errors, says about itself
// and about a second try. Of a chain the outermost word counts.
type clue struct {
	kind   fault.Kind
	party  fault.Party
	retry  Retryable // said on purpose, or as good as that
	reason *reason   // of retry
	after  time.Duration
	effect fault.Effect
	status int          // of HTTP, which says what retry leaves open
	public *fault.Error // words of ours that fit better than those of the kind
	terse  bool         // public says no more than the words of a program around the error
}

// fill takes what is open in c from what stands further inside.
func (c *clue) fill(inner *clue) {
	if c.retry == RetryUnknown {
		c.retry, c.reason = inner.retry, inner.reason
	}
	if c.kind == "" {
		c.kind, c.public, c.terse = inner.kind, inner.public, inner.terse
	}
	c.party = cmp.Or(c.party, inner.party)
	c.effect = cmp.Or(c.effect, inner.effect)
	c.after = cmp.Or(c.after, inner.after)
	c.status = cmp.Or(c.status, inner.status)
}

// resolved returns the clue of a whole branch, as it stands beside others.
func (c clue) resolved() clue {
	if c.kind == "" && c.retry == RetryUnknown {
		return c // nothing is known, which is not the same as an internal error
	}
	h := c.hint(c.kind, false)
	c.retry, c.effect = h.Retry, h.Effect
	if h.Reason != c.reason.String() {
		c.reason = &reason{text: h.Reason}
	}
	return c
}

// beside returns what two branches say together, of which several failures were
// joined: the more careful word where they differ.
func (c clue) beside(d clue) clue {
	both := c
	both.fill(&d)
	if c.retry == RetryYes && d.retry == RetryNo {
		both.retry, both.reason = d.retry, d.reason
	}
	both.after = max(c.after, d.after)
	both.effect = worse(c.effect, d.effect)
	return both
}

// worse returns the effect of two failures together. Of one of which nothing is
// known something may have been changed.
func worse(a, b fault.Effect) fault.Effect {
	switch {
	case a == fault.EffectCommitted || b == fault.EffectCommitted:
		return fault.EffectCommitted
	case a == fault.EffectNone && b == fault.EffectNone:
		return fault.EffectNone
	default:
		return fault.EffectUnknown
	}
}

// hint returns what the clue means for a failure of the given kind. meant says that
// somebody chose the kind on purpose.
func (c *clue) hint(kind fault.Kind, meant bool) Hint {
	own, inner, status := kinds.Of(string(kind)), kinds.Of(string(c.kind)), ofStatus(c.status)
	h := Hint{After: c.after, Effect: cmp.Or(c.effect, fault.Effect(inner.Effect), fault.Effect(own.Effect)), Status: c.status}
	why := c.reason
	switch {
	case meant && own.Final:
		h.Retry, h.Reason, h.Effect = RetryNo, own.Reason, cmp.Or(c.effect, fault.Effect(own.Effect))
		why = nil
	case c.retry != RetryUnknown:
		h.Retry = c.retry
	case status.retry != RetryUnknown:
		h.Retry, why = status.retry, status.reason
	case meant && own.Retry == kinds.Yes:
		h.Retry, h.Reason = RetryYes, own.Reason
	case inner.Retry != kinds.Unknown && c.kind != fault.KindInternal:
		h.Retry, h.Reason = Retryable(inner.Retry), inner.Reason
	default:
		h.Retry, h.Reason = Retryable(own.Retry), own.Reason
	}
	switch {
	case why == reasonRefused && c.status != 0:
		h.Reason = "The service refused the request (HTTP " + strconv.Itoa(c.status) + "); the same call will be refused again"
	case why != nil:
		h.Reason = why.text
	}
	if h.Retry != RetryYes {
		h.After = 0
	}
	return h
}

// refusedCredentials reports whether a service refused the credentials that it was given.
func (c *clue) refusedCredentials() bool {
	return c.reason == reasonCredentials || c.kind == fault.KindServerError && ofStatus(c.status).reason == reasonCredentials
}

// said returns what something that a fault has for its cause says itself. Its words
// are private there.
func (f *Finding) said() clue {
	if f.Panic != nil {
		return clue{party: fault.PartyServer, retry: RetryNo, reason: reasonBug, effect: fault.EffectUnknown}
	}
	public := f.Public()
	c := clue{kind: public.Kind(), party: public.Party()}
	if own, ok := guidance(public); ok {
		c.retry, c.after, c.effect = own.Retry, own.After, own.Effect
	}
	return c
}
