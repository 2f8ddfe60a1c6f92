package deadline

import (
	"context"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// Pause stops the clock of the call that ctx belongs to until resume is called, for
// time that is not the handler's, such as that of a person who is asked something:
//
//	resume := deadline.Pause(ctx)
//	answer, err := ask(ctx)
//	resume()
//
// Limits further out stand too. Altogether the clock of a call stands for
// Options.MaxPause at most, and never beyond the time at which the caller is known to
// give up. Pauses may overlap; resume may be called more than once. Where no limit
// applies, and after the call, Pause does nothing. Neither is ever nil.
func Pause(ctx context.Context) (resume func()) {
	inner := clockOf(ctx)
	if inner == nil {
		return func() {}
	}
	for c := inner; c != nil; c = c.outer {
		c.pause()
	}
	return sync.OnceFunc(func() {
		for c := inner; c != nil; c = c.outer {
			c.resume()
		}
	})
}

// Sending returns a middleware for what a server sends. It stops the clock of a call
// while its handler waits for the client to answer a request (an elicitation, a
// sampling, its roots) that was sent with the handler's context:
//
//	server.AddSendingMiddleware(deadline.Sending())
//
// Pings and notifications do not stop it.
func Sending() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != middleware.MethodPing && !strings.HasPrefix(method, "notifications/") {
				defer Pause(ctx)()
			}
			return next(ctx, method, req)
		}
	}
}
