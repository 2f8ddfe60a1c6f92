package fault

import "github.com/mcpchain/mcpchain/internal/inner"

func init() { //nolint:gochecknoinits // the packages above cannot call unexported functions
	inner.FirstViolations = func(total int, violations any) error {
		return firstViolations(total, violations.([]Violation)...) //nolint:forcetypeassert // of internal/faults
	}
	inner.ScrubbedBy = func(e error, scrubber func(string) string) error {
		return e.(*Error).scrubbedBy(scrubber) //nolint:forcetypeassert // of internal/faults
	}
	inner.StepsText = func(steps any) string {
		return listed(steps.([]Step)) //nolint:forcetypeassert // of internal/faults
	}
	inner.Refuses = func(e error) bool {
		return e.(*Error).refuses() //nolint:forcetypeassert // of internal/faults
	}
	inner.Derived = func(e error) error {
		return e.(*Error).asDerived() //nolint:forcetypeassert // of internal/faults
	}
	inner.Besides = func(e error) string {
		f := e.(*Error) //nolint:forcetypeassert // of internal/faults
		return f.public().besides(f.tries())
	}
	inner.Steps = func(e error) int {
		if f := e.(*Error); f != nil { //nolint:forcetypeassert // of internal/faults
			return len(f.data.RecoverySteps)
		}
		return 0
	}
	inner.Correction = func(e error) (string, map[string]any) {
		if f := e.(*Error); f != nil { //nolint:forcetypeassert // of internal/faults
			c := f.correction()
			return c.tool, c.arguments
		}
		return "", nil
	}
	inner.Tries = func(e error) string {
		if f := e.(*Error); f != nil { //nolint:forcetypeassert // of internal/faults
			return f.tries()
		}
		return ""
	}
	inner.HidingBy = func(e error, scrubber func(string) string) error {
		return e.(*Error).hidingBy(scrubber) //nolint:forcetypeassert // of internal/faults
	}
	inner.Corrected = func(e error, tool string, arguments map[string]any) error {
		return e.(*Error).corrected(tool, arguments) //nolint:forcetypeassert // of internal/faults
	}
	inner.WithReference = func(e error, id string) error {
		return e.(*Error).withReference(id) //nolint:forcetypeassert // of internal/faults
	}
}
