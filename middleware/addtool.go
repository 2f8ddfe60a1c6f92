package middleware

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/table"
)

// AddTool adds a typed tool to a server as [mcp.AddTool] does, with middlewares for calls of this
// tool only, the first outermost. They stand outside of the SDK's own code for typed tools. So they
// also see wrong arguments and outputs that break their schema, and an answer keeps all its parts.
//
// The middlewares of all tools of one server stand in one place in its chain: outside of all
// middlewares that the server had at the first AddTool, and inside of all that it gets later. Add
// tools before the server's own middlewares: then those stand outside, and mask and recover also
// what these middlewares do. A tool that is added again with AddTool gets the new middlewares
// instead of the old ones. If a tool is removed, or added again with mcp.AddTool, its name keeps
// the middlewares. AddTool panics if h is nil.
//
// Arguments may pass the tool's schema and still not be decoded into In, such as 300 for an int8, or a
// value that a method UnmarshalJSON refuses. They are reported as a validation error: the handler was
// not called. For a
// tool that mcp.AddTool added, package validate does that only if the error contains the value that was
// sent. Any other such error is an internal error, because it does not prove that the handler was not
// called.
func AddTool[In, Out any](s *mcp.Server, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out], mw ...mcp.Middleware) {
	if h == nil {
		panic("middleware.AddTool: h is nil; give the tool's handler")
	}
	// In this order, so that no call reaches the tool without its middlewares.
	toolsOf(s).set(t.Name, Chain(Chain(mw...), fitting[In]))
	mcp.AddTool(s, t, reaching(h))
}

// fitting marks the failure of a tool as one of the arguments if they cannot be decoded into In. It
// does so only if the handler, which is wrapped in [reaching], was not called. It decodes them a
// second time, because a middleware inside may have answered instead of the handler.
func fitting[In any](next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		reached := &reached{Context: ctx}
		res, err := next(reached, method, req)
		tool, failed := res.(*mcp.CallToolResult)
		if !failed || err != nil || tool == nil || !tool.IsError || reached.handler.Load() {
			return res, err
		}
		r, called := req.(*mcp.CallToolRequest)
		cause := tool.GetError()
		if called && r.Params != nil && ofDecoder(cause) && undecodable[In](r.Params.Arguments) {
			marked := *tool
			marked.SetError(call.ArgumentError{Err: cause})
			res = &marked
		}
		return res, nil
	}
}

// ofDecoder reports whether a decoder may have made an error, which is neither a fault nor the SDK's
// about the schema.
func ofDecoder(err error) bool {
	if err == nil {
		return false
	}
	found := classify.Of(err, classify.Options{})
	return !found.Refused && !found.Origin.Worded()
}

// undecodable reports whether arguments cannot be decoded into In, whose own methods may panic.
func undecodable[In any](args []byte) (failed bool) {
	defer func() { failed = recover() == nil && failed }()
	return json.Unmarshal(args, new(In)) != nil
}

// reached is the context of a call of a typed tool. It holds whether the handler was called.
type reached struct {
	context.Context

	handler atomic.Bool
}

type reachedKey struct{}

func (r *reached) Value(key any) any {
	if key == (reachedKey{}) {
		return r
	}
	return r.Context.Value(key)
}

// reaching returns h, which then notes in the call's context that it was called.
func reaching[In, Out any](h mcp.ToolHandlerFor[In, Out]) mcp.ToolHandlerFor[In, Out] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if r, ok := ctx.Value(reachedKey{}).(*reached); ok {
			r.handler.Store(true)
		}
		return h(ctx, req, in)
	}
}

// toolChains is a receiving middleware of one server that passes the calls of each tool through the
// tool's own middlewares.
type toolChains struct {
	next   mcp.MethodHandler
	byName sync.Map // the mcp.MethodHandler of each tool
}

func (c *toolChains) set(name string, mw mcp.Middleware) {
	c.byName.Store(name, mw(call.Behind(c.next, func(method string, _ mcp.Request) bool { return method == MethodCallTool })))
}

func (c *toolChains) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if method == MethodCallTool {
		if handler, ok := c.byName.Load(call.Target(req)); ok {
			return handler.(mcp.MethodHandler)(ctx, method, req) //nolint:forcetypeassert // set stores no other
		}
	}
	return c.next(ctx, method, req)
}

// servers maps a server to its toolChains. Both pointers are weak: a server that is made for one
// request, as by stateless HTTP servers, leaves nothing behind.
var servers struct {
	sync.Mutex // so that concurrent calls of AddTool make only one toolChains
	table.Weak[mcp.Server, weak.Pointer[toolChains]]
}

func toolsOf(s *mcp.Server) *toolChains {
	servers.Lock()
	defer servers.Unlock()
	if known, _ := servers.Get(s); known.Value() != nil {
		return known.Value()
	}
	c := &toolChains{}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		c.next = next
		return c.handle
	})
	servers.Set(s, weak.Make(c))
	return c
}
