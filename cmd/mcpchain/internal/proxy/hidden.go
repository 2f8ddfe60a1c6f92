package proxy

import (
	"bytes"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"

	hiding "github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// hidden returns a message for the client without the values of secrets, m itself if it has none.
func (p *Proxy) hidden(m *rpc.Message) *rpc.Message {
	line := hiding.JSON(m.Line, p.Hide)
	if bytes.Equal(line, m.Line) {
		return m
	}
	clean, refused := rpc.ParseServer(line)
	if refused != nil { // cannot be: it stays a message
		return rpc.Failed(m.ID, internal())
	}
	return clean
}

// hides reports whether secrets are hidden in an answer: in a failure, in what asks the client, and with an option
// in each.
func (p *Proxy) hides(failed bool, res mcp.Result) bool {
	return failed || p.HideResults || call.NeedsInput(res)
}
