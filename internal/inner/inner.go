// Package inner has what package fault offers to the other packages of mcpchain and to nobody
// else. Package fault sets it. Package internal/faults, which may import fault, gives it types.
package inner

// Functions of package fault, see package internal/faults.
var Besides, Corrected, Correction, Derived, FirstViolations, HidingBy, Refuses, ScrubbedBy, StepsText, Tries, WithReference any
