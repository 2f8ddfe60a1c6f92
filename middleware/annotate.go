package middleware

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
)

// AddTo adds to what the caller reads of a failure on its way out: a detail, a
// suggestion, a step. A middleware of yours that stands inside of ours calls it with
// what next returned, and returns both as they came:
//
//	res, err := next(ctx, method, req)
//	middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error {
//		return f.With("region", region)
//	})
//	return res, err
//
// The error itself stays what it is, so kind, stack, level and violations are not lost.
// AddTo reports false, and add is not called, for a success and outside of our
// middlewares. What add returns is scrubbed like the rest; a nil fault and a panic change
// nothing. A deliberate *jsonrpc.Error and the text that a tool wrote itself stay as they
// are.
func AddTo(ctx context.Context, res mcp.Result, err error, add func(*fault.Error) *fault.Error) bool {
	c := call.FromContext(ctx)
	if c == nil || add == nil {
		return false
	}
	f := c.Failure(res, err)
	if f == nil {
		return false
	}
	f.Add(add)
	return true
}

// IsLookup reports whether the call that ctx belongs to is one that mcpchain itself makes
// through the server's middlewares, such as a tools/list to find the schema of a tool, or
// one that a middleware of yours makes with [Lookup]. Those of mcpchain are made for
// failures, and for every call where an option such as validate.Options.RawTools asks for
// it. None is recorded. A limiter or a counter of yours lets them pass uncounted.
func IsLookup(ctx context.Context) bool {
	c := call.FromContext(ctx)
	return c != nil && c.Quiet()
}

// Lookup returns a context for calls that a middleware of yours makes itself, to find out
// what the server offers. Pass it to next, with another method than that of the call, such
// as tools/list. [IsLookup] then reports true for the call.
func Lookup(ctx context.Context) context.Context { return call.Lookup(ctx) }

// Target returns what a call is about: the name of the tool or prompt, or the URI of the
// resource; "" for other methods.
func Target(req mcp.Request) string { return call.Target(req) }
