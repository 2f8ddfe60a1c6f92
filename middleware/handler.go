package middleware

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// Tool wraps one raw tool handler in middlewares, the first outermost, as
// [mcp.Server.AddReceivingMiddleware] wraps a server. It panics when h is nil.
//
// The middlewares see the calls of this tool only, as method "tools/call". What
// happens outside a handler, such as the server's own answer to an unknown tool,
// they do not see.
func Tool(h mcp.ToolHandler, mw ...Middleware) mcp.ToolHandler {
	if h == nil {
		panic("middleware.Tool: h is nil; give the tool's handler")
	}
	handler := Chain(mw...)(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := request[*mcp.CallToolRequest](method, MethodCallTool, req)
		if err != nil {
			return nil, err
		}
		return untyped(h(ctx, r))
	})
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return typed[*mcp.CallToolResult](handler(ctx, MethodCallTool, req))
	}
}

// Resource wraps one resource handler in middlewares, the first outermost. It
// panics when h is nil.
func Resource(h mcp.ResourceHandler, mw ...Middleware) mcp.ResourceHandler {
	if h == nil {
		panic("middleware.Resource: h is nil; give the resource's handler")
	}
	handler := Chain(mw...)(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := request[*mcp.ReadResourceRequest](method, MethodReadResource, req)
		if err != nil {
			return nil, err
		}
		return untyped(h(ctx, r))
	})
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return typed[*mcp.ReadResourceResult](handler(ctx, MethodReadResource, req))
	}
}

// Prompt wraps one prompt handler in middlewares, the first outermost. It panics
// when h is nil.
func Prompt(h mcp.PromptHandler, mw ...Middleware) mcp.PromptHandler {
	if h == nil {
		panic("middleware.Prompt: h is nil; give the prompt's handler")
	}
	handler := Chain(mw...)(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := request[*mcp.GetPromptRequest](method, MethodGetPrompt, req)
		if err != nil {
			return nil, err
		}
		return untyped(h(ctx, r))
	})
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return typed[*mcp.GetPromptResult](handler(ctx, MethodGetPrompt, req))
	}
}

// request checks that what arrives at a wrapped handler is a call of it: a
// middleware may have called next with another method.
func request[R mcp.Request](method, want string, req mcp.Request) (R, error) {
	r, ok := req.(R)
	if method != want || !ok {
		return r, fmt.Errorf("middleware: a wrapped handler of %q cannot answer %q", want, method)
	}
	return r, nil
}

// untyped returns a nil result as a nil interface.
func untyped[R interface {
	comparable
	mcp.Result
}](res R, err error) (mcp.Result, error) {
	var none R
	if res == none {
		return nil, err
	}
	return res, err
}

// typed returns what a middleware answered as the handler's result type.
func typed[R mcp.Result](res mcp.Result, err error) (R, error) {
	r, ok := res.(R)
	if !ok && res != nil && err == nil {
		err = fmt.Errorf("middleware: a middleware answered with a %T in the place of a %T", res, r)
	}
	return r, err
}

// ToolFor wraps one typed tool handler in middlewares, the first outermost, inside
// of what the SDK does for typed tools. It panics when h is nil.
//
// Because the SDK stands outside, two things do not reach or leave the
// middlewares: the argument and output checks, and the _meta of a failure, of
// which the SDK keeps the text only. [AddTool] has neither limit; prefer it.
// The middlewares see the decoded arguments in the request as they came; changing
// them there does not change what the handler gets.
func ToolFor[In, Out any](h mcp.ToolHandlerFor[In, Out], mw ...Middleware) mcp.ToolHandlerFor[In, Out] {
	if h == nil {
		panic("middleware.ToolFor: h is nil; give the tool's handler")
	}
	handler := Chain(mw...)(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := request[*mcp.CallToolRequest](method, MethodCallTool, req)
		if err != nil {
			return nil, err
		}
		typed, ok := ctx.Value(call.TypedKey{}).(*typedCall[In])
		if !ok {
			return nil, errors.New("middleware: a middleware replaced the context of a typed tool by one that was not made from it")
		}
		res, out, err := h(ctx, r, typed.in)
		if err != nil {
			return nil, err
		}
		// Without an output the SDK keeps what the handler put into the result itself.
		typed.own.Store(any(out) == nil && res != nil && res.StructuredContent != nil)
		return withOutput(res, out), nil
	})
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		outer := &typedCall[In]{Context: ctx, in: in}
		res, err := handler(outer, MethodCallTool, req)
		return split[Out](res, err, outer.own.Load())
	}
}

// typedCall carries the decoded arguments past the middlewares.
type typedCall[In any] struct {
	context.Context
	in  In
	own atomic.Bool // the structured content is the handler's own and no output
}

func (c *typedCall[In]) Value(key any) any {
	if _, ok := key.(call.TypedKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// HasOutput is read by [call.TypedOutput].
func (c *typedCall[In]) HasOutput() bool { return !c.own.Load() }

// withOutput puts the output where middlewares expect it.
func withOutput[Out any](res *mcp.CallToolResult, out Out) *mcp.CallToolResult {
	var cp mcp.CallToolResult
	if res != nil {
		cp = *res
	} else {
		cp.Meta = mcp.Meta{wire.EmptyResultKey: true}
	}
	if any(out) != nil {
		cp.StructuredContent = out
	}
	return &cp
}

// split undoes withOutput. A failure becomes an error whose text is the rendered
// one, because only an error keeps the SDK from checking the output.
func split[Out any](res mcp.Result, err error, own bool) (*mcp.CallToolResult, Out, error) {
	var out Out
	r, err := typed[*mcp.CallToolResult](res, err)
	if err != nil || r == nil {
		return r, out, err
	}
	if r.IsError && r.GetError() != nil && len(r.Content) == 1 {
		if t, ok := r.Content[0].(*mcp.TextContent); ok && t != nil {
			return nil, out, &classify.RenderedError{Text: t.Text, Result: r}
		}
	}
	cp := *r
	switch o, ok := cp.StructuredContent.(Out); {
	case own, cp.StructuredContent == nil:
	case ok:
		out, cp.StructuredContent = o, nil
	default:
		return nil, out, fmt.Errorf("middleware: a middleware put a %T in the place of the typed output", cp.StructuredContent)
	}
	if _, empty := cp.Meta[wire.EmptyResultKey]; empty {
		cp.Meta = maps.Clone(cp.Meta)
		delete(cp.Meta, wire.EmptyResultKey)
		if len(cp.Meta) == 0 && len(cp.Content) == 0 && cp.InputRequests == nil && !cp.IsError {
			return nil, out, nil
		}
	}
	return &cp, out, nil
}
