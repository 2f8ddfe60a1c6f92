package table_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/table"
)

// A text is as large as it is long, as far as a Brief knows.
type text string

func (t text) Size() int { return len(t) }

func TestBrief(t *testing.T) {
	var b table.Brief[int, text]
	get := func(key int, now time.Duration) text {
		v, _ := b.Get(key, now)
		return v
	}
	start := -time.Hour // any moment
	require.Empty(t, get(1, start))
	b.Put(1, "a", start)
	require.Equal(t, text("a"), get(1, start+table.Lasts-1))
	require.Empty(t, get(1, start+table.Lasts), "it is over")
	require.Equal(t, 1, b.Len())

	b.Put(1, "c", start+2)
	b.Put(1, "b", start+1)
	require.Equal(t, text("c"), get(1, start+table.Lasts), "a later look counts, whichever was answered first")

	b.Put(2, "x", start+3*table.Lasts)
	require.Equal(t, 1, b.Len(), "what is over goes")
	for i := range 3 * table.MaxBrief {
		b.Put(i, "y", start+3*table.Lasts)
		require.Equal(t, text("y"), get(i, start+3*table.Lasts))
	}
	require.Equal(t, table.MaxBrief, b.Len(), "it is bounded")
	b.Put(3*table.MaxBrief-1, "z", start+3*table.Lasts)
	require.Equal(t, table.MaxBrief, b.Len(), "what is there needs no room")
}

// TestBriefForgets: also what was asked for before and is put in later.
func TestBriefForgets(t *testing.T) {
	var b table.Brief[int, text]
	start := -time.Hour
	b.Put(1, "a", start)
	b.Forget(start + 1)
	_, ok := b.Get(1, start+1)
	require.False(t, ok)
	b.Put(1, "b", start+1)
	_, ok = b.Get(1, start+1)
	require.False(t, ok)
	b.Put(1, "c", start+2)
	v, ok := b.Get(1, start+2)
	require.True(t, ok)
	require.Equal(t, text("c"), v)
}

// TestBriefIsBoundedBySize: what several entries have counts once, and what none has any more does not.
func TestBriefIsBoundedBySize(t *testing.T) {
	quarter := func(c byte) text { return text(bytes.Repeat([]byte{c}, table.MaxSize/4)) }
	var b table.Brief[int, text]
	for i := range 400 {
		b.Put(i, quarter(byte(i%4)), 0)
	}
	require.Equal(t, 400, b.Len())
	b.Put(400, quarter('e'), 0)
	require.LessOrEqual(t, b.Len(), 301, "the last of those that have one of the four went, too")
	v, ok := b.Get(400, 0)
	require.True(t, ok)
	require.Equal(t, quarter('e'), v)

	for i := range 10_000 { // one after the other under one key
		b.Put(400, text(strconv.Itoa(i)), 0)
	}
	require.Greater(t, b.Len(), 1, "what is replaced takes no room")
	for i := range 100 {
		b.Put(500+i, text(strings.Repeat("f", table.MaxSize))+text(rune('a'+i)), 0)
		require.Equal(t, 1, b.Len(), "what is too large is there alone")
	}
}
