package middleware

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// Observe returns a Middleware for looking before anything changes: what the calls that pass it end
// with leaves as it came, and a record says for each failure, under its reference, what was "sent" and
// what the middlewares "would_send". Only what the SDK would have died of or never answered is sent as
// they word it, if package recover stands in the chain: a panic, a result that cannot be written as JSON,
// and a missing one, but for a client of a version before 2026-07-28, to which the SDK sends null. A
// failure that the middlewares would send as it came has the record of package correlate alone. A call that package validate or retry would refuse runs, and that is recorded, too.
// The records are written at level Info to the logger of the call.
//
// It may stand anywhere in the chain. The middlewares that act before a handler runs (limit, drain,
// deadline and their like) are not held back by it: leave them out.
//
// mcpchain.Options.Observe does all of this for the whole chain.
func Observe() Middleware {
	settings := &call.Settings{Observe: true}
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next Handler) (mcp.Result, error) {
		c.Establish(settings)
		return next(ctx, c.Method(), req)
	})
}
