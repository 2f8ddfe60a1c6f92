package table_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/table"
)

func TestBrief(t *testing.T) {
	var b table.Brief[int, string]
	get := func(key int, now time.Duration) string {
		v, _ := b.Get(key, now)
		return v
	}
	start := -time.Hour // any moment
	require.Empty(t, get(1, start))
	b.Put(1, "a", start)
	require.Equal(t, "a", get(1, start+table.Lasts-1))
	require.Empty(t, get(1, start+table.Lasts), "it is over")
	require.Equal(t, 1, b.Len())

	b.Put(1, "c", start+2)
	b.Put(1, "b", start+1)
	require.Equal(t, "c", get(1, start+table.Lasts), "a later look counts, whichever was answered first")

	b.Put(2, "x", start+3*table.Lasts)
	require.Equal(t, 1, b.Len(), "what is over goes")
	for i := range 3 * table.MaxBrief {
		b.Put(i, "y", start+3*table.Lasts)
		require.Equal(t, "y", get(i, start+3*table.Lasts))
	}
	require.Equal(t, table.MaxBrief, b.Len(), "it is bounded")
}
