package classify

import (
	"cmp"
	"time"

	"github.com/mcpchain/mcpchain/fault"
)

// A clue is what one error, or one branch of a tree of errors, says about itself
// and about a second try. Of a chain the outermost word counts.
type clue struct {
	kind      fault.Kind
	retry     Retryable // said on purpose, or as good as that
	temporary bool      // by an old habit of the net package, which says less
	reason    string    // of retry
	after     time.Duration
	effect    fault.Effect
	status    int
}

// fill takes what is open in c from what stands further inside.
func (c *clue) fill(inner *clue) {
	if c.retry == RetryUnknown {
		c.retry, c.reason = inner.retry, inner.reason
	}
	if c.kind == "" {
		c.kind = inner.kind
	}
	if c.effect == "" {
		c.effect = inner.effect
	}
	c.temporary = c.temporary || inner.temporary
	c.after = cmp.Or(c.after, inner.after)
	c.status = cmp.Or(c.status, inner.status)
}

// resolved returns the clue of a whole branch, as it stands beside others.
func (c clue) resolved() clue {
	h := c.hint(c.kind, false)
	if c.kind == "" && c.retry == RetryUnknown && c.status == 0 && !c.temporary {
		return c // nothing is known, which is not the same as an internal error
	}
	c.retry, c.reason, c.effect = h.Retry, h.Reason, h.Effect
	return c
}

// beside returns what two branches say together, of which several failures were
// joined: the more careful word where they differ.
func (c clue) beside(d clue) clue {
	both := c
	if c.retry == RetryUnknown || c.retry == RetryYes && d.retry == RetryNo {
		both.retry, both.reason = d.retry, d.reason
	}
	both.kind = cmp.Or(c.kind, d.kind)
	both.temporary = c.temporary || d.temporary
	both.after = max(c.after, d.after)
	both.status = cmp.Or(c.status, d.status)
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
	h := Hint{Retry: c.retry, Reason: c.reason, After: c.after, Effect: c.effect, Status: c.status}
	own := ofKind(kind)
	if meant && own.retry == RetryNo && adamant(kind) {
		return Hint{Retry: RetryNo, Reason: own.reason, Effect: cmp.Or(c.effect, own.effect), Status: c.status}
	}
	inner := ofKind(c.kind)
	status := ofStatus(c.status)
	switch {
	case h.Retry != RetryUnknown:
	case status.retry != RetryUnknown:
		h.Retry, h.Reason = status.retry, status.reason
	case c.temporary:
		h.Retry = RetryYes
	case meant && own.retry == RetryYes:
		h.Retry, h.Reason = own.retry, own.reason
	case inner.retry != RetryUnknown && c.kind != fault.KindInternal:
		h.Retry, h.Reason = inner.retry, inner.reason
	default:
		h.Retry, h.Reason = own.retry, own.reason
	}
	h.Effect = cmp.Or(h.Effect, inner.effect, own.effect)
	if h.Retry != RetryYes {
		h.After = 0
	}
	return h
}

// adamant reports whether a fault of this kind, once somebody chose it, is not
// worth repeating whatever its private cause was.
func adamant(kind fault.Kind) bool {
	switch kind {
	case fault.KindValidation, fault.KindNotFound, fault.KindAlreadyExists,
		fault.KindUnauthenticated, fault.KindPermissionDenied, fault.KindCancelled:
		return true
	default:
		return false
	}
}

// ofKind returns what a kind says when nothing else is known.
func ofKind(kind fault.Kind) clue {
	switch kind {
	case fault.KindValidation, fault.KindUnauthenticated, fault.KindPermissionDenied:
		return clue{retry: RetryNo, effect: fault.EffectNone}
	case fault.KindNotFound, fault.KindAlreadyExists, fault.KindPreconditionFailed:
		return clue{retry: RetryNo}
	case fault.KindClientError:
		return clue{retry: RetryNo, reason: reasonClient}
	case fault.KindRateLimited:
		return clue{retry: RetryYes, effect: fault.EffectNone}
	case fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError:
		return clue{retry: RetryYes}
	case fault.KindTimeout:
		return clue{retry: RetryYes, effect: fault.EffectUnknown}
	case fault.KindCancelled:
		return clue{retry: RetryNo, reason: ReasonCancelled, effect: fault.EffectUnknown}
	case fault.KindInternal:
		return clue{retry: RetryNo, reason: reasonUnexpected, effect: fault.EffectUnknown}
	default: // a conflict, a tool's own words, a kind of the program's own
		return clue{}
	}
}

// said returns what something that a fault has for its cause says itself. Its words
// are private there.
func (f *Finding) said() clue {
	if f.Panic != nil {
		return clue{retry: RetryNo, reason: reasonUnexpected, effect: fault.EffectUnknown}
	}
	public := f.Public()
	c := clue{kind: public.Kind()}
	if r, ok := public.Retry(); ok {
		c.retry, c.effect = RetryNo, effect(r.Effect)
		if r.ShouldRetry {
			c.retry, c.after = RetryYes, seconds(r.RetryAfterSeconds)
		}
	}
	return c
}
