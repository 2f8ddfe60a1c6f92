package middleware

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
)

// AddTool adds a typed tool to a server as [mcp.AddTool] does, with middlewares for calls of this
// tool only, the first outermost. They stand outside of the SDK's own code for typed tools, so they
// also see wrong arguments and outputs that break their schema, and an answer keeps all its parts.
//
// The middlewares of all tools of one server stand in one place in its chain: outside of all
// middlewares that the server had at the first AddTool, and inside of all that it gets later. Add
// tools before the server's own middlewares: then those stand outside, and mask and recover also
// what these middlewares do. A tool that is added again with AddTool gets the new middlewares
// instead of the old ones. If a tool is removed, or added again with mcp.AddTool, its name keeps
// the middlewares. AddTool panics if h is nil.
//
// Arguments that pass the tool's schema but do not fit into In, such as 300 for an int8, are
// reported as a validation error. For a tool that mcp.AddTool added, package validate does that
// only for a time.Time and for a number that is too large, because only their errors contain the
// value that was sent. Any other such error is an internal error, because it does not prove that
// the handler was not called.
func AddTool[In, Out any](s *mcp.Server, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out], mw ...Middleware) {
	if h == nil {
		panic("middleware.AddTool: h is nil; give the tool's handler")
	}
	// In this order, so that no call reaches the tool without its middlewares.
	toolsOf(s).set(t.Name, Chain(Chain(mw...), fitting[In]))
	mcp.AddTool(s, t, h)
}

// fitting marks the failure of a tool as one of the arguments if they cannot be decoded into In. It
// decodes them a second time to find out: a handler may return the same error about data that the
// caller must not know.
func fitting[In any](next Handler) Handler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		tool, failed := res.(*mcp.CallToolResult)
		if !failed || err != nil || tool == nil || !tool.IsError {
			return res, err
		}
		misfit, ok := safe.As[*json.UnmarshalTypeError](tool.GetError())
		r, called := req.(*mcp.CallToolRequest)
		if ok && called && r.Params != nil && len(r.Params.Arguments) > 0 && json.Unmarshal(r.Params.Arguments, new(In)) != nil {
			marked := *tool
			marked.SetError(call.ArgumentError{Err: misfit})
			res = &marked
		}
		return res, nil
	}
}

// toolChains is a receiving middleware of one server that passes the calls of each tool through the
// tool's own middlewares.
type toolChains struct {
	next   Handler
	mu     sync.Mutex
	byName atomic.Pointer[map[string]Handler] // replaced, never written to
}

func (c *toolChains) set(name string, mw Middleware) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byName := map[string]Handler{}
	if have := c.byName.Load(); have != nil {
		byName = maps.Clone(*have)
	}
	byName[name] = mw(call.Behind(c.next, func(method string, _ mcp.Request) bool { return method == MethodCallTool }))
	c.byName.Store(&byName)
}

func (c *toolChains) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if method == MethodCallTool {
		if handler, ok := (*c.byName.Load())[call.Target(req)]; ok {
			return handler(ctx, method, req)
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
	c.byName.Store(&map[string]Handler{})
	s.AddReceivingMiddleware(func(next Handler) Handler {
		c.next = next
		return c.handle
	})
	servers.Set(s, weak.Make(c))
	return c
}
