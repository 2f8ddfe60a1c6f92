package fault

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/words"
)

// Join returns one fault that tells all of the given ones, in that order. It has their
// violations, details and steps; of details with the same key the last, and of steps that
// read the same the first. Their causes are joined. The call may be repeated only if none
// of them says no. The kind is that of the first one. The code is theirs if all have the
// same kind and code.
//
// Nil faults are left out. Join returns a single fault as it is, and nil if there is none:
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
	joined := New(first.data.Type, "")
	joined.listAll(faults)
	if !slices.ContainsFunc(faults, func(e *Error) bool { return !e.Is(first) }) {
		joined.data.Code = first.data.Code
	}
	// What is inside of the given faults is never written to, so it may be shared.
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

// joinedRetry says about repeating the call what is said of any of the faults,
// the more careful word where they differ.
func joinedRetry(faults []*Error) *Retry {
	var joined *Retry
	silent := false
	for _, e := range faults {
		switch r := e.data.Retry; {
		case r == nil:
			silent = true
		case joined == nil:
			cp := *r
			joined = &cp
		default:
			*joined = joinRetry(*joined, *r)
		}
	}
	if silent && joined != nil && joined.Effect == EffectNone {
		joined.Effect = "" // who says nothing may have changed something
	}
	return joined
}

func joinRetry(a, b Retry) Retry {
	r := a
	if a.ShouldRetry && !b.ShouldRetry {
		r = b
	}
	if a.ShouldRetry && b.ShouldRetry {
		r.RetryAfterSeconds = max(a.RetryAfterSeconds, b.RetryAfterSeconds)
		r.NextAttempt = max(a.NextAttempt, b.NextAttempt)
		r.MaxAttempts = min(cmp.Or(a.MaxAttempts, b.MaxAttempts), cmp.Or(b.MaxAttempts, a.MaxAttempts))
		r.Reason = cmp.Or(a.Reason, b.Reason)
	}
	r.Effect = slices.MaxFunc([]Effect{a.Effect, b.Effect}, func(x, y Effect) int {
		return cmp.Compare(slices.Index(effects, x), slices.Index(effects, y))
	})
	return r
}

// effects are in the order in which one of them holds for several failures:
// nothing was changed only if nobody says anything else.
var effects = []Effect{EffectNone, "", EffectUnknown, EffectCommitted}

// listAll makes the message of a joined fault of the messages of several faults.
func (e *Error) listAll(faults []*Error) {
	var items []string
	if slices.ContainsFunc(faults, func(f *Error) bool { return f.data.Type != KindValidation }) {
		for _, f := range faults[:min(len(faults), maxListed)] {
			items = append(items, f.data.item())
		}
		e.data.Message = listing(len(faults), "things failed", items)
		return
	}
	total := 0
	for _, f := range faults {
		switch l := f.listed; {
		case l != nil && l.message == f.data.Message:
			items = append(items, l.items...)
			total += l.total
		case l == nil && len(f.data.Violations) > 1: // made of Data, from the wire for example
			for _, v := range f.data.Violations {
				_, received := shown(v.Received)
				if received == noValue {
					received = "" // or one that was hidden
				}
				items = append(items, withSuggestion(words.Ended(v.sentence(received)), v.Suggestion))
			}
			total += len(f.data.Violations)
		default:
			items = append(items, f.data.item())
			total++
		}
	}
	e.list(total, items)
}

// A listed is what a message lists: the first of the wrong arguments, and how many there are
// in all. [Join] lists them anew. It says nothing of any other message.
type listed struct {
	message string
	items   []string
	total   int
}

// list makes the message of wrong arguments.
func (e *Error) list(total int, items []string) {
	items = items[:min(len(items), maxListed)]
	e.data.Message = listing(total, "arguments are wrong", items)
	e.listed = &listed{e.data.Message, items, total}
}

// item writes d as one item of a listing; what takes more than one line is
// indented.
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
