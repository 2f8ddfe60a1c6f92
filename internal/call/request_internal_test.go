package call

import (
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
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

// TestWhatACallerSent: a file is the caller's own if the caller named it. The scheme of a URI and the
// name of a tool are no files.
func TestWhatACallerSent(t *testing.T) {
	read := Call{method: "resources/read", req: &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "config://app/notes.txt"}}}
	require.True(t, read.Sent()("notes.txt"))
	require.False(t, read.Sent()("config"))
	bare := Call{method: "resources/read", req: &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "notes.txt"}}}
	require.True(t, bare.Sent()("notes.txt"))
	tool := Call{method: MethodCallTool, req: &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "config", Arguments: []byte(`{"file":"notes.txt"}`)}}}
	require.True(t, tool.Sent()("notes.txt"))
	require.False(t, tool.Sent()("config"))
}

// TestWhatATokenGrants is repeated in a challenge, each scope once, unless there are so many that the header would be too long.
func TestWhatATokenGrants(t *testing.T) {
	challenged := func(n int) []string {
		have := make([]string, n)
		for i := range have {
			have[i] = "s" + strconv.Itoa(i)
		}
		c := Call{req: &mcp.CallToolRequest{Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{Scopes: have}}}}
		return c.granted([]string{"s0", "needed"})
	}
	require.Equal(t, []string{"s1", "s2", "s0", "needed"}, challenged(3))
	require.Len(t, challenged(maxGranted), maxGranted+1)
	require.Equal(t, []string{"s0", "needed"}, challenged(maxGranted+1))
}
