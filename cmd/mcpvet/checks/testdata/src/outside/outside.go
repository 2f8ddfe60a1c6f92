package outside

import (
	"context"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func auth(next mcp.MethodHandler) mcp.MethodHandler    { return next }
func logging(next mcp.MethodHandler) mcp.MethodHandler { return next }

func later(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(nil))
	server.AddReceivingMiddleware(auth) // want `a later call stands outside of earlier ones`
}

func muchLater(server *mcp.Server, on bool) {
	server.AddReceivingMiddleware(mask.New(nil))
	server.AddSendingMiddleware(logging)
	if on {
		server.AddReceivingMiddleware(auth, correlate.New(nil)) // want `a later call stands outside of earlier ones`
	}
}

func before(server *mcp.Server) {
	server.AddReceivingMiddleware(correlate.New(nil), auth, mask.New(nil))      // want `this middleware stands outside of the masking one`
	server.AddReceivingMiddleware(auth, logging, mcpchain.Chain(mask.New(nil))) // want `this middleware stands outside` `this middleware stands outside`
}

func right(server, other *mcp.Server, on bool) {
	server.AddReceivingMiddleware(auth)
	if on {
		server.AddReceivingMiddleware(mcpchain.Standard(nil, logging))
	} else {
		server.AddReceivingMiddleware(logging)
	}
	other.AddReceivingMiddleware(logging)
	other.AddReceivingMiddleware(correlate.New(nil), mask.New(nil), auth)
	other.AddReceivingMiddleware(correlate.New(nil))
}

func bare(server *mcp.Server) {
	server.AddReceivingMiddleware(auth)
	server.AddReceivingMiddleware(logging)
}

func held(s, other *mcp.Server) {
	tracing := correlate.New(nil)
	other.AddReceivingMiddleware(tracing, mcpchain.Standard(nil))
	chain := mcpchain.Standard(nil)
	s.AddReceivingMiddleware(chain)
	s.AddReceivingMiddleware(tracing)
	s.AddReceivingMiddleware(auth) // want `a later call stands outside of earlier ones`
}

// filter hides tools from the lists of some callers.
func filter(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, params any) (mcp.Result, error) {
		res, err := next(ctx, method, params)
		if list, ok := res.(*mcp.ListToolsResult); ok {
			return &mcp.ListToolsResult{Tools: list.Tools[:1]}, err
		}
		return res, err
	}
}

func prompts(n int) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, params any) (mcp.Result, error) {
			res, err := next(ctx, method, params)
			if list, ok := res.(*mcp.ListPromptsResult); ok {
				list.Prompts = list.Prompts[:n]
			}
			return res, err
		}
	}
}

// vault puts a secret of the server's into each call.
func vault(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, params any) (mcp.Result, error) {
		if p, ok := params.(*mcp.CallToolParamsRaw); ok {
			p.Arguments = []byte(`{"key":"..."}`)
		}
		return next(ctx, method, params)
	}
}

func filters(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(nil))
	server.AddReceivingMiddleware(filter) // want `stands outside of earlier ones, and so does this middleware: its errors and panics reach the caller, and the names that it hides`
}

func filtersBefore(a, b, c, d, e, f *mcp.Server) {
	a.AddReceivingMiddleware(filter, mcpchain.Standard(nil)) // want `stands outside of the masking one: its errors and panics reach the caller, and the names that it hides`
	b.AddReceivingMiddleware(prompts(3), validate.New(nil))  // want `stands outside of the explaining one: the names that it hides`
	c.AddReceivingMiddleware(vault, auth, validate.New(nil)) // want `stands outside of the explaining one: the names that it hides, and what it puts into arguments`
	d.AddReceivingMiddleware(correlate.New(nil), filter, validate.New(nil))
	e.AddReceivingMiddleware(auth, validate.New(nil), filter)
	f.AddReceivingMiddleware(mcpchain.Standard(nil, filter, vault), filter, vault)
}

func filtersLater(server *mcp.Server) {
	some := prompts(1)
	server.AddReceivingMiddleware(validate.New(nil))
	server.AddReceivingMiddleware(auth)
	server.AddReceivingMiddleware(some) // want `so does this middleware: the names that it hides`
}

func chained(server, other, third *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Chain(auth, mask.New(nil), logging)) // want `this middleware stands outside of the masking one`
	server.AddReceivingMiddleware(middleware.Chain(correlate.New(nil), mask.New(nil)))
	server.AddReceivingMiddleware(middleware.ForMethods(auth, "tools/call"), middleware.Chain(logging)) // want `a later call stands outside` `a later call stands outside`
	other.AddReceivingMiddleware(auth, middleware.ForMethods(mcpchain.Standard(nil), "tools/call"))     // want `this middleware stands outside of the masking one`
	other.AddReceivingMiddleware(middleware.When(correlate.New(nil), nil))
	third.AddReceivingMiddleware(middleware.ForTools(auth, "x"))
	third.AddReceivingMiddleware(mcpchain.Standard(nil))
}

// addChain and addOwn do it for main.
func addChain(s *mcp.Server) { s.AddReceivingMiddleware(mcpchain.Standard(nil)) }
func addOwn(name string, s *mcp.Server) {
	s.AddReceivingMiddleware(auth)
	s.AddReceivingMiddleware(logging)
}
func addBoth(s *mcp.Server) { s.AddReceivingMiddleware(auth); addChain(s) }
func addTool(s *mcp.Server) { s.AddTool(nil, nil) }

func helped(server, other *mcp.Server) {
	addChain(server)
	addTool(server)
	server.AddReceivingMiddleware(auth) // want `a later call stands outside of earlier ones`
	addOwn("a", other)
	addChain(other)
	addTool(other)
}

func helpedLater(server *mcp.Server) {
	server.AddReceivingMiddleware(mcpchain.Standard(nil))
	addOwn("a", server) // want `a later call stands outside of earlier ones`
	addBoth(server)     // want `a later call stands outside of earlier ones`
}

type app struct{ server *mcp.Server }

func (a *app) run() {
	a.server.AddReceivingMiddleware(mcpchain.Standard(nil))
	a.server.AddReceivingMiddleware(filter) // want `a later call stands outside of earlier ones`
}
