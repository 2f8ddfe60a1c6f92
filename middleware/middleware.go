// Package middleware is the leaf between mcpchain and the MCP SDK: it wraps
// servers and single handlers, selects what a middleware applies to, and holds
// the one classifier of failures and the one renderer of answers that all rooms
// share.
//
// A middleware is the SDK's own type, so ours mix with any other:
//
//	server.AddReceivingMiddleware(middleware.Chain(a, b, c))   // the whole server
//	server.AddTool(tool, middleware.Tool(handler, a))          // one raw handler
//	middleware.AddTool(server, tool, typedHandler, a)          // one typed tool
//	middleware.ForTools(a, "search", "fetch")                  // some tools
//
// # One call
//
// The first mcpchain middleware that a call meets opens a [Call]: the context of
// the call, in which the others find what belongs to it. On the way out each of
// them adds what it knows about a failure and returns the result and the error
// as they came, so that a middleware of yours that stands between two of ours
// sees the SDK's own values. The one that opened the Call renders the answer,
// once. So every middleware works alone, in any combination, and twice.
//
// # What a failure becomes
//
// A failed tool call becomes a result with IsError, one text block that is
// complete in itself, and the machine form under _meta[[MetaKey]]. Any other
// failed method becomes a bare [jsonrpc.Error] with the same text as its message
// and the same object as its data. A *jsonrpc.Error that a handler or the SDK
// made on purpose keeps its code and data. Without package mask in the chain the
// text of an error goes out as it would without mcpchain, behind the label of its
// kind.
//
// # What a failure means for a second try
//
// [HintOf] reads from an error whether, when and how safely its cause may be tried
// again; [FromResponse] makes such an error of an HTTP answer. Package retry decides.
//
// # Writing a middleware of your own
//
// Any func(Handler) Handler will do. Use [Wrap] for one that needs the [Call].
package middleware

import (
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler handles one call of a method. It is the SDK's own type.
type Handler = mcp.MethodHandler

// Middleware wraps a Handler. It is the SDK's own type, so a Middleware can be
// given to [mcp.Server.AddReceivingMiddleware].
type Middleware = mcp.Middleware

// MetaKey is the key of a result's _meta under which the machine form of a
// failure stands: the JSON of a fault.Error.
const MetaKey = "io.github.mcpchain/error"

// StepsKey is the key of a successful result's _meta under which [NextSteps]
// puts its steps: a JSON array of fault.Step.
const StepsKey = "io.github.mcpchain/next_steps"

// The names of the methods that a server answers.
const (
	MethodInitialize            = "initialize"
	MethodDiscover              = "server/discover"
	MethodPing                  = "ping"
	MethodCallTool              = "tools/call"
	MethodListTools             = "tools/list"
	MethodGetPrompt             = "prompts/get"
	MethodListPrompts           = "prompts/list"
	MethodReadResource          = "resources/read"
	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"
	MethodSubscribe             = "resources/subscribe"
	MethodUnsubscribe           = "resources/unsubscribe"
	MethodListen                = "subscriptions/listen"
	MethodComplete              = "completion/complete"
	MethodSetLevel              = "logging/setLevel"
)

// Chain makes one Middleware of several. The first is the outermost: it sees a
// call first and its answer last, so that
//
//	Chain(m1, m2, m3)(h) == m1(m2(m3(h)))
//
// Nil entries are skipped, and an empty chain changes nothing. The slice is
// copied. A chain is itself a Middleware, so chains nest.
func Chain(mw ...Middleware) Middleware {
	chain := slices.DeleteFunc(slices.Clone(mw), func(m Middleware) bool { return m == nil })
	return func(next Handler) Handler {
		for i, m := range slices.Backward(chain) {
			if next = m(next); next == nil {
				panic(fmt.Sprintf("middleware.Chain: middleware %d of %d returned a nil handler", i+1, len(chain)))
			}
		}
		return next
	}
}
