package middleware

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// Observe returns a middleware for a trial run. The answers of the calls that pass it are sent
// unchanged. For each failure a record says, under its reference, what was "sent" and what the
// middlewares "would_send". If package recover stands in the chain, the middlewares word three
// kinds of answers that would have made the SDK panic or that it could not have sent: a panic, a
// result that cannot be written as JSON, and a missing result. For a missing result the SDK sends
// null to a client of a version before 2026-07-28, and that stays so. A failure that the
// middlewares would send unchanged has only the record of package correlate. A call that package
// validate or retry would refuse runs, and that is recorded, too. The records are written at level
// Info to the logger of the call.
//
// It may stand anywhere in the chain. It does not disable the middlewares that act before a handler
// runs (limit, drain, deadline and their like): leave them out.
//
// mcpchain.Options.Observe does all of this for the whole chain.
func Observe() mcp.Middleware {
	settings := &call.Settings{Observe: true}
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(settings)
		return next(ctx, c.Method(), req)
	})
}
