package call

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ForTools is middleware.ForTools for the function, or the option, that names the tools.
func ForTools(function, parameter string, mw Middleware, names ...string) Middleware {
	tools := NameSet(function, parameter, names)
	selected := When(mw, func(method string, req mcp.Request) bool {
		if method != MethodCallTool {
			return false
		}
		_, ok := tools[Target(req)]
		return ok
	})
	return func(next Handler) Handler {
		unlisted := &unlisted{parameter: function + ": " + parameter, missing: maps.Clone(tools)}
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
	parameter string // what names them
	mu        sync.Mutex
	missing   map[string]struct{} // nil when it has been told
	began     bool                // the first page was seen
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
		if c := FromContext(ctx); c != nil {
			logger = c.Logger()
		}
		Warn(ctx, logger, u.parameter+" has tools that the server does not list",
			slog.Any("tools", slices.Sorted(maps.Keys(u.missing))))
	}
	u.missing = nil
}

// When returns a Middleware that applies mw to the calls that match reports true for. A nil
// mw changes nothing.
func When(mw Middleware, match func(string, mcp.Request) bool) Middleware {
	if mw == nil {
		return func(next Handler) Handler { return next }
	}
	return func(next Handler) Handler {
		wrapped := mw(next)
		if wrapped == nil {
			panic("middleware.Chain: middleware 1 of 1 returned a nil handler")
		}
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if match(method, req) {
				return wrapped(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	}
}

// NameSet returns names as a set. It panics when there are none, or one is empty.
func NameSet(function, parameter string, names []string) map[string]struct{} {
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
