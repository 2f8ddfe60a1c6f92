// Package faults has what package fault offers to the other packages of mcpchain alone: what
// they need to put a fault on the wire, and what no handler has to do.
package faults

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/inner"
)

var (
	// Besides returns what the text of a fault says besides its message and its reference. It has no
	// line break before or after, and stands below words that are shown already.
	Besides = inner.Besides.(func(e *fault.Error) string)

	// Corrected returns a copy with a corrected call, or without any if there are no arguments. The
	// arguments are decoded JSON and belong to the copy. If words.AsSent stands in them, only the
	// text has the call.
	Corrected = inner.Corrected.(func(e *fault.Error, tool string, arguments map[string]any) *fault.Error)

	// Correction returns the corrected call of a fault. Without arguments there is no such call. The
	// arguments must not be changed. words.AsSent stands in them for each value that is withheld.
	Correction = inner.Correction.(func(e *fault.Error) (tool string, arguments map[string]any))

	// Derived returns a copy that was made of an error, or is only a part of what is known of a call.
	// Its kind does not say that nothing was done. If it names no effect, it keeps a stated wait and
	// a "no", and does not say to call again.
	Derived = inner.Derived.(func(e *fault.Error) *fault.Error)

	// FirstViolations is [fault.Violations] for the first of total violations. It only counts the others.
	FirstViolations = inner.FirstViolations.(func(total int, violations ...fault.Violation) *fault.Error)

	// HidingBy returns a copy whose corrected call has passed through the scrubber. What the scrubber
	// hides is withheld.
	HidingBy = inner.HidingBy.(func(e *fault.Error, scrubber func(string) string) *fault.Error)

	// Refuses reports whether a handler that returns e says that it has done nothing: by the function
	// that made e, or by its kind.
	Refuses = inner.Refuses.(func(e *fault.Error) bool)

	// ScrubbedBy returns a fault whose public texts have passed through the scrubber, or e itself if
	// that changes nothing. The texts include details, parameters and their keys, and the names that a
	// caller sent or has to send back. Kind, effect and reference are made by the server and stay. A
	// recovery step keeps its tool and its parameters: only the part of them that the scrubber hides
	// is replaced.
	ScrubbedBy = inner.ScrubbedBy.(func(e *fault.Error, scrubber func(string) string) *fault.Error)

	// StepsText returns the lines that list steps in a text for a model, beginning with "Next: 1. ",
	// without a line break before or after. It returns "" for no steps.
	StepsText = inner.StepsText.(func(steps []fault.Step) string)

	// Tries returns the corrected call as the text shows it behind "Try: ". It is empty if the text has none.
	Tries = inner.Tries.(func(e *fault.Error) string)

	// WithReference returns a copy that carries a correlation ID.
	WithReference = inner.WithReference.(func(e *fault.Error, id string) *fault.Error)
)
