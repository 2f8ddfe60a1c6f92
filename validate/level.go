package validate

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// levels are the log levels of the protocol.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelFault returns what is wrong with a request for a log level, nil when nothing is. The SDK takes
// any text for a level, and its caller then believes that one was set.
func levelFault(req mcp.Request) *fault.Error {
	if safe.Nil(req) {
		return nil
	}
	params, ok := req.GetParams().(*mcp.SetLoggingLevelParams)
	if !ok || params == nil || slices.Contains(levels, string(params.Level)) {
		return nil
	}
	return fault.OneOf("level", string(params.Level), levels...)
}
