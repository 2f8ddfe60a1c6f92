//go:build unix

package proxy

import (
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/call"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// What explains a failure goes by what was listed a moment ago, and a guard never does. Neither goes by what
// another caller was shown.
func TestAGuardAsksAnew(t *testing.T) {
	p := New(Options{Chain: func(next mcp.MethodHandler) mcp.MethodHandler { return next }, Out: rpc.NewWriter(io.Discard)})
	defer p.finish()
	req := &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}}
	first, err := p.look(call.MethodListTools, req, "ada", false)
	require.NoError(t, err)
	joined, err := p.look(call.MethodListTools, req, "ada", true)
	require.NoError(t, err)
	require.Same(t, first, joined, "while it is asked, all share the question")
	other, err := p.look(call.MethodListTools, req, "bob", false)
	require.NoError(t, err)
	require.NotSame(t, first, other)

	answered := &look{done: make(chan struct{})}
	close(answered.done)
	p.mu.Lock()
	for key, l := range p.looks {
		if l == first {
			p.looks[key] = answered
		}
	}
	p.mu.Unlock()
	again, err := p.look(call.MethodListTools, req, "ada", false)
	require.NoError(t, err)
	require.Same(t, answered, again)
	guard, err := p.look(call.MethodListTools, req, "ada", true)
	require.NoError(t, err)
	require.NotSame(t, answered, guard)
}
