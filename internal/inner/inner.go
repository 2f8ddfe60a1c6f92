// Package inner has what package fault offers to the other packages of mcpchain and to nobody
// else. Package fault sets it; package internal/faults, which may import fault, gives it types.
package inner

// What stands for a fault is a *fault.Error.
var (
	// FirstViolations takes a []fault.Violation.
	FirstViolations func(total int, violations any) error
	// ScrubbedBy returns what it got when that changes nothing.
	ScrubbedBy func(e error, scrubber func(string) string) error
	// StepsText takes a []fault.Step.
	StepsText func(steps any) string
	// Refuses reports what the kind of the fault says.
	Refuses func(e error) bool
	// Derived returns a copy.
	Derived func(e error) error
	// Besides returns what the text says besides the message.
	Besides func(e error) string
	// Steps returns how many recovery steps a fault has.
	Steps func(e error) int
	// Correction returns what belongs to the fault.
	Correction func(e error) (tool string, arguments map[string]any)
	// Tries returns a line.
	Tries func(e error) string
	// HidingBy returns a copy.
	HidingBy func(e error, scrubber func(string) string) error
	// Corrected returns a copy.
	Corrected func(e error, tool string, arguments map[string]any) error
	// WithReference returns a copy.
	WithReference func(e error, id string) error
)
