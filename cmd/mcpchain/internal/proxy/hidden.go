package proxy

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"

	hiding "github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hide"
)

// hidden returns a message for the client without the values of secrets, message itself if it has none.
func (p *Proxy) hidden(message []byte) []byte { return hiding.JSON(message, p.Hide) }

// hides reports whether secrets are hidden in an answer: in a failure, in what asks the client, and with an option
// in each.
func (p *Proxy) hides(failed bool, res mcp.Result) bool {
	return failed || p.HideResults || call.NeedsInput(res)
}
