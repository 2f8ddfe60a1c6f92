package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/classify"
)

// What is remembered of tools is bounded, whatever servers list.
func TestKnownToolsAreBounded(t *testing.T) {
	var known knownTools
	page := &mcp.ListToolsResult{}
	for i := range 3 * maxTools {
		page.Tools = append(page.Tools, &mcp.Tool{Name: fmt.Sprint(i), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}})
	}
	sessions := make([]*mcp.ClientSession, 2*maxSessions)
	for i := range sessions {
		sessions[i] = &mcp.ClientSession{}
		for _, cursor := range []string{"", "2", "3"} {
			known.learn(&mcp.ClientRequest[mcp.Params]{Session: sessions[i], Params: &mcp.ListToolsParams{Cursor: cursor}}, page)
		}
	}
	require.Len(t, known.sessions, maxSessions)
	for _, s := range known.sessions {
		require.Len(t, s.tools, maxTools)
	}
	last := sessions[len(sessions)-1]
	yes, asking, _ := known.look(last, "7")
	require.True(t, yes)
	require.Nil(t, asking)
	yes, asking, mine := known.look(last, fmt.Sprint(3*maxTools-1))
	require.False(t, yes, "not called twice")
	require.NotNil(t, asking)
	require.True(t, mine)
}

// A first page replaces what was known, so that a tool that is gone is forgotten.
func TestKnownToolsAreReplaced(t *testing.T) {
	var known knownTools
	session := &mcp.ClientSession{}
	learn := func(cursor string, tool *mcp.Tool) {
		known.learn(&mcp.ClientRequest[mcp.Params]{Session: session, Params: &mcp.ListToolsParams{Cursor: cursor}},
			&mcp.ListToolsResult{Tools: []*mcp.Tool{tool}})
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	learn("", &mcp.Tool{Name: "a", Annotations: reads})
	learn("2", &mcp.Tool{Name: "b", Annotations: reads})
	require.Equal(t, map[string]classify.Safety{"a": classify.Reads, "b": classify.Reads}, known.of(session).tools)
	learn("", &mcp.Tool{Name: "a"})
	require.Equal(t, map[string]classify.Safety{"a": classify.Writes}, known.of(session).tools)
	learn("2", &mcp.Tool{Name: strings.Repeat("x", maxName+1), Annotations: reads})
	require.Len(t, known.of(session).tools, 1, "a name without end is not kept")
}
