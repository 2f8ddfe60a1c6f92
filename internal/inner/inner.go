// Package inner has the functions that package fault offers to the other packages of mcpchain alone.
// Package fault sets them. Package internal/faults, which may import fault, gives them types.
package inner

// Functions of package fault, see package internal/faults.
var Besides, Corrected, Correction, Derived, FirstViolations, HidingBy, Refuses, ScrubbedBy, StepsText, Tries, WithReference any
