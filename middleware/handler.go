package middleware

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Tool wraps one raw tool handler in middlewares, the first outermost, as
// [mcp.Server.AddReceivingMiddleware] wraps a server. It panics if h is nil.
//
// The middlewares see only the calls of this tool, as method "tools/call". They do not see
// what happens outside the handler, such as the server's own answer to an unknown tool.
func Tool(h mcp.ToolHandler, mw ...mcp.Middleware) mcp.ToolHandler {
	return one("Tool", MethodCallTool, h, mw)
}

// Resource wraps one resource handler as [Tool] wraps a tool handler.
func Resource(h mcp.ResourceHandler, mw ...mcp.Middleware) mcp.ResourceHandler {
	return one("Resource", MethodReadResource, h, mw)
}

// Prompt wraps one prompt handler as [Tool] wraps a tool handler.
func Prompt(h mcp.PromptHandler, mw ...mcp.Middleware) mcp.PromptHandler {
	return one("Prompt", MethodGetPrompt, h, mw)
}

// one wraps a handler of one method.
func one[Q mcp.Request, R mcp.Result](function, method string, h func(context.Context, Q) (R, error), mw []mcp.Middleware) func(context.Context, Q) (R, error) {
	if h == nil {
		panic("middleware." + function + ": h is nil; give the handler that is wrapped")
	}
	handler := Chain(mw...)(func(ctx context.Context, called string, req mcp.Request) (mcp.Result, error) {
		r, ok := req.(Q)
		if called != method || !ok { // a middleware called next with another method or request
			return nil, &ask.OneHandlerError{Method: method, Called: called}
		}
		return untyped(h(ctx, r))
	})
	return func(ctx context.Context, req Q) (R, error) {
		return typed[R](handler(ctx, method, req))
	}
}

// untyped returns a nil result as a nil interface.
func untyped(res mcp.Result, err error) (mcp.Result, error) {
	if safe.Nil(res) {
		return nil, err
	}
	return res, err
}

// typed returns a middleware's answer as the handler's result type.
func typed[R mcp.Result](res mcp.Result, err error) (R, error) {
	r, ok := res.(R)
	if !ok && res != nil && err == nil {
		err = fmt.Errorf("middleware: a middleware answered with a %T in the place of a %T", res, r)
	}
	return r, err
}
