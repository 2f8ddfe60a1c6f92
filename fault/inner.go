package fault

import "github.com/mcpchain/mcpchain/internal/inner"

func init() { //nolint:gochecknoinits // the packages above cannot call unexported functions
	inner.Besides = (*Error).besides
	inner.Corrected = (*Error).corrected
	inner.Correction = func(e *Error) (tool string, arguments map[string]any) {
		c := e.correction()
		return c.tool, c.arguments
	}
	inner.Derived = (*Error).asDerived
	inner.FirstViolations = firstViolations
	inner.HidingBy = (*Error).hidingBy
	inner.Refuses = (*Error).refuses
	inner.ScrubbedBy = (*Error).scrubbedBy
	inner.StepsText = listed
	inner.Tries = (*Error).tries
	inner.WithReference = (*Error).withReference
}
