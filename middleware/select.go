package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// ForTools returns a middleware that applies mw to calls of the named tools only. mw is
// applied once, and not for each call. ForTools panics if no tool is named, or if a
// name is empty. If the server's first list of its tools lacks a named tool, the log gets
// one warning.
func ForTools(mw mcp.Middleware, names ...string) mcp.Middleware {
	tools := set("ForTools: names", names)
	selected := When(mw, func(method string, req mcp.Request) bool { return method == MethodCallTool && tools[call.Target(req)] })
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		unlisted := &unlisted{missing: maps.Clone(tools)}
		handle := selected(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := handle(ctx, method, req)
			if method == call.MethodListTools && err == nil {
				unlisted.saw(ctx, req, res)
			}
			return res, err
		}
	}
}

// unlisted watches for tools that are named but not listed.
type unlisted struct {
	mu      sync.Mutex
	missing map[string]bool // nil after the warning
	began   bool            // a listing has begun with its first page
}

// saw reads a page of the server's tools. After the last page it writes the warning.
func (u *unlisted) saw(ctx context.Context, req mcp.Request, res mcp.Result) {
	list, ok := req.(*mcp.ListToolsRequest)
	page, _ := res.(*mcp.ListToolsResult)
	if !ok || list == nil || page == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.began = u.began || list.Params == nil || list.Params.Cursor == ""
	for _, tool := range page.Tools {
		if tool != nil {
			delete(u.missing, tool.Name)
		}
	}
	if !u.began || page.NextCursor != "" {
		return
	}
	if len(u.missing) > 0 {
		call.Warn(ctx, nil, "a middleware is for tools that the server does not list", slog.Any("tools", slices.Sorted(maps.Keys(u.missing))))
	}
	u.missing = nil
}

// ForMethods returns a middleware that applies mw to the named methods only, such
// as [MethodReadResource]. ForMethods panics when no method is named, or
// when a name is empty.
func ForMethods(mw mcp.Middleware, methods ...string) mcp.Middleware {
	only := set("ForMethods: methods", methods)
	return When(mw, func(method string, _ mcp.Request) bool { return only[method] })
}

// When returns a middleware that applies mw to the calls for which match reports true.
// match is called once a call, from many goroutines at once. If mw adds items to a list,
// such as a tool of its own, only calls for which match reports true show them.
// When panics if match is nil.
func When(mw mcp.Middleware, match func(method string, req mcp.Request) bool) mcp.Middleware {
	if match == nil {
		panic("middleware.When: match is nil; give a function that selects calls")
	}
	if mw == nil {
		return Chain()
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		wrapped := Chain(mw)(call.Behind(next, match))
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if match(method, req) {
				return wrapped(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	}
}

// set returns names as a set. It panics when there are none, or one is empty.
func set(parameter string, names []string) map[string]bool {
	if len(names) == 0 {
		panic("middleware." + parameter + " is empty; name at least one, or use the middleware as it is")
	}
	s := make(map[string]bool, len(names))
	for i, n := range names {
		if n == "" {
			panic(fmt.Sprintf("middleware.%s[%d] is empty; give a name", parameter, i))
		}
		s[n] = true
	}
	return s
}
