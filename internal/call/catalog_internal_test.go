package call

import (
	"fmt"
	"runtime"
	"strings"
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

// TestTheNameOfAClient is read where it stands: the SDK decodes all that is said of the client.
func TestTheNameOfAClient(t *testing.T) {
	named := func(info any) mcp.Request {
		return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{mcp.MetaKeyClientInfo: info}}}
	}
	req := named(map[string]any{"name": "agent", "version": "1", "icons": []any{map[string]any{"src": strings.Repeat("x", 1<<10)}}})
	require.Equal(t, "agent", clientName(req))
	require.Zero(t, testing.AllocsPerRun(10, func() { clientName(req) }))
	require.Equal(t, "agent", clientName(named(&mcp.Implementation{Name: "agent"})))
	require.Empty(t, clientName(named(map[string]any{"name": 7})))
	require.Empty(t, clientName(named(7)))
	require.Empty(t, clientName(&mcp.CallToolRequest{}))
	require.Empty(t, clientName(nil))
}
