package outside

import (
	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/mask"
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
