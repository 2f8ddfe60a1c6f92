// Package faults has what package fault offers to the other packages of mcpchain alone: what
// they need to put a fault on the wire, and what no handler has to do.
package faults

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/inner"
)

// FirstViolations is [fault.Violations] for the first of total violations, of which the others
// are only counted.
func FirstViolations(total int, violations ...fault.Violation) *fault.Error {
	return inner.FirstViolations(total, violations).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}

// ScrubbedBy returns a fault whose public texts have passed through the scrubber, e itself when
// that changes nothing: details, parameters and their keys, and the names that a caller sent or
// has to send back. Kind, effect and reference are made by the server and stay as they are. A
// recovery step keeps its tool and its parameters: only the part of them that the scrubber hides
// is replaced.
func ScrubbedBy(e *fault.Error, scrubber func(string) string) *fault.Error {
	return inner.ScrubbedBy(e, scrubber).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}

// StepsText returns the lines that list steps in a text for a model, beginning with "Next: 1. ",
// without a line break before or after, and "" for no steps.
func StepsText(steps []fault.Step) string { return inner.StepsText(steps) }

// Refuses reports whether a handler that returns e says that it has done nothing: by the function
// that made it, or by its kind.
func Refuses(e *fault.Error) bool { return inner.Refuses(e) }

// Derived returns a copy of a fault that no handler says of its whole call: it is a part of what is known,
// or was made of an error. Its kind does not say that nothing was done. Of a second try it keeps the
// wait, unless it names the effect itself.
func Derived(e *fault.Error) *fault.Error {
	return inner.Derived(e).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}

// Besides returns what the text of a fault says besides its message, without the reference and without
// a line break before or after. It is for words that are shown already, below which it stands.
func Besides(e *fault.Error) string { return inner.Besides(e) }

// Steps returns how many recovery steps a fault has. Unlike [fault.Error.Data] it copies nothing.
func Steps(e *fault.Error) int { return inner.Steps(e) }

// Correction returns the corrected call of a fault, which has no arguments if there is none. Nobody may
// change them. words.AsSent stands in them for each value that is withheld.
func Correction(e *fault.Error) (tool string, arguments map[string]any) { return inner.Correction(e) }

// Tries returns the corrected call as the text shows it behind "Try: ". It is empty if the text has none.
func Tries(e *fault.Error) string { return inner.Tries(e) }

// HidingBy returns a copy whose corrected call has passed through the scrubber. What that hides is
// withheld.
func HidingBy(e *fault.Error, scrubber func(string) string) *fault.Error {
	return inner.HidingBy(e, scrubber).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}

// Corrected returns a copy with a corrected call, which is none without arguments. They are decoded JSON
// and belong to the copy then. If words.AsSent stands in them, only the text has the call.
func Corrected(e *fault.Error, tool string, arguments map[string]any) *fault.Error {
	return inner.Corrected(e, tool, arguments).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}

// WithReference returns a copy that carries a correlation ID.
func WithReference(e *fault.Error, id string) *fault.Error {
	return inner.WithReference(e, id).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}
