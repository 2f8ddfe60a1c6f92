package call

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Failure returns the failure that res and err report, nil if they report a success. The first
// mcpchain middleware that meets it makes it, and the Call keeps it: a middleware further outside
// gets the same one, unless a middleware in between returned something else.
func (c *Call) Failure(res mcp.Result, err error) *failure.Failure {
	if err == nil && !failure.IsError(res) {
		return nil
	}
	tool, _ := res.(*mcp.CallToolResult)
	if err == nil {
		err = tool.GetError()
	} else if tool != nil {
		tool = c.ours(tool) // see answer
	}
	if wire, ok := err.(*jsonrpc.Error); ok && wire != nil && c.settings().Mask != nil {
		if original, ours := rendered.Get(wire); ours {
			err = original
		}
	}
	f, made := c.carried(tool, err)
	if made {
		return f
	}
	of := c.circumstances()
	f.Make(tool, err, &of) // without the lock, because an error may ask for the ID
	return c.carry(f)
}

// carried returns the Failure that the Call keeps, if it was made of res and err. Otherwise it
// returns an empty one: the first one is part of the Call itself.
func (c *Call) carried(tool *mcp.CallToolResult, err error) (f *failure.Failure, made bool) {
	cold := c.lock()
	defer c.mu.Unlock()
	for _, f := range [...]*failure.Failure{cold.answered, cold.carried} {
		if f.Is(tool, err) {
			return f, true
		}
	}
	if cold.taken {
		return &failure.Failure{}, false
	}
	cold.taken = true
	return &cold.first, false
}

// carry makes the Call keep f, and returns it. If another goroutine has made a Failure of the same
// error in the meantime, it returns that one.
func (c *Call) carry(f *failure.Failure) *failure.Failure {
	cold := c.lock()
	defer c.mu.Unlock()
	if cold.carried.Is(f.Result(), f.Err()) {
		return cold.carried
	}
	cold.carried = f
	return f
}

// Answer makes err the failure that the Call ends with. It is for a middleware that answers before
// the handlers inside have returned: what they add to their own errors later, in another goroutine,
// does not replace what is known about this one. A middleware that waits for its handler does not
// need it.
func (c *Call) Answer(err error) {
	f := c.Failure(nil, err)
	cold := c.lock()
	defer c.mu.Unlock()
	cold.answered = f
}

// Explain replaces the finding of the failure that the Call keeps by x, which a middleware next to
// the handler knows better than the error, see [failure.Failure.Explained].
func (c *Call) Explain(f *failure.Failure, x classify.Finding) {
	explained := f.Explained(x, &c.settings().reader)
	cold := c.lock()
	defer c.mu.Unlock()
	cold.carried = explained
}

// circumstances returns what a failure of this call is made of, beside its error.
func (c *Call) circumstances() failure.Circumstances {
	s := c.settings()
	of := failure.Circumstances{Reader: &s.reader, Request: c, OwnCredentials: s.Trust == failure.Operator, PassedOn: s.PassedOn, Hints: s.Hints, Witness: c, Client: methods[c.method].client}
	if of.Shutdown = c.serverEnded(); !of.Shutdown {
		of.Ended = c.Err()
	}
	if c.quiet {
		of.Reader = &s.silent // nobody reads the failure of an internal look-up
	} else {
		of.Rules = s.Rules
	}
	of.Refused = c.RefusedBy() != ""
	return of
}

// ArgumentError marks an error as being about the arguments of the call.
type ArgumentError struct{ Err error }

func (e ArgumentError) Error() string { return e.Err.Error() }
func (e ArgumentError) Unwrap() error { return e.Err }

// PublicKind is the kind that the caller reads if package validate does not explain the error.
func (e ArgumentError) PublicKind() string { return string(fault.KindValidation) }

// The outcomes that do not follow from a kind alone, see [kinds.Row].
const (
	OutcomeOK            = "ok"
	OutcomeInputRequired = "input_required" // the call goes on when the client has given more input
	OutcomePanic         = "panic"

	outcomeCancelled     = "cancelled" // the client gave up
	outcomeProtocolError = "protocol_error"
	outcomeToolError     = "tool_error" // any other failure that the tool reported on purpose
)

// GivenUp reports whether the caller gave up the Call. It is false for a call whose context ended
// because the server shut down.
func (c *Call) GivenUp() bool { return errors.Is(c.Err(), context.Canceled) && !c.serverEnded() }

// serverEnded reports whether the server's shutdown ended the context of the Call, or a context
// further inside.
func (c *Call) serverEnded() bool {
	return safe.Is(context.Cause(c), classify.ErrShutdown) || c.Err() == nil && c.WasCut()
}

// Outcome says in one word how the call ended: with a result, or with f.
func (c *Call) Outcome(res mcp.Result, f *failure.Failure) string {
	switch {
	case f == nil && NeedsInput(res):
		return OutcomeInputRequired
	case f == nil:
		return OutcomeOK
	case f.Raised() != nil:
		return OutcomePanic
	// A call that the caller gave up is cancelled, whatever fault describes its end.
	case c.GivenUp():
		return outcomeCancelled
	case f.Wire() != nil && f.View().Origin != classify.Explained: // whose data is ours
		if _, ours := classify.FromJSON(f.Wire().Data); !ours {
			return outcomeProtocolError
		}
	}
	kind := f.Fault().Kind()
	if kind == fault.KindCancelled && c.Err() == nil && !f.Worded() {
		return outcomeToolError // a context of the handler's own ended; the client still waits
	}
	return kinds.Of(string(kind)).Outcome
}

// Safety says what a repetition of this call can do. For a tool it reads the annotations in the
// server's own list, see [ask.Server.Tool]: if a tool was replaced by one that writes, the old
// annotations count for a second at most. next is the handler that the middleware of this call
// calls.
func (c *Call) Safety(next Handler) failure.Safety {
	if c.method != MethodCallTool {
		return methods[c.method].safety // Writes for methods of the program's own
	}
	tool, err := c.Server().Tool(next)
	if err != nil {
		return failure.Writes
	}
	return failure.SafetyOf(tool.Annotations)
}

// SafetyIn is [Call.Safety] in the context of the call, which may have an idempotency key.
func (c *Call) SafetyIn(ctx context.Context, next Handler) failure.Safety {
	k, isKeyed := ctx.Value(keyedKey{}).(keyed)
	switch {
	case !isKeyed:
		return c.Safety(next)
	case k.again():
		return max(c.Safety(next), failure.Keyed)
	default:
		return failure.Writes
	}
}

type keyedKey struct{}

type keyed struct {
	key   string
	again func() bool
}

// WithKey returns a context for a call under an idempotency key that a middleware keeps. again
// reports whether a repetition with the key runs the handler again after a failure whose effect is
// unknown; if not, the repetition gets the same failure.
func WithKey(ctx context.Context, key string, again func() bool) context.Context {
	return context.WithValue(ctx, keyedKey{}, keyed{key, again})
}

// KeyOf returns the idempotency key of the call of ctx, "" for none.
func KeyOf(ctx context.Context) string {
	k, _ := ctx.Value(keyedKey{}).(keyed)
	return k.key
}
