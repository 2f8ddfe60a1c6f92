package call_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
)

func scrubbed(s string) string {
	res, _ := call.Scrubbed(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}})
	return text(res)
}

// TestWhatBeginsAsJSONAndIsNone has lines each of which could begin a JSON text that goes on to the end.
func TestWhatBeginsAsJSONAndIsNone(t *testing.T) {
	// Only as JSON it shows whose value this is.
	secret := `{"password":{"value":"` + harness.Canary + `"}}`
	require.NotContains(t, scrubbed(strings.Repeat("[\n", 200)+"done\n"+secret+"\nend"), harness.Canary, "some lines hide nothing")

	used := func(lines int) uint64 {
		s := strings.Repeat("[\n", lines)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.Equal(t, s, scrubbed(s))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	used(10)
	require.Less(t, used(10_000), uint64(8<<20), "it is read a few times, and not once for each line")
	require.Less(t, used(40_000), uint64(32<<20))
}
