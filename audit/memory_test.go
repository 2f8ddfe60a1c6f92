package audit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestWhatAToolIsIsRemembered for a second: then a tool that was replaced by one that writes is
// recorded as one.
func TestWhatAToolIsIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, s := newKept(), &server{hint: &mcp.ToolAnnotations{ReadOnlyHint: true}}
		h := audit.New(&audit.Options{Log: k.Log})(s.handle)
		session := &mcp.ServerSession{}
		call := func() {
			req := toolCall("t", `{"a":1}`)
			req.Session = session
			_, _ = h(t.Context(), middleware.MethodCallTool, req)
		}
		for range 100 {
			call()
			time.Sleep(9 * time.Millisecond)
		}
		require.Equal(t, 100, s.asked["tools/call"])
		require.Equal(t, 1, s.asked[listTools])
		s.hint = &mcp.ToolAnnotations{}
		time.Sleep(time.Second)
		call()
		require.Equal(t, 2, s.asked[listTools])
		records := k.records(t)
		require.Equal(t, "call", records[99].Event)
		require.Equal(t, "begin", records[100].Event)
		require.Equal(t, "end", records[101].Event)
	})
}
