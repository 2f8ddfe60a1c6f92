package table_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/table"
)

func TestNames(t *testing.T) {
	var n table.Names[int]
	_, ok := n.Get("0")
	require.False(t, ok)
	for i := range table.MaxNames {
		require.True(t, n.Add(strconv.Itoa(i), i))
	}
	require.False(t, n.Add("new", 1))
	require.True(t, n.Add("0", 7), "it has its place already")
	v, ok := n.Get("0")
	require.True(t, ok)
	require.Equal(t, 7, v)
	n.Put("new", 1)
	require.Equal(t, table.MaxNames, n.Len())
	_, ok = n.Get("new")
	require.True(t, ok)
}

func TestWeak(t *testing.T) {
	var w table.Weak[[64]byte, int]
	keys := make([]*[64]byte, 100)
	for i := range keys {
		keys[i] = new([64]byte)
		w.Set(keys[i], i)
		w.Set(keys[i], -i)
	}
	v, ok := w.Get(keys[7])
	require.True(t, ok)
	require.Equal(t, -7, v)
	_, ok = w.Get(new([64]byte))
	require.False(t, ok)
	require.Equal(t, len(keys), w.Len())
	runtime.KeepAlive(keys)
	keys = nil //nolint:ineffassign,wastedassign // lets them go
	require.Eventually(t, func() bool { runtime.GC(); return w.Len() <= 1 }, 10*time.Second, time.Millisecond)
}
