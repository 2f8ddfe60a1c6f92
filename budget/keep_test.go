package budget

import (
	"crypto/rand"
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestAPageCostsItsOwnSize: what is left for later pages is not copied for each.
func TestAPageCostsItsOwnSize(t *testing.T) {
	const n = 100_000
	items := &entry{LeftOut: LeftOut{Unit: unitItems, Total: n}, list: parse([]byte("[" + strings.Repeat(`{"id":1},`, n-1) + `{"id":1}]`))}
	items.list.open()
	items.list.keep(0)
	items.take()
	large := &entry{LeftOut: LeftOut{Unit: unitItems, Total: 1}, list: parse([]byte(`["` + strings.Repeat("x", n) + `"]`))}
	large.list.open()
	large.list.keep(0)
	large.take()
	blocks := &entry{LeftOut: LeftOut{Unit: unitBlocks, Total: n}}
	for range n {
		blocks.run.blocks = append(blocks.run.blocks, &mcp.TextContent{Text: "a text"})
	}
	text := &entry{LeftOut: LeftOut{Unit: unitBytes, Total: n}, run: run{blocks: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", n)}}}}
	for name, c := range map[string]struct {
		e       *entry
		at, off int
	}{"items": {items, 1, 0}, "a large item": {large, 0, 1}, "blocks": {blocks, 1, 0}, "the rest of a block": {blocks, 1, 3}, "a text": {text, 0, 1}} {
		require.True(t, c.e.has(c.at, c.off))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		page := new(budget).page(c.e, c.at, c.off, 1000)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50_000), name)
		require.Greater(t, blocksBytes(page), 900, name)
	}
}

// TestPagesOfItems have at most so many bytes, and go on where the last one ended.
func TestPagesOfItems(t *testing.T) {
	n := parse([]byte(`["` + strings.Repeat("a", 20) + `","` + strings.Repeat("b", 20) + `","` + strings.Repeat("ö", 50) + `",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]`))
	n.open()
	n.keep(0)
	e := &entry{LeftOut: LeftOut{Unit: unitItems, Total: len(n.ends)}, list: n}
	e.take()
	for room := 2; room < 200; room++ {
		for at := range e.ends {
			shown, _, next, off := e.pageOfItems(at, 0, room)
			text, _ := textOf(shown[0])
			require.LessOrEqual(t, len(text), room)
			if off == 0 && text[0] == '[' {
				require.True(t, json.Valid([]byte(text)))
				require.True(t, next == len(e.ends) || len(text)+1+len(e.items(next, next+1)) > room, "one more would fit")
			}
		}
	}
	shown, note, next, off := e.pageOfItems(0, 3, 100)
	require.Equal(t, strings.Repeat("a", 18)+`"`, shown[0].(*mcp.TextContent).Text, "the rest of it, although all of it would fit")
	require.Equal(t, "Bytes 4 to 22 of 22 of the JSON text of item 1 of 22.", note)
	require.Equal(t, 1, next)
	require.Zero(t, off)
	for off, texts := 0, ""; ; {
		shown, _, next, off = e.pageOfItems(2, off, 10)
		text := shown[0].(*mcp.TextContent).Text
		require.True(t, utf8.ValidString(text))
		if texts += text; next == 3 {
			require.Equal(t, `"`+strings.Repeat("ö", 50)+`"`, texts)
			break
		}
	}
}

// TestAccounts are forgotten with what they have.
func TestAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(100_000, 1_000)
		one := func(owner string, bytes int) *entry {
			return &entry{LeftOut: LeftOut{Cursor: rand.Text()}, owner: owner, run: run{blocks: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", bytes-512-64)}}}}
		}
		first, second := one("ada", 600), one("ada", 600)
		k.judge("ada", []*entry{first})
		k.judge("ada", []*entry{second})
		require.True(t, k.put("ada", []*entry{first}))
		require.False(t, k.put("ada", []*entry{second}), "the first one took the room")
		k.judge("ada", []*entry{second})
		require.Equal(t, later, second.verdict)
		require.Equal(t, keepFor, time.Until(second.free))
		for i := range 1000 {
			e := one(strconv.Itoa(i), 900)
			k.judge(e.owner, []*entry{e})
			require.True(t, k.put(e.owner, []*entry{e}))
			require.LessOrEqual(t, k.bytes, 100_000)
			require.Len(t, k.owners, len(k.queue))
		}
		require.Nil(t, k.get(first.Cursor, "ada"), "the oldest")
		time.Sleep(keepFor)
		k.judge("ada", nil)
		require.Empty(t, k.owners)
		require.Empty(t, k.entries)
		require.Zero(t, k.bytes)
	})
}

