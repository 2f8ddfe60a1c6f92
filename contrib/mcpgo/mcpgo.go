// Package mcpgo puts the middlewares of mcpchain around servers that are written with
// github.com/mark3labs/mcp-go.
//
//	s := server.NewMCPServer("weather", "1.0.0", mcpgo.Server(mcpchain.Standard(nil)))
//
// Any [mcp.Middleware] of mcpchain, or of your own, will do: it sees the call as a request
// of the official SDK, and the handler's result as a result of the official SDK. The
// handler's own result goes out unchanged, unless a middleware returned another one. A
// middleware that changes a result returns a copy, as everywhere in mcpchain.
//
// A failed tool call has the text and the _meta that it has with the official SDK. mcp-go
// sends any other failure with the code -32603 and without data: the caller of a resource,
// a prompt or a completion gets the same text, and no machine form. middleware.FaultOf reads
// that text on a client of the official SDK.
//
// # Wrong arguments
//
// The errors of mcp-go's argument helpers (RequireString and the others, BindArguments,
// NewTypedToolHandler) become violations of arguments, whether a handler returns them as an
// error or as the text of a result. The text that NewStructuredToolHandler makes of a
// handler's error is hidden, because it may not be meant for the caller.
//
// Set validate.Options.RawTools to check arguments against the tool's schema, instead of
// mcp-go's WithInputSchemaValidation, which answers before any middleware.
//
// # What it does not reach
//
// mcp-go answers unknown names itself, except those for which [Server] finds a similar name, and it
// calls the handlers of task tools and of notifications outside of its middlewares. Leave
// WithRecovery out: it sends the value of a panic to the caller. Tools that a middleware adds are
// added to mcp-go with [ByMiddleware].
//
// A caller over HTTP has no name here: give each package that counts or remembers something
// for each caller, such as limit, replay and state, an Owner that reads the context. All
// calls over stdio have the same caller.
package mcpgo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// Server returns an option that wraps the handlers of all tools, resources, templates and
// prompts of a server in middlewares, the first outermost. Handlers that are added later are
// wrapped too. Completions are wrapped with [PromptCompletion] and [ResourceCompletion].
//
// mcp-go runs the middlewares of several options from the first, outermost, to the last. A hook
// answers the name of a tool or prompt that does not exist with the name that was probably meant:
// put this option after server.WithHooks, which would replace the hook.
func Server(mw ...mcp.Middleware) server.ServerOption {
	chain := chained(mw)
	return func(s *server.MCPServer) {
		server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			return tools.wrap(chain, next)
		})(s)
		server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
			return resources.wrap(chain, next)
		})(s)
		server.WithPromptHandlerMiddleware(func(next server.PromptHandlerFunc) server.PromptHandlerFunc {
			return prompts.wrap(chain, next)
		})(s)
		suggest(s)
	}
}

// Tool wraps the handler of one tool in middlewares, the first outermost. It panics when h
// is nil.
func Tool(h server.ToolHandlerFunc, mw ...mcp.Middleware) server.ToolHandlerFunc {
	given("Tool", h == nil)
	return tools.wrap(chained(mw), h)
}

// ByMiddleware is the handler for a tool that a middleware answers itself, such as
// read_more of package budget, or a list form of package batch. mcp-go lists and calls only
// tools that are added to it: add a tool of that name with this handler.
func ByMiddleware(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	return nil, errors.New("mcpgo: no middleware answered this tool, which has no handler of its own")
}

// Resource wraps the handler of one resource, or of one template, as [Tool] wraps that of a
// tool.
func Resource[H ~func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error)](h H, mw ...mcp.Middleware) H {
	given("Resource", h == nil)
	return resources.wrap(chained(mw), h)
}

// Prompt wraps the handler of one prompt as [Tool] wraps that of a tool.
func Prompt(h server.PromptHandlerFunc, mw ...mcp.Middleware) server.PromptHandlerFunc {
	given("Prompt", h == nil)
	return prompts.wrap(chained(mw), h)
}

// PromptCompletion wraps what completes the arguments of prompts as [Tool] wraps the handler
// of a tool.
func PromptCompletion(p server.PromptCompletionProvider, mw ...mcp.Middleware) server.PromptCompletionProvider {
	given("PromptCompletion", p == nil)
	return completer(completions.wrap(chained(mw), func(ctx context.Context, req completeRequest) (*mcpgo.Completion, error) {
		return p.CompletePromptArgument(ctx, req.ref, req.argument, req.context)
	}))
}

// ResourceCompletion wraps what completes the variables of templates as [Tool] wraps the
// handler of a tool.
func ResourceCompletion(p server.ResourceCompletionProvider, mw ...mcp.Middleware) server.ResourceCompletionProvider {
	given("ResourceCompletion", p == nil)
	return completer(completions.wrap(chained(mw), func(ctx context.Context, req completeRequest) (*mcpgo.Completion, error) {
		return p.CompleteResourceArgument(ctx, req.ref, req.argument, req.context)
	}))
}

func given(function string, isNil bool) {
	if isNil {
		panic("mcpgo." + function + ": the handler is nil; give the handler that is wrapped")
	}
}

// A completer is a provider of both kinds.
type completer func(context.Context, completeRequest) (*mcpgo.Completion, error)

