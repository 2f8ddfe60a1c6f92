package replay

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"
)

// TestLargeAnswersAreNotCached: the cache holds 256 answers of 16 KiB at most.
func TestLargeAnswersAreNotCached(t *testing.T) {
	for size, cached := range map[int]bool{100: true, maxCached + 1: false} {
		k := newKeeper("test", nil)
		a := &attempt{keeper: k, name: "n", c: new(call.Call), req: &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}}
		raw := append(append([]byte(`{"content":[{"type":"text","text":"`), make([]byte, 0, size)...), []byte(`"}]}`)...)
		for len(raw) < size {
			raw = append(raw, ' ')
		}
		_, err := a.replayed(record{Answer: &answers{Result: raw}}, 1)
		require.NoError(t, err)
		require.Equal(t, cached, k.recent.find("n", 1, "", nil) != nil, size)
	}
}
