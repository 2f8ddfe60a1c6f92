package classify_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// TestAJoinCostsWhatItsPartsCost: four times the errors are at most four times the work, whatever they are.
func TestAJoinCostsWhatItsPartsCost(t *testing.T) {
	for name, part := range map[string]func(i int) error{
		"unknown":  func(i int) error { return fmt.Errorf("item %d: the disk is on fire", i) },
		"a status": func(i int) error { return fmt.Errorf("item %d: %w", i, statusError(503)) },
		"faults":   func(i int) error { return fault.NotFound("user", fmt.Sprint(i)) },
	} {
		allocs := func(n int) float64 {
			all := make([]error, n)
			for i := range all {
				all[i] = part(i)
			}
			err := errors.Join(all...)
			return testing.AllocsPerRun(20, func() { classify.Of(err, classify.Options{}) })
		}
		require.LessOrEqual(t, allocs(10), 60., name)
		require.LessOrEqual(t, allocs(40), 4*allocs(10)+4, name)
	}
}
