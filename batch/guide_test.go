package batch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
)

// TestWhatMustBeChecked: an item that may be at work still is to be checked, also when the
// failure says that sending it again does not help.
func TestWhatMustBeChecked(t *testing.T) {
	late := fault.Timeout("it", 0).WithRetry(fault.Retry{Reason: "it may still take effect", Effect: fault.EffectUnknown})
	fn := func(context.Context, int) (int, error) { return 0, late }
	r := batch.Run(t.Context(), []int{7}, fn, nil)
	require.Equal(t, []any{7}, r.CheckItems())
	require.Empty(t, r.RetryItems())
	require.False(t, recoverable(r.Items[0]))
	require.Contains(t, summary(r).Suggestion, "Check whether each item in 'check_items' took effect")
	require.NotContains(t, summary(r).Suggestion, "retry_items")
}