// TestNodesAreFew: what is too small to be cut is no node, and neither is what stands too deep or
// is too many.
func TestNodesAreFew(t *testing.T) {
	count := func(raw string) (nodes int) {
		n := parse([]byte(raw))
		n.largest(nil, func(*node) bool { nodes++; return false })
		require.LessOrEqual(t, nodes, 1+len(raw)/nodeBytes)
		return nodes
	}
	require.Equal(t, 1, count("["+strings.Repeat(`{"a":[1,2,3]},`, 1000)+"1]"))
	require.Equal(t, 1001, count("["+strings.Repeat(`"`+strings.Repeat("x", 64)+`",`, 1000)+"1]"))
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	many := "[" + strings.Repeat(deep+",", 1000) + "1]"
	require.Equal(t, 1+len(many)/nodeBytes, count(many), "each could have nine")
	require.Equal(t, 1+maxDepth, count(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)))
}

// TestACutMakesATextShorter: some characters are longer when they are escaped, and then there is no
// room to say that something is left out.
func TestACutMakesATextShorter(t *testing.T) {
	n := parse([]byte(`"` + strings.Repeat("\u2028", 55) + `"`))
	n.open()
	n.cutText(100, func() bool { return true })
	require.NotNil(t, n.short)
	require.Less(t, len(n.short), len(n.raw))
	require.Equal(t, len(n.short), n.size)
}

// TestLongNames are shown with their beginnings, and not read.
func TestLongNames(t *testing.T) {
	n := parse([]byte(`{"` + strings.Repeat("n", 5000) + `":{"short\u0041":[` + strings.Repeat("1,", 100) + `1]}}`))
	n.open()
	require.Less(t, len(nameOf(n.kids[0].name)), 300)
	require.Equal(t, strings.Repeat("n", maxPath)+" ...", n.kids[0].path())
	n.kids[0].open()
	require.Equal(t, "shortA", nameOf(n.kids[0].kids[0].name))
}

// TestAnEntryHoldsNothingElse than what was left out.
func TestAnEntryHoldsNothingElse(t *testing.T) {
	n := parse([]byte("[" + strings.Repeat("123456789,", 1000) + "0]"))
	n.open()
	n.keep(990)
	e := &entry{LeftOut: LeftOut{Unit: unitItems, Total: 1001}, list: n}
	e.weigh()
	require.Less(t, e.bytes, 1000)
	e.take()
	require.Less(t, cap(e.raw), 200)
	require.Less(t, cap(e.ends), 20)
	require.Nil(t, e.list)
}

func TestBounded(t *testing.T) {
	asked := 0
	allows := bounded(10, func([]byte) bool { asked++; return true })
	require.True(t, allows(make([]byte, 5)))
	require.True(t, allows(make([]byte, 5)))
	require.False(t, allows(make([]byte, 1)))
	require.False(t, allows(nil))
	require.Equal(t, 2, asked)
}

// TestCharacters cuts none, and looks for one no further back than it can be.
func TestCharacters(t *testing.T) {
	for i, want := range []int{0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10} {
		require.Equal(t, want, characters("aö€😀b", i), i)
	}
	broken := "aa" + strings.Repeat("\x80", 98)
	require.Equal(t, 50, characters(broken, 50))
}
