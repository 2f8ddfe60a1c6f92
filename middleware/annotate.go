package middleware

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
)

// AddTo adds a detail, a suggestion or a step to what the caller reads of a failure. Call
// it in your own middleware, inside of mcpchain's, with the result and the error of next,
// and return both unchanged:
//
//	res, err := next(ctx, method, req)
//	middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error {
//		return f.With("region", region)
//	})
//	return res, err
//
// The error itself does not change, so kind, stack, level and violations are not lost.
// For a success, and outside of mcpchain's middlewares, AddTo does not call add and
// reports false. The result of add is scrubbed like the rest; a nil fault and a panic
// change nothing. A deliberate *jsonrpc.Error and the text that a tool wrote itself stay
// unchanged.
func AddTo(ctx context.Context, res mcp.Result, err error, add func(*fault.Error) *fault.Error) bool {
	c := call.FromContext(ctx)
	if c == nil || add == nil {
		return false
	}
	return c.Add(res, err, add)
}

// IsLookup reports whether mcpchain itself makes the call of ctx through the server's
// middlewares, such as a tools/list to find the schema of a tool. It also reports true for calls
// that your middleware makes with [Lookup]. mcpchain makes such calls for failures, and for
// every call if an option such as validate.Options.RawTools asks for it. They are not
// recorded. A limiter or a counter of yours should not count them.
func IsLookup(ctx context.Context) bool {
	c := call.FromContext(ctx)
	return c != nil && c.Quiet()
}

// Lookup returns a context for calls that your own middleware makes to find out what the
// server offers. Pass it to next with a method other than that of the call, such as
// tools/list. [IsLookup] then reports true for the call.
func Lookup(ctx context.Context) context.Context { return call.Lookup(ctx) }

// Target returns what a call is for: the name of the tool or prompt, or the URI of the
// resource; "" for other methods.
func Target(req mcp.Request) string { return call.Target(req) }
