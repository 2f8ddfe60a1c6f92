package call

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/wire"

	"github.com/mcpchain/mcpchain/fault"
)

// Part returns how often it was called before for this Call: 0, then 1 and so on.
// Whoever divides the work of a call into calls below it ([Call.Below]) asks once, so
// that two who do so in one call can give different names to theirs.
func (c *Call) Part() int {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.parts++
	return cold.parts - 1
}

// Clean says of the result of a failed tool call, which has f under [wire.ErrorKey], that each
// part of it was masked by whoever put it together, as a batch of calls below this one
// is. What else stands in it is the caller's own, such as what to send again, and goes
// out as it came.
func (c *Call) Clean(f *fault.Error) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.clean = f
}

// isClean reports whether a result is one that Clean was told of.
func (c *Call) isClean(res *mcp.CallToolResult) bool {
	f, _ := res.Meta[wire.ErrorKey].(*fault.Error)
	cold := c.lock()
	defer c.mu.Unlock()
	return f != nil && f == cold.clean
}
