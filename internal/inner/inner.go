// Package inner has the functions that package fault offers to the other packages of mcpchain alone.
// Package fault sets them. Package internal/faults, which may import fault, gives them types.
package inner

// Functions of package fault, see package internal/faults.
var (
	Besides         any
	Corrected       any
	Correction      any
	Derived         any
	FirstViolations any
	HidingBy        any
	Refuses         any
	ScrubbedBy      any
	StepsText       any
	Tries           any
	WithReference   any
)
