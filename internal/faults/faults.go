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

// Besides returns what the text of a fault says besides its message, without the reference and without
// a line break before or after. It is for words that are shown already, below which it stands.
func Besides(e *fault.Error) string { return inner.Besides(e) }

// Steps returns how many recovery steps a fault has. Unlike [fault.Error.Data] it copies nothing.
func Steps(e *fault.Error) int { return inner.Steps(e) }

// WithReference returns a copy that carries a correlation ID.
func WithReference(e *fault.Error, id string) *fault.Error {
	return inner.WithReference(e, id).(*fault.Error) //nolint:forcetypeassert,errorlint // see inner
}
