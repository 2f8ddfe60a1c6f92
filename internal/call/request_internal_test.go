package call

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

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
