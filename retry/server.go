package retry

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/attempt"
	"github.com/mcpchain/mcpchain/internal/call"
)

// ServerOptions configure [Server]. The zero value is the recommended default.
type ServerOptions struct {
	// Repeatable says which tools may be run twice with the same arguments. Nil means those whose
	// annotations call them read-only or idempotent, as the server itself lists them. A function
	// that returns true for a tool that writes takes the responsibility: a failed call whose effect
	// is unknown is made again. It may be called concurrently.
	//
	// If the handler's own fault, one of the Rules or a witness says that a call had no effect
	// ([fault.EffectNone]), the call is made again in any case. If it says that the call took
	// effect, the call is not made again.
	Repeatable func(tool string) bool

	// MaxAttempts is how often a handler is run for one call, the first time
	// included. Zero means 3; with 1 nothing is tried again.
	MaxAttempts int

	// Budget is the longest time from the first failure of a call to the start of its
	// last attempt. Zero means 10 s.
	Budget time.Duration

	// InitialInterval is about how long to wait before the second attempt, if neither the handler
	// nor a service said how long; the waits after that double, up to ten times as long. Each is
	// made up to a half longer or shorter by chance, so that calls that failed together do not come
	// back together. Zero means 200 ms, or Budget if that is less.
	InitialInterval time.Duration

	// Rules say what errors of this program mean for a second try. The first that matches counts. They also hold for the
	// middlewares outside of Server. If a rule gives [fault.EffectNone], a tool that writes is run again
	// after such an error. Give it only for an error that the handler makes itself when it has done
	// nothing. The error of a client proves nothing, such as a refused connection or HTTP status 429:
	// the client may have sent the request before, and the handler may have changed something before.
	Rules []fault.HintRule
}

// Server returns a middleware that runs a failed handler again before the failure is passed on.
// opts may be nil. It panics when an option is negative, InitialInterval is longer than Budget, or
// a rule is nil.
//
// A call of a tool, a resource, a prompt or a completion is tried again if its failure says that a
// second try can succeed (see [fault.Hint]), and if a second try certainly does no harm: the call reads,
// or it is idempotent, or a fault, a rule or a witness says that it had no effect. Wrong arguments, missing
// permission, panics and cancelled calls are final, and so is a call for which a person was asked
// for input.
//
// A wait that a service asked for is kept to exactly. When it is longer than the budget or than the
// caller's deadline, the failure is returned at once, and the middlewares outside tell the caller
// when to try again.
//
// Put it inside of New and of a time limit, so that the attempts share one limit,
// and outside of the inner recovery:
//
//	... > retry.New > validate > deadline > retry.Server > recover > handler
//
// Every attempt gets the request as it came. A handler that wrote into the arguments in place is
// not run again; writes into maps of the _meta are not noticed. With clients before 2026-07-28 the
// SDK asks a person on behalf of the handler, without showing that to a server's middleware: leave
// out tools that do so with [middleware.When], or wrap their handlers with [middleware.Tool].
//
// The failures of attempts that are followed by another are written to the log of
// the call at level Debug, with its reference.
func Server(opts *ServerOptions) mcp.Middleware {
	var o ServerOptions
	if opts != nil {
		o = *opts
	}
	const of call.Options = "retry.Server: ServerOptions"
	call.Positive(of, "MaxAttempts", &o.MaxAttempts, 3)
	call.Positive(of, "Budget", &o.Budget, 10*time.Second)
	call.Positive(of, "InitialInterval", &o.InitialInterval, min(200*time.Millisecond, o.Budget))
	of.AtMost("InitialInterval", o.InitialInterval, "Budget", o.Budget)
	o.Rules = rulesOf(of, o.Rules)
	s := &server{ServerOptions: o, policy: attempt.Policy{Attempts: o.MaxAttempts, Budget: o.Budget, Initial: o.InitialInterval}}
	if len(o.Rules) > 0 {
		s.settings = &call.Settings{Hints: o.Rules}
	}
	return call.WrapLayer("retry.Server", call.Func(s.handle), nil)
}

type server struct {
	ServerOptions

	policy   attempt.Policy
	settings *call.Settings // nil without rules
}

// handle passes a call to serve with the type of its request. Other methods are never tried again.
func (s *server) handle(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if s.settings != nil {
		c.Establish(s.settings)
	}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		return serve(ctx, s, c, r, next)
	case *mcp.ReadResourceRequest:
		return serve(ctx, s, c, r, next)
	case *mcp.GetPromptRequest:
		return serve(ctx, s, c, r, next)
	case *mcp.CompleteRequest:
		return serve(ctx, s, c, r, next)
	default:
		return next(ctx, c.Method(), req)
	}
}
