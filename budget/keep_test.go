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
	e := &entry{LeftOut: LeftOut{Unit: unitItems, Total: 100_000}}
	for range e.Total {
		e.blocks = append(e.blocks, &mcp.TextContent{Text: `{"id":1}`})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	new(budget).page(e, 1, 0, 1000)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100_000))
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
