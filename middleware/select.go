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

// ForTools returns a Middleware that applies mw to calls of the named tools only.
// What mw builds is built once. ForTools panics when no tool is named. A name that is
// missing when the server's tools are listed for the first time is reported to the log
// once, as a warning.
func ForTools(mw Middleware, names ...string) Middleware {
	tools := set("middleware.ForTools", "names", names)
	selected := when(mw, func(method string, req mcp.Request) bool {
		if method != MethodCallTool {
			return false
		}
		_, ok := tools[call.Target(req)]
		return ok
	})
	return func(next Handler) Handler {
		unlisted := &unlisted{missing: maps.Clone(tools)}
		handle := selected(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := handle(ctx, method, req)
			if method == MethodListTools && err == nil {
				unlisted.saw(ctx, req, res)
			}
			return res, err
		}
	}
}

// unlisted watches for tools that are named but not listed.
type unlisted struct {
	mu      sync.Mutex
	missing map[string]struct{} // nil when it has been told
	began   bool                // the first page was seen
}

// saw looks at a page of the server's tools. It speaks after the last one.
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
	if !u.began || page.NextCursor != "" || u.missing == nil {
		return
	}
	if len(u.missing) > 0 {
		var logger *slog.Logger
		if c := call.FromContext(ctx); c != nil {
			logger = c.Logger()
		}
		call.Warn(ctx, logger, "middleware.ForTools names tools that the server does not list",
			slog.Any("tools", slices.Sorted(maps.Keys(u.missing))))
	}
	u.missing = nil
}

// ForMethods returns a Middleware that applies mw to the named methods only, such
// as [MethodReadResource]. ForMethods panics when no method is named.
func ForMethods(mw Middleware, methods ...string) Middleware {
	only := set("middleware.ForMethods", "methods", methods)
	return when(mw, func(method string, _ mcp.Request) bool {
		_, ok := only[method]
		return ok
	})
}

// When returns a Middleware that applies mw to the calls that match reports true
// for. match is called once a call, from many goroutines at once. When panics
// when match is nil.
func When(mw Middleware, match func(method string, req mcp.Request) bool) Middleware {
	if match == nil {
		panic("middleware.When: match is nil; give a function that selects calls")
	}
	return when(mw, match)
}

func when(mw Middleware, match func(string, mcp.Request) bool) Middleware {
	if mw == nil {
		return Chain()
	}
	return func(next Handler) Handler {
		wrapped := Chain(mw)(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if match(method, req) {
				return wrapped(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	}
}

func set(function, parameter string, names []string) map[string]struct{} {
	if len(names) == 0 {
		panic(fmt.Sprintf("%s: %s is empty; name at least one, or use the middleware without %[1]s", function, parameter))
	}
	s := make(map[string]struct{}, len(names))
	for i, n := range names {
		if n == "" {
			panic(fmt.Sprintf("%s: %s[%d] is empty; give a name", function, parameter, i))
		}
		s[n] = struct{}{}
	}
	return s
}
