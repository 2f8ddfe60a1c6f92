package retry

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/middleware"
)

// safety says what a repetition of a call can do, whatever became of the call.
type safety uint8

const (
	writes     safety = iota // it may have an effect a second time; also where nothing is known
	idempotent               // it has no further effect
	reads                    // it has no effect at all
)

// safetyOf says what a repetition of the call can do. A tool is what its
// annotations say, and without them what the protocol says then: a write. They are
// read from the server's own list, anew each time: that takes a few microseconds,
// is done only for failures where it matters, and a tool that was replaced by one
// that writes is never taken for its predecessor. repeatable, if not nil, is asked
// instead. next is what the middleware of this call calls.
func safetyOf(c *call.Call, next mcp.MethodHandler, repeatable func(tool string) bool) safety {
	switch c.Method() {
	case middleware.MethodCallTool:
	case middleware.MethodReadResource, middleware.MethodGetPrompt, middleware.MethodComplete,
		middleware.MethodListTools, middleware.MethodListPrompts, middleware.MethodListResources,
		middleware.MethodListResourceTemplates, middleware.MethodPing, middleware.MethodDiscover:
		return reads
	case middleware.MethodInitialize, middleware.MethodSetLevel, middleware.MethodSubscribe, middleware.MethodUnsubscribe:
		return idempotent
	default: // a method of the program's own
		return writes
	}
	if repeatable != nil {
		if repeatable(call.Target(c.Request())) {
			return idempotent
		}
		return writes
	}
	tool, err := c.Tool(next)
	if err != nil {
		// Around a single handler next has no list: the opener may stand around the server.
		if tool, err = c.Tool(nil); err != nil {
			return writes
		}
	}
	switch a := tool.Annotations; {
	case a == nil:
		return writes
	case a.ReadOnlyHint:
		return reads
	case a.IdempotentHint:
		return idempotent
	default:
		return writes
	}
}
