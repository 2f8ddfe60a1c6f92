// Package optional lets mcpchain.Options have a field for each middleware that is off by default without
// importing its package: a program links those whose options it sets, and no other.
//
// Each type here is the type of one field, and one type outside implements it: *limit.Options is the
// [Limit]. The parameter of the method is there for that. No other package can write it down, so nobody
// implements a field by accident, and the options of one package do not fit the field of another.
package optional

import "github.com/modelcontextprotocol/go-sdk/mcp"

// What the fields of mcpchain.Options take. A method returns nil for a nil pointer.
type (
	// Audit is *audit.Options.
	Audit interface{ Middleware(Audit) mcp.Middleware }
	// Batch is *batch.Options.
	Batch interface{ Middleware(Batch) mcp.Middleware }
	// Budget is *budget.Options.
	Budget interface{ Middleware(Budget) mcp.Middleware }
	// Deadline is *deadline.Options.
	Deadline interface{ Middleware(Deadline) mcp.Middleware }
	// Degrade is *degrade.Options.
	Degrade interface{ Middleware(Degrade) mcp.Middleware }
	// Drain is *drain.Options.
	Drain interface{ Middleware(Drain) mcp.Middleware }
	// Limit is *limit.Options.
	Limit interface{ Middleware(Limit) mcp.Middleware }
	// Replay is *replay.Options.
	Replay interface{ Middleware(Replay) mcp.Middleware }
	// RetryServer is *retry.ServerOptions.
	RetryServer interface {
		Middleware(RetryServer) mcp.Middleware
	}
	// State is *state.Options.
	State interface{ Middleware(State) mcp.Middleware }
)

// New returns what build makes of the options, and nil for none.
func New[T any](opts *T, build func(*T) mcp.Middleware) mcp.Middleware {
	if opts == nil {
		return nil
	}
	return build(opts)
}

// Of returns the middleware of a field, and nil where it is not set.
func Of[F interface{ Middleware(F) mcp.Middleware }](field F) mcp.Middleware {
	if any(field) == nil {
		return nil
	}
	return field.Middleware(field)
}
