package drain

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// consequence returns the failure of a call whose context Shutdown has ended as a private
// cause, if it is taken for a consequence of that, and nil if not.
func consequence(f *failure.Failure, res mcp.Result) error {
	if f.Panic() != nil || f.Wire() != nil {
		return nil //nolint:nilerr // a panic stays one
	}
	err, text := f.Err(), call.FirstText(res)
	switch {
	case err != nil && (!ownWords(f) || safe.Is(err, ErrShutdown) || safe.Is(err, context.Canceled)):
		return err
	case err == nil && (strings.Contains(text, ErrShutdown.Error()) || strings.Contains(text, context.Canceled.Error())):
		return errors.New(text) // of a result of the tool's own
	default:
		return nil
	}
}

// ownWords reports whether a handler says something of the call itself, which stands. Of
// errors that nobody worded, and of failures of what the handler needs, nothing is known
// but that they came after the end of its context.
func ownWords(f *failure.Failure) bool {
	switch f.Fault().Kind() {
	case fault.KindInternal, fault.KindCancelled, fault.KindTimeout, fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError:
		return false
	default:
		return f.Worded()
	}
}

// cut is the failure of a call whose context Shutdown has ended.
func cut(ctx context.Context, c *call.Call, next mcp.MethodHandler, cause error) error {
	e := fault.New(fault.KindServiceUnavailable, "this server was replaced before the call had finished").
		WithParty(fault.PartyServer)
	retry := fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}
	if c.Method() != call.MethodListen {
		retry = c.Failure(nil, e).Again(failure.Situation{Safety: func() failure.Safety { return c.SafetyIn(ctx, next) }}).Retry
	}
	switch {
	case retry.ShouldRetry:
		retry.RetryAfterSeconds = 1
	case retry.Effect == fault.EffectUnknown && retry.Reason == "":
		retry.Reason = "It may have changed something"
	}
	return e.WithRetry(retry).Because(cause)
}
