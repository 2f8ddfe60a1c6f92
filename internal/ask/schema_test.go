package ask

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestOutputsAreReadOnce, until the tool is another one, and for the tools that there are.
func TestOutputsAreReadOnce(t *testing.T) {
	var k Outputs
	read := 0
	of := func(tool *mcp.Tool) bool {
		return k.Of(tool, func(tool *mcp.Tool) func([]byte) bool { read++; return outputOf(tool) })([]byte(`{"a":1}`))
	}
	tool := &mcp.Tool{Name: "it", OutputSchema: map[string]any{"required": []any{"a"}}}
	require.True(t, of(tool))
	require.True(t, of(tool))
	require.Equal(t, 1, read)
	require.False(t, of(&mcp.Tool{Name: "it", OutputSchema: map[string]any{"required": []any{"b"}}}))
	require.Equal(t, 2, read)
	for i := range 100 {
		of(&mcp.Tool{Name: fmt.Sprint(i)})
	}
	require.Eventually(t, func() bool { runtime.GC(); return k.Len() <= 1 }, 10*time.Second, time.Millisecond, "tools that are gone leave nothing")
	runtime.KeepAlive(tool)
}
