package budget

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/table"
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

// TestEachToolIsToldOnce lists more tools than are remembered.
func TestEachToolIsToldOnce(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	b := &budget{Options: Options{Logger: log.Logger()}}
	all := make([]*mcp.Tool, table.MaxNames+1000)
	for i := range all {
		all[i] = &mcp.Tool{Name: fmt.Sprint("tool ", i), OutputSchema: map[string]any{"type": "string"}}
	}
	for range 2 {
		for _, tool := range all {
			b.check(t.Context(), tool)
		}
	}
	require.Equal(t, table.MaxNames, strings.Count(log.String(), "no array"))
}
