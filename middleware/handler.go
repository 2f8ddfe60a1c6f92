package middleware

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Tool wraps one raw tool handler in middlewares, the first outermost, as
// [mcp.Server.AddReceivingMiddleware] wraps a server. It panics if h is nil.
//
// The middlewares see only the calls of this tool, as method "tools/call". They do not see
// what happens outside the handler, such as the server's own answer to an unknown tool.
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

// Wrap wraps a handler of any other kind as [Tool] wraps a tool handler. It takes these:
//
//   - of [mcp.ServerOptions] the CompletionHandler, the SubscribeHandler and the
//     UnsubscribeHandler;
//   - of [mcp.ClientOptions] the ElicitationHandler, the CreateMessageHandler and the
//     CreateMessageWithToolsHandler.
//
// If the server speaks protocol version 2026-07-28, the SDK calls the handlers of a client
// outside of the client's receiving middlewares. A panic there ends the client, unless the
// handler is wrapped. Wrap panics when h is nil.
func Wrap[H single](h H, mw ...Middleware) H {
	var wrapped any
	switch h := any(h).(type) {
	case func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error):
		wrapped = one("Wrap", call.MethodComplete, h, mw)
	case func(context.Context, *mcp.SubscribeRequest) error:
		wrapped = bare(call.MethodSubscribe, h, mw)
	case func(context.Context, *mcp.UnsubscribeRequest) error:
		wrapped = bare(call.MethodUnsubscribe, h, mw)
	case func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error):
		wrapped = one("Wrap", call.MethodElicit, h, mw)
	case func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error): //nolint:staticcheck // for older servers, which still use sampling
		wrapped = one("Wrap", call.MethodCreateMessage, h, mw)
	case func(context.Context, *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error): //nolint:staticcheck // for older servers, which still use sampling
		wrapped = one("Wrap", call.MethodCreateMessage, h, mw)
	}
	return wrapped.(H) //nolint:forcetypeassert // one of the cases matched
}

// single is a handler that [Wrap] wraps.
type single interface {
	func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) |
		func(context.Context, *mcp.SubscribeRequest) error |
		func(context.Context, *mcp.UnsubscribeRequest) error |
		func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) |
		func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) | //nolint:staticcheck // for older servers, which still use sampling
		func(context.Context, *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) //nolint:staticcheck // for older servers, which still use sampling
}

// Custom wraps a handler of [mcp.AddReceivingCustomMethod] as [Tool] wraps a tool handler.
// The middlewares see the calls under the given method name.
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
		if called != method || !ok { // a middleware called next with another method or request
			return nil, &ask.OneHandlerError{Method: method, Called: called}
		}
		return untyped(h(ctx, r))
	})
	return func(ctx context.Context, req Q) (R, error) {
		return typed[R](handler(ctx, method, req))
	}
}

// done is the result of a handler that returns only an error.
type done struct{ mcp.Result }

// bare wraps a handler that returns only an error.
func bare[Q mcp.Request](method string, h func(context.Context, Q) error, mw []Middleware) func(context.Context, Q) error {
	if h == nil {
		panic("middleware.Wrap: h is nil; give the handler that is wrapped")
	}
	handler := one("Wrap", method, func(ctx context.Context, req Q) (*done, error) {
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

// typed returns a middleware's answer as the handler's result type.
func typed[R mcp.Result](res mcp.Result, err error) (R, error) {
	r, ok := res.(R)
	if !ok && res != nil && err == nil {
		err = fmt.Errorf("middleware: a middleware answered with a %T in the place of a %T", res, r)
	}
	return r, err
}
