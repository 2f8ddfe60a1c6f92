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
		n.Put(strconv.Itoa(i), i)
	}
	n.Put("0", 7)
	require.Equal(t, table.MaxNames, n.Len(), "it has its place already")
	v, ok := n.Get("0")
	require.True(t, ok)
	require.Equal(t, 7, v)
	require.False(t, n.Add("newer", 1), "there is no room")
	n.Put("new", 1)
	require.Equal(t, table.MaxNames, n.Len())
	_, ok = n.Get("new")
	require.True(t, ok)

	var few table.Names[int]
	require.True(t, few.Add("a", 1))
	require.False(t, few.Add("a", 2), "it has a value")
	v, _ = few.Get("a")
	require.Equal(t, 1, v)
}

func TestWeak(t *testing.T) {
	var w table.Weak[[64]byte, int]
	keys := make([]*[64]byte, 100)
	for i := range keys {
		keys[i] = new([64]byte)
		w.Set(keys[i], i)
		w.Set(keys[i], -i)
	}
	require.Equal(t, -7, w.Of(keys[7], func(*[64]byte) int { panic("it is known") }))
	own := new([64]byte)
	require.Equal(t, 1, w.Of(own, func(*[64]byte) int { return 1 }))
	v, ok := w.Get(own)
	require.True(t, ok)
	require.Equal(t, 1, v)
	v, ok = w.Get(keys[7])
	require.True(t, ok)
	require.Equal(t, -7, v)
	_, ok = w.Get(new([64]byte))
	require.False(t, ok)
	require.Equal(t, len(keys)+1, w.Len())
	runtime.KeepAlive(own)
	runtime.KeepAlive(keys)
	keys = nil //nolint:ineffassign,wastedassign // lets them go
	require.Eventually(t, func() bool { runtime.GC(); return w.Len() <= 2 }, 10*time.Second, time.Millisecond)
}