func (c completer) CompletePromptArgument(ctx context.Context, name string, argument mcpgo.CompleteArgument, more mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	return c(ctx, completeRequest{refPrompt, name, argument, more})
}

func (c completer) CompleteResourceArgument(ctx context.Context, uri string, argument mcpgo.CompleteArgument, more mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	return c(ctx, completeRequest{refResource, uri, argument, more})
}

// chained puts middlewares around what calls the handler that the context carries: mcp-go
// asks for its middlewares anew at each call, and the chain is built once.
func chained(mw []mcp.Middleware) mcp.MethodHandler {
	return middleware.Chain(mw...)(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c, ok := ctx.Value(callKey{}).(interface {
			handle(context.Context, string, mcp.Request) (mcp.Result, error)
		})
		if !ok {
			return nil, errors.New("mcpgo: a middleware replaced the context by one that was not made from it")
		}
		return c.handle(ctx, method, req)
	})
}

// A kind converts between mcp-go and the official SDK for one kind of handlers. Q and R are
// their requests and results in mcp-go's types.
type kind[Q, R any] struct {
	method  string
	request func(*Q, *mcp.ServerSession) mcp.Request
	changed func(Q, mcp.Request) (Q, error) // the request for the handler, with what middlewares have changed
	fails   func(Q, R, error) error         // the failure in what the handler returned, nil for a success
	view    func(R) (mcp.Result, error)     // what the middlewares see of a result
	same    func(R, mcp.Result) bool        // whether no middleware has written to the view
	back    func(mcp.Result) (R, error)     // mcp-go's form of a result that a middleware returned instead of the view
}

func (k *kind[Q, R]) wrap(chain mcp.MethodHandler, next func(context.Context, Q) (R, error)) func(context.Context, Q) (R, error) {
	return func(ctx context.Context, req Q) (R, error) {
		c := &call[Q, R]{Context: ctx, kind: k, next: next, own: req, client: server.ClientSessionFromContext(ctx)}
		c.session = sessionOf(ctx, c.client)
		return c.answer(chain(c, k.method, k.request(&c.own, c.session)))
	}
}

type callKey struct{}

// A call is one call of a handler. It is the context that the middlewares get. It holds the
// handler, and later what the handler returned.
type call[Q, R any] struct {
	context.Context
	kind    *kind[Q, R]
	next    func(context.Context, Q) (R, error)
	own     Q
	client  server.ClientSession
	session *mcp.ServerSession

	mu       sync.Mutex
	returned []returned[R] // one, or one for each time that the handler was called
	elicited error         // the handler's mcp.URLElicitationRequiredError
}

// returned is a result of the handler, and what the middlewares see of it.
type returned[R any] struct {
	own  R
	view mcp.Result
}

func (c *call[Q, R]) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	return c.Context.Value(key)
}

func (c *call[Q, R]) connection() (server.ClientSession, *mcp.ServerSession) {
	return c.client, c.session
}

// stdio is the session of all calls over stdio: there is one caller.
var stdio mcp.ServerSession

// sessionOf returns the session that stands for the caller. It has no connection: it only
// shows which calls have the same caller. That is known only over stdio, and inside of a
// call that is wrapped already.
func sessionOf(ctx context.Context, client server.ClientSession) *mcp.ServerSession {
	if outer, ok := ctx.Value(callKey{}).(interface {
		connection() (server.ClientSession, *mcp.ServerSession)
	}); ok {
		if of, session := outer.connection(); of == client {
			return session
		}
	}
	if client != nil && client.SessionID() == "stdio" {
		return &stdio
	}
	return &mcp.ServerSession{}
}

// handle calls the handler.
func (c *call[Q, R]) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if method != c.kind.method {
		return list(ctx, method, req)
	}
	own, err := c.kind.changed(c.own, req)
	if err != nil {
		return nil, err
	}
	res, err := c.next(ctx, own)
	if wire := elicitation(err); wire != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.elicited = err
		return nil, wire
	}
	if err := c.kind.fails(own, res, err); err != nil {
		return nil, err
	}
	view, err := c.kind.view(res)
	if err != nil {
		return nil, fmt.Errorf("mcpgo: the result cannot be sent: %w", err)
	}
	if view == nil {
		return nil, nil //nolint:nilnil // package recover handles that nothing was returned
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned = append(c.returned, returned[R]{res, view})
	return view, nil
}

// answer turns what the middlewares returned into what mcp-go sends.
func (c *call[Q, R]) answer(res mcp.Result, err error) (R, error) {
	var none R
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.elicited != nil && isElicitation(err) {
			return none, c.elicited
		}
		return none, said(err)
	}
	for _, r := range c.returned {
		if r.view == res && c.kind.same(r.own, res) {
			return r.own, nil
		}
	}
	if res == nil {
		return none, nil
	}
	return c.kind.back(res)
}

// said returns the error without "Internal error: ": every error of mcp-go has the code for that,
// and its clients print it.
func said(err error) error {
	wire, ok := err.(*jsonrpc.Error) //nolint:errorlint // the chain sends it bare
	if !ok || wire.Code != jsonrpc.CodeInternalError {
		return err
	}
	text, ok := strings.CutPrefix(wire.Message, fault.KindInternal.Label()+": ")
	if !ok {
		return err
	}
	without := *wire
	without.Message = text
	return &without
}
