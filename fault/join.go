package fault

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/words"
)

// Join returns one fault that describes all of the given ones, in that order. It has their
// violations, details and steps. Of details with the same key it keeps the last, and of
// steps with the same text the first. Their causes are joined. The call may be repeated only
// if none of them forbids it; wrong arguments that say nothing about it forbid it, too. The
// kind is that of the first one. The code is theirs if all have the same kind and code.
//
// Nil faults are left out. Join returns a single fault unchanged, and nil if there is none:
// check for nil before you return it as an error, because a nil *Error in an error is not
// nil.
func Join(faults ...*Error) *Error {
	faults = slices.DeleteFunc(slices.Clone(faults), func(e *Error) bool { return e == nil })
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	first := faults[0]
	joined := New(first.data.Type, messageOf(faults))
	if !slices.ContainsFunc(faults, func(e *Error) bool { return !e.Is(first) }) {
		joined.data.Code = first.data.Code
	}
	joined.refused = !slices.ContainsFunc(faults, func(e *Error) bool { return !e.refuses() })
	joined.derived = !joined.refused
	// The contents of the given faults are never written to, so they may be shared.
	d := &joined.data
	seen := make(map[string]bool)
	for _, e := range faults {
		d.Violations = append(d.Violations, e.data.Violations...)
		for _, s := range e.data.RecoverySteps {
			var text strings.Builder
			if s.text(&text); seen[text.String()] {
				continue
			}
			seen[text.String()] = true
			s.Number = len(d.RecoverySteps) + 1
			d.RecoverySteps = append(d.RecoverySteps, s)
		}
		for k, v := range e.data.Details {
			if d.Details == nil {
				d.Details = make(map[string]any)
			}
			d.Details[k] = v
		}
		if e.cause != nil {
			joined.cause = joinCauses(joined.cause, e.cause)
		}
	}
	d.Retry = joinedRetry(faults)
	return joined
}

// joinedRetry joins the statements about repeating the call: the more careful one where they
// differ.
func joinedRetry(faults []*Error) *Retry {
	var joined *Retry
	silent, wrong := false, false
	for _, e := range faults {
		switch r := e.data.Retry; {
		case r == nil:
			silent = true
			wrong = wrong || e.data.Type == KindValidation
		case joined == nil:
			cp := *r
			joined = &cp
		default:
			*joined = joinRetry(*joined, *r)
		}
	}
	if silent && joined != nil && joined.Effect == EffectNone {
		joined.Effect = "" // a fault that says nothing may have changed something
	}
	if wrong && joined != nil && (joined.ShouldRetry || joined.Reason == NotNow) { // arguments stay wrong when a limit is over
		return &Retry{Effect: joined.Effect, Partial: joined.Partial}
	}
	return joined
}

func joinRetry(a, b Retry) Retry {
	r := a
	switch {
	case b.ShouldRetry:
	case a.ShouldRetry, a.Unknown, a.Reason == NotNow && !b.Unknown && b.Reason != NotNow:
		r = b
	case a.Reason == NotNow && b.Reason == NotNow:
		r.RetryAfterSeconds = max(a.RetryAfterSeconds, b.RetryAfterSeconds)
	}
	if a.ShouldRetry && b.ShouldRetry {
		r.RetryAfterSeconds = max(a.RetryAfterSeconds, b.RetryAfterSeconds)
		r.NextAttempt = max(a.NextAttempt, b.NextAttempt)
		r.MaxAttempts = min(cmp.Or(a.MaxAttempts, b.MaxAttempts), cmp.Or(b.MaxAttempts, a.MaxAttempts))
		r.Reason = cmp.Or(a.Reason, b.Reason)
	}
	r.Partial = a.Effect == EffectCommitted && a.Partial || b.Effect == EffectCommitted && b.Partial
	r.Effect = slices.MaxFunc([]Effect{a.Effect, b.Effect}, func(x, y Effect) int {
		return cmp.Compare(slices.Index(effects, x), slices.Index(effects, y))
	})
	return r
}

// effects are in ascending order of weight: for several failures the heaviest counts.
var effects = []Effect{EffectNone, "", EffectUnknown, EffectCommitted}

// messageOf returns the message of a joined fault: one item for each fault.
func messageOf(faults []*Error) string {
	what := "arguments are wrong"
	items := make([]string, 0, maxListed)
	for i, e := range faults {
		if e.data.Type != KindValidation || len(e.data.Violations) > 1 || strings.Contains(e.data.Message, itemStart) {
			what = "things failed"
		}
		if i < maxListed {
			items = append(items, e.data.item())
		}
	}
	return listing(len(faults), what, items)
}

// item writes d as one item of a listing; further lines are indented.
func (d *Data) item() string {
	var b strings.Builder
	if d.Type != KindValidation {
		b.WriteString(d.Type.Label())
		b.WriteString(": ")
	}
	d.headline(&b)
	text := words.Clip(b.String(), maxItem)
	return strings.ReplaceAll(withSuggestion(text, words.Clip(d.Suggestion, maxItem)), "\n", "\n  ")
}
