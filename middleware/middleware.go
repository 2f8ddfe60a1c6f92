// Package middleware connects mcpchain with the MCP SDK. It wraps servers and single
// handlers, selects the calls that a middleware applies to, and reads failures. It has what
// a middleware of your own needs.
//
// A middleware is an [mcp.Middleware], so those of mcpchain mix with any other:
//
//	server.AddReceivingMiddleware(middleware.Chain(a, b, c))   // the whole server
//	server.AddTool(tool, middleware.Tool(handler, a))          // one raw handler
//	middleware.AddTool(server, tool, typedHandler, a)          // one typed tool
//	middleware.ForTools(a, "search", "fetch")                  // some tools
//
// # One call
//
// The first mcpchain middleware that a call meets opens the call and renders its answer.
// Each one inside of it adds what it knows about a failure. It returns the result and the
// error as they came. So every middleware works alone, in any combination, and installed
// twice. A middleware of yours in between sees the SDK's own values.
//
// # What a failure becomes
//
// A failed tool call becomes a result with IsError, one text block that is complete in
// itself, and the machine form under _meta[[MetaKey]]. It has no structured content, unless
// RenderOptions.Structured asks for it. Any other failed method becomes a *jsonrpc.Error
// with the same text as its message and the same object as its data. A *jsonrpc.Error that a
// handler or the SDK made on purpose keeps its code and data. Without package mask in the
// chain, the text of an error is sent behind the label of its kind.
//
// A recovery step keeps its call only if the caller can make it: the server lists the tool to
// this caller, and the tool's schema accepts the parameters. Otherwise the caller reads the
// action of the step without the call.
//
// # What a failure means for a second try
//
// [HintOf] reads from an error whether and when a second try can help. It does not say what became
// of the first try. Package retry decides.
//
// # Writing a middleware of your own
//
// Any [mcp.Middleware] will do. Pass on the context that you got. To refuse a call,
// return a *fault.Error. [AddTo] adds to a failure on its way out, and [IsLookup] reports calls
// that mcpchain makes itself. OutcomeOf in package correlate says how a call ended, and ID there is
// its reference.
package middleware

import (
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// MetaKey is the key in a result's _meta of the machine form of a failure: the JSON of a
// fault.Error.
const MetaKey = wire.ErrorKey

// Classify returns what a caller may know of err, nil for a nil error. It does not apply rules (see
// package mask).
func Classify(err error) *fault.Error { return failure.Classify(err) }

// HintOf returns what any error says about a second try, the zero Hint for nil. Its Effect is
// set only if a fault or a method of the error says it:
//
//	if hint := middleware.HintOf(err); hint.Retry == fault.RetryYes {
//		time.Sleep(hint.After)
//	}
func HintOf(err error) fault.Hint { return failure.HintOf(err) }

// The methods that your handlers serve.
const (
	MethodCallTool     = call.MethodCallTool
	MethodReadResource = call.MethodReadResource
	MethodGetPrompt    = call.MethodGetPrompt
	MethodComplete     = call.MethodComplete
)

// Chain makes one middleware of several. The first is the outermost: it sees a
// call first and its answer last, so that
//
//	Chain(m1, m2, m3)(h) == m1(m2(m3(h)))
//
// Nil entries are skipped, and an empty chain changes nothing. The slice is
// copied. A chain is itself a middleware, so chains nest.
func Chain(mw ...mcp.Middleware) mcp.Middleware {
	chain := slices.DeleteFunc(slices.Clone(mw), func(m mcp.Middleware) bool { return m == nil })
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		if next == nil {
			panic(call.NoHandlerError(call.NameOf(chain...)))
		}
		for i, m := range slices.Backward(chain) {
			if next = m(next); next == nil {
				panic(fmt.Sprintf("middleware.Chain: middleware %d of %d returned a nil handler", i+1, len(chain)))
			}
		}
		return next
	}
}
