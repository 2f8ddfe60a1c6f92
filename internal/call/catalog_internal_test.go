package call

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/table"
)

func TestACatalogIsBounded(t *testing.T) {
	var k catalog
	for i := range 10 * table.MaxNames {
		k.add(fmt.Sprint(i), entry{})
	}
	require.Equal(t, table.MaxNames, k.entries.Len())
	require.False(t, k.add("new", entry{}))
	require.True(t, k.add("1", entry{}))
	require.False(t, (&catalog{}).add(strings.Repeat("x", maxName+1), entry{}))
}

func TestValidID(t *testing.T) {
	require.True(t, ValidID("aZ09-_.:/+=@"))
	for _, id := range []string{"", " ", "a b", "a\n", "ä", "a,b", `"`, "a\x00", strings.Repeat("a", maxID+1), "a;b", "{a}", "%0a", "<a>", "a\\b", "'"} {
		require.False(t, ValidID(id), id)
	}
}
