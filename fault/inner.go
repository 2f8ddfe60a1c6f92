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
	inner.WithReference = func(e error, id string) error {
		return e.(*Error).withReference(id) //nolint:forcetypeassert // of internal/faults
	}
}
