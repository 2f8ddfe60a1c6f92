package kinds_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/kinds"
)

func TestEveryRowIsWhole(t *testing.T) {
	n := 0
	for kind, row := range kinds.All {
		n++
		require.True(t, kinds.Known(kind))
		require.Equal(t, row, kinds.Of(kind))
		require.NotEmpty(t, row.Label, kind)
		require.NotEmpty(t, row.Message, kind)
		require.False(t, strings.HasSuffix(row.Message, "."), "%s: the sentence is continued", kind)
		require.True(t, row.Suggestion == "" || strings.HasSuffix(row.Suggestion, "."), kind)
		require.NotEmpty(t, row.Outcome, kind)
		require.NotZero(t, row.Legacy, kind)
		// The 2026-07-28 specification closes this range, but for its own codes.
		if row.Code != -32602 && row.Code != -32603 {
			require.False(t, row.Code >= -32768 && row.Code <= -32000, kind)
		}
		require.Contains(t, []string{"", "none", "unknown"}, row.Effect, kind)
		require.Contains(t, []string{"", "caller", "server", "upstream"}, row.Party, kind)
		require.False(t, row.Final && row.Retry != kinds.No, "%s: what is final is not tried again", kind)
	}
	require.Equal(t, 17, n)
}

func TestOpenKinds(t *testing.T) {
	require.False(t, kinds.Known("deployment_in_progress"))
	row := kinds.Of("deployment_in_progress")
	require.Empty(t, row.Label)
	require.Equal(t, int64(409), row.Code, "no internal error")
	require.Equal(t, "tool_error", row.Outcome)
}
