package table_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/table"
)

// TestQuota: which bound refuses whom, that a refusal counts nothing, and that callers without anything are forgotten.
func TestQuota(t *testing.T) {
	q := &table.Quota{Each: 2, All: 3}
	require.Nil(t, q.Take("a", 2))
	each := q.Take("a", 1)
	require.Equal(t, &table.ExceededError{Each: true, Most: 2}, each)
	require.EqualError(t, each, "each caller may hold 2")
	require.Nil(t, q.Take("b", 1))
	all := q.Take("c", 1)
	require.Equal(t, &table.ExceededError{Most: 3}, all)
	require.EqualError(t, all, "all callers together may hold 3")
	require.Equal(t, 2, q.Len())
	q.Give("a", 2)
	require.Equal(t, 1, q.Len(), "who holds nothing is forgotten")
	require.Nil(t, q.Take("", 2), "of whom nobody knows the bound of all counts alone")
	require.Equal(t, "all callers together", q.Take("", 1).Whose())
	q.Put("b", 5)
	own, total := q.Held("b")
	require.Equal(t, []int64{6, 8}, []int64{own, total}, "what is there is counted above a bound")
}

// TestNoQuota: bounds that are not positive are none.
func TestNoQuota(t *testing.T) {
	q := &table.Quota{Each: -1}
	for range 10 {
		require.Nil(t, q.Take("a", 1<<40))
	}
}

// TestQuotaOfMany: callers at the same time hold no more than the bounds.
func TestQuotaOfMany(t *testing.T) {
	q := &table.Quota{Each: 10, All: 25}
	var taken sync.Map
	var all sync.WaitGroup
	for _, caller := range []string{"a", "b", "c", "d"} {
		for i := range 50 {
			all.Go(func() {
				if q.Take(caller, 1) == nil {
					taken.Store([2]any{caller, i}, true)
				}
			})
		}
	}
	all.Wait()
	n := 0
	taken.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 25, n)
	_, total := q.Held("")
	require.EqualValues(t, 25, total)
}
