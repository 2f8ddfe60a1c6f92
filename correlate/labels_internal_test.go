package correlate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/table"
)

func TestNamesOfLabelsAreBounded(t *testing.T) {
	var r recorder
	for i := range 10 * table.MaxNames {
		r.knows(fmt.Sprint(i), true)
	}
	require.Equal(t, table.MaxNames, r.names.Len())
	require.False(t, r.knows("new", false))
	require.True(t, r.knows("new", true))
	require.True(t, r.knows("new", false))
	require.False(t, (&recorder{}).knows(strings.Repeat("x", call.MaxName+1), true))
}

func TestValidID(t *testing.T) {
	require.True(t, validID("aZ09-_.:/+=@"))
	for _, id := range []string{"", " ", "a b", "a\n", "ä", "a,b", `"`, "a\x00", strings.Repeat("a", maxID+1), "a;b", "{a}", "%0a", "<a>", "a\\b", "'"} {
		require.False(t, validID(id), id)
	}
}
