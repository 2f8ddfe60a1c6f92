package validate

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestNoRequest: a request that somebody made by hand may be nil.
func TestNoRequest(t *testing.T) {
	h := New(&Options{RawTools: true})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{}, nil
	})
	for _, req := range []mcp.Request{nil, (*mcp.CallToolRequest)(nil), &mcp.CallToolRequest{}} {
		_, err := h(t.Context(), "tools/call", req)
		require.NoError(t, err)
	}
}
