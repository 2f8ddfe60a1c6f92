package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
)

// The tools, prompts and resources of a server are read from the server itself, when they are
// needed, so that nothing has to be registered twice. These look-ups are not recorded.

// Server returns the server of the Call, as its caller may see it. It is asked through the opener's
// own handler, so that filters inside it apply.
func (c *Call) Server() ask.Server { return ask.Server{Caller: c} }

// Target is [Target] of the request.
func (c *Call) Target() string { return Target(c.req) }

// Place implements [ask.Caller].
func (c *Call) Place() *ask.Place {
	if c.by == nil {
		return nil
	}
	return &c.by.place
}

// Ask implements [ask.Caller].
func (c *Call) Ask(handler mcp.MethodHandler, method string, req mcp.Request) (res, behind mcp.Result, err error) {
	look := &Call{Context: c, method: method, req: req, by: c.by, quiet: true, cold: &cold{parent: c}}
	res, err = handler(look, method, req)
	cold := look.lock()
	defer look.mu.Unlock()
	return res, cold.past, err
}

// Lookup returns a context in which every Call that is opened is [Call.Quiet].
func Lookup(ctx context.Context) context.Context { return &Call{Context: ctx, quiet: true} }

// Behind wraps the handler behind middlewares that only some calls pass. When a quiet Call lists
// tools or other items and the list does not pass these middlewares, the items that they add are
// left out: the caller cannot call them. Items that they remove stay removed. passes reports
// whether a call passes the middlewares. No handler stays none, for [NameOf].
func Behind(next Handler, passes func(method string, req mcp.Request) bool) Handler {
	if next == nil {
		return nil
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		switch method {
		case MethodListTools, MethodListPrompts, MethodListResources, MethodListResourceTemplates:
			if c := FromContext(ctx); c != nil && c.quiet && c.method == method && !passes(method, req) {
				cold := c.lock()
				defer c.mu.Unlock()
				cold.past = res
			}
		}
		return res, err
	}
}
