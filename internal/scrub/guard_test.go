package scrub_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// TestFunctionsThatPanic: nothing of a value leaves if a function of the program's panics on it.
func TestFunctionsThatPanic(t *testing.T) {
	const canary = "canary"
	text := scrub.Cleaner{Text: func(string) string { panic(canary) }}
	public := scrub.Cleaner{Public: func(error) any { panic(canary) }}
	for _, v := range []any{canary, []any{1, canary}, map[string]any{"a": canary}} {
		require.Equal(t, scrub.Unwritable, text.Value(v))
	}
	require.Equal(t, scrub.Unwritable, public.Value(map[string]any{"a": errors.New(canary)}))
}
