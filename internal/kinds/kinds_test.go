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
		require.Same(t, row, kinds.Of(kind))
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

// TestCodes holds every code against the kinds that it is sent for and the kind that it means where it arrives.
func TestCodes(t *testing.T) {
	sent := map[int64][]string{}
	arrives := map[int64]string{}
	for kind, row := range kinds.All {
		sent[row.Code] = append(sent[row.Code], kind)
		for _, code := range row.Arrives {
			require.NotContains(t, arrives, code, "a code means one kind")
			arrives[code] = kind
			require.Equal(t, kind, kinds.OfCode(code))
			require.NotEqual(t, int64(kinds.Rejected), code)
		}
		for _, again := range []bool{false, true} {
			require.Equal(t, row.Code, kinds.CodeOf(kind, false, again))
			require.Equal(t, row.Legacy, kinds.CodeOf(kind, true, again))
		}
	}
	for code, of := range sent { // what another mcpchain sends is understood without its data, as one of the kinds that it may be
		if code == 508 {
			require.Empty(t, kinds.OfCode(code), "a refusal of ours, which nobody else sends")
			continue
		}
		require.Contains(t, of, kinds.OfCode(code), code)
	}
	require.EqualValues(t, 409, kinds.CodeOf("my_kind", false, false))
	require.EqualValues(t, 503, kinds.CodeOf("my_kind", false, true))
	require.EqualValues(t, 409, kinds.CodeOf("my_kind", true, true))
	require.Empty(t, kinds.OfCode(-32000))
	for code, kind := range arrives {
		require.Equal(t, code <= -32600 && code != -32602 && code != -32603, kinds.Unsupported(code), "%d %s", code, kind)
		require.Equal(t, code < -32010 && code > -32100, kinds.Steers(code), "%d %s", code, kind)
	}
}
