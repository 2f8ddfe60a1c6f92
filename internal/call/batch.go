package call

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/classify"
)

// Classified reports whether the kind of the failure was told from the error alone:
// neither a rule nor the error itself has words for the caller.
func (f *Failure) Classified() bool { return f.found.Origin == classify.Classified }

// NewResult returns an empty result of a tool that is complete in the protocol version of
// the request.
func (c *Call) NewResult() *mcp.CallToolResult {
	return NewResult(c.req)
}

// NewResult is [Call.NewResult] for what has the request only.
func NewResult(req mcp.Request) *mcp.CallToolResult {
	res := resultFor(req)
	res.IsError = false
	return res
}
