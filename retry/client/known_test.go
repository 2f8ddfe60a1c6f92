package client

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/failure"
)

// What is remembered of tools is bounded, whatever servers list.
func TestKnownToolsAreBounded(t *testing.T) {
	var known knownTools
	page := &mcp.ListToolsResult{}
	for i := range 3 * maxTools {
		page.Tools = append(page.Tools, &mcp.Tool{Name: fmt.Sprint(i), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}})
	}
	session := new(mcp.ClientSession)
	for _, cursor := range []string{"", "2", "3"} {
		known.learn(&mcp.ClientRequest[mcp.Params]{Session: session, Params: &mcp.ListToolsParams{Cursor: cursor}}, page)
	}
	require.Equal(t, map[string]failure.Safety{"7": failure.Reads, "2999": failure.Writes}, of(&known, session, "7", "2999"), "not called twice")
	s, _ := known.sessions.Get(session)
	require.Len(t, s, maxTools)
}

func of(known *knownTools, session *mcp.ClientSession, tools ...string) map[string]failure.Safety {
	all := map[string]failure.Safety{}
	for _, tool := range tools {
		all[tool] = known.safety(&mcp.ClientRequest[mcp.Params]{Session: session}, tool)
	}
	return all
}

// What is remembered of a session that is gone is gone too.
func TestKnownSessionsGo(t *testing.T) {
	var known knownTools
	for range 100 {
		known.learn(&mcp.ClientRequest[mcp.Params]{Session: new(mcp.ClientSession), Params: &mcp.ListToolsParams{}}, &mcp.ListToolsResult{})
	}
	require.Eventually(t, func() bool { runtime.GC(); return known.sessions.Len() <= 1 }, 10*time.Second, time.Millisecond)
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
	require.Equal(t, map[string]failure.Safety{"a": failure.Reads, "b": failure.Reads}, of(&known, session, "a", "b"))
	learn("", &mcp.Tool{Name: "a"})
	require.Equal(t, map[string]failure.Safety{"a": failure.Writes, "b": failure.Writes}, of(&known, session, "a", "b"))
	learn("2", &mcp.Tool{Name: strings.Repeat("x", maxName+1), Annotations: reads})
	kept, _ := known.sessions.Get(session)
	require.Len(t, kept, 1, "a name without end is not kept")
}
