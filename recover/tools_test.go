package recover

import (
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestCheckedToolsAreForgotten sees the table shrink when the tools are gone.
func TestCheckedToolsAreForgotten(t *testing.T) {
	size := checkedTools.Len
	before := size()
	tools := make([]*mcp.Tool, 1000)
	for i := range tools {
		tools[i] = &mcp.Tool{Name: "t"}
		require.Nil(t, checkTool(tools[i]))
		require.Nil(t, checkTool(tools[i]))
	}
	require.GreaterOrEqual(t, size(), 1000)
	runtime.KeepAlive(tools)
	tools = nil //nolint:ineffassign,wastedassign // lets the tools go
	require.Eventually(t, func() bool { runtime.GC(); return size() <= before+1 }, 10*time.Second, time.Millisecond)
}
