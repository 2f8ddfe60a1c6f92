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
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// Tool wraps one raw tool handler in middlewares, the first outermost, as
// [mcp.Server.AddReceivingMiddleware] wraps a server. It panics when h is nil.
//
// The middlewares see the calls of this tool only, as method "tools/call". What
// happens outside a handler, such as the server's own answer to an unknown tool,
// they do not see.
func Tool(h mcp.ToolHandler, mw ...Middleware) mcp.ToolHandler {
	return one("Tool", MethodCallTool, h, mw)
}

// Resource wraps one resource handler as [Tool] wraps a tool handler.
func Resource(h mcp.ResourceHandler, mw ...Middleware) mcp.ResourceHandler {
	return one("Resource", MethodReadResource, h, mw)
}

// Prompt wraps one prompt handler as [Tool] wraps a tool handler.
func Prompt(h mcp.PromptHandler, mw ...Middleware) mcp.PromptHandler {
	return one("Prompt", MethodGetPrompt, h, mw)
}

// Completion wraps the handler of mcp.ServerOptions.CompletionHandler as [Tool] wraps a
// tool handler.
func Completion(h func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error), mw ...Middleware) func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return one("Completion", MethodComplete, h, mw)
}

// Elicitation wraps the handler of mcp.ClientOptions.ElicitationHandler as [Tool] wraps a
// tool handler. For a server of protocol version 2026-07-28 the SDK calls this handler
// outside of the client's receiving middlewares, where a panic ends the client.
func Elicitation(h func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error), mw ...Middleware) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return one("Elicitation", MethodElicit, h, mw)
}

// Sampling wraps the handler of mcp.ClientOptions.CreateMessageHandler as [Elicitation]
// wraps its own.
func Sampling(h func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error), mw ...Middleware) func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { //nolint:staticcheck // older servers sample
	return one("Sampling", MethodCreateMessage, h, mw)
}

// SamplingWithTools wraps the handler of mcp.ClientOptions.CreateMessageWithToolsHandler
// as [Elicitation] wraps its own.
func SamplingWithTools(h func(context.Context, *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error), mw ...Middleware) func(context.Context, *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) { //nolint:staticcheck // older servers sample
	return one("SamplingWithTools", MethodCreateMessage, h, mw)
}

// Subscription wraps the handler of mcp.ServerOptions.SubscribeHandler as [Tool] wraps a
// tool handler.
func Subscription(h func(context.Context, *mcp.SubscribeRequest) error, mw ...Middleware) func(context.Context, *mcp.SubscribeRequest) error {
	return bare("Subscription", MethodSubscribe, h, mw)
}

// Unsubscription wraps the handler of mcp.ServerOptions.UnsubscribeHandler as [Tool]
// wraps a tool handler.
func Unsubscription(h func(context.Context, *mcp.UnsubscribeRequest) error, mw ...Middleware) func(context.Context, *mcp.UnsubscribeRequest) error {
	return bare("Unsubscription", MethodUnsubscribe, h, mw)
}

// Custom wraps a handler of [mcp.AddReceivingCustomMethod] as [Tool] wraps a tool handler.
// The middlewares see the calls under the name of the method that is given.
func Custom[P mcp.Params, R mcp.Result](method string, h func(context.Context, *mcp.ServerSession, P) (R, error), mw ...Middleware) func(context.Context, *mcp.ServerSession, P) (R, error) {
	if h == nil {
		panic("middleware.Custom: h is nil; give the handler that is wrapped")
	}
	handler := one("Custom", method, func(ctx context.Context, req *mcp.ServerRequest[P]) (R, error) {
		return h(ctx, req.Session, req.Params)
	}, mw)
	return func(ctx context.Context, session *mcp.ServerSession, params P) (R, error) {
		return handler(ctx, &mcp.ServerRequest[P]{Session: session, Params: params})
	}
}

// one wraps a handler of one method.
func one[Q mcp.Request, R mcp.Result](function, method string, h func(context.Context, Q) (R, error), mw []Middleware) func(context.Context, Q) (R, error) {
	if h == nil {
		panic("middleware." + function + ": h is nil; give the handler that is wrapped")
	}
	handler := Chain(mw...)(func(ctx context.Context, called string, req mcp.Request) (mcp.Result, error) {
		r, ok := req.(Q)
		if called != method || !ok { // a middleware called next with another one
			return nil, &call.OneHandlerError{Method: method, Called: called}
		}
		return untyped(h(ctx, r))
	})
	return func(ctx context.Context, req Q) (R, error) {
		return typed[R](handler(ctx, method, req))
	}
}

// done is the result of a handler that has only an error to return.
type done struct{ mcp.Result }

// bare wraps a handler that has only an error to return.
func bare[Q mcp.Request](function, method string, h func(context.Context, Q) error, mw []Middleware) func(context.Context, Q) error {
	if h == nil {
		panic("middleware." + function + ": h is nil; give the handler that is wrapped")
	}
	handler := one(function, method, func(ctx context.Context, req Q) (*done, error) {
		if err := h(ctx, req); err != nil {
			return nil, err
		}
		return &done{}, nil
	}, mw)
	return func(ctx context.Context, req Q) error {
		_, err := handler(ctx, req)
		return err
	}
}

// untyped returns a nil result as a nil interface.
func untyped(res mcp.Result, err error) (mcp.Result, error) {
	if safe.Nil(res) {
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
		r, ok := req.(*mcp.CallToolRequest)
		if method != MethodCallTool || !ok {
			return nil, &call.OneHandlerError{Method: MethodCallTool, Called: method}
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

// HasOutput is of [call.Typed].
func (c *typedCall[In]) HasOutput() bool { return !c.own.Load() }

// Input is of [call.Typed].
func (c *typedCall[In]) Input() any { return c.in }

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
