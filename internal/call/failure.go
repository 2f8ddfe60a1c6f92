package call

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An ExplainedError is the error of a middleware that explains it itself, such as one that refuses the
// arguments of a call.
type ExplainedError struct {
	Err error
	As  classify.Finding // see [failure.Failure.Explain]
}

// Error returns the text of Err.
func (e *ExplainedError) Error() string { return safe.Error(e.Err) }

// Unwrap returns Err.
func (e *ExplainedError) Unwrap() error { return e.Err }

// Judge returns the failure that res and err report, nil if they report a success. It is the one that
// [Call.End] has returned for them, else a new one, which is not kept.
func (c *Call) Judge(res mcp.Result, err error) *failure.Failure {
	if !failure.Failed(res, err) {
		return nil
	}
	e := c.ending(res, err)
	cold := c.lock()
	f, added := cold.ended, cold.added
	c.mu.Unlock()
	if f.Is(e.tool, e.err) {
		return f
	}
	f = &failure.Failure{}
	of := c.circumstances()
	of.Plain = e.plain
	f.Make(e.tool, e.err, &of)
	if e.as != nil {
		f.Explain(*e.as, &c.settings().reader)
	}
	for _, a := range added {
		if f.Is(a.tool, a.err) {
			f.Add(a.change)
		}
	}
	return f
}

// An ending is what a failure is made of: the result of a tool, the original error, and the finding of an
// [ExplainedError].
type ending struct {
	tool  *mcp.CallToolResult
	err   error
	as    *classify.Finding
	plain bool // see sawPlain
}

func (c *Call) ending(res mcp.Result, err error) (e ending) {
	e.err = err
	e.tool, _ = res.(*mcp.CallToolResult)
	if err == nil {
		e.err = e.tool.GetError()
		c.unmask(&e)
	} else if e.tool != nil {
		e.tool = c.ours(e.tool) // see answer
	}
	switch err := e.err.(type) {
	case *jsonrpc.Error:
		if err != nil && c.settings().Mask != nil {
			if original, ours := rendered.Get(err); ours {
				e.err = original
			}
		}
	case *ExplainedError:
		e.err, e.as = err.Err, &err.As
	}
	return e
}

// maxPlain bounds the errors that a Call remembers as plain: it sees one for each try.
const maxPlain = 16

// sawPlain passes on how a middleware of ours ended. Of a failed result whose words are those of its error
// it remembers the error: a middleware of the program's own that changes the words does not make them words
// for the caller.
func (c *Call) sawPlain(res mcp.Result, err error) (mcp.Result, error) {
	if err == nil && failure.IsError(res) {
		c.rememberPlain(res)
	}
	return res, err
}

func (c *Call) rememberPlain(res mcp.Result) {
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || !failure.Plain(tool) {
		return
	}
	cold := c.lock()
	defer c.mu.Unlock()
	for _, have := range cold.plain {
		if safe.Same(have, tool.GetError()) {
			return
		}
	}
	if len(cold.plain) < maxPlain {
		cold.plain = append(cold.plain, tool.GetError())
	}
}

// unmask finds whether the words of a result come from an error that the Call has seen as plain: the
// result still has it, or one around it, or it repeats its text.
func (c *Call) unmask(e *ending) {
	cold := c.lock()
	plain := cold.plain
	c.mu.Unlock()
	for _, known := range plain {
		if e.err == nil && strings.Contains(failure.FirstText(e.tool.Content), safe.Error(known)) {
			e.err = known
		}
		if e.err != nil && (safe.Same(e.err, known) || safe.Is(e.err, known)) {
			e.plain = true
		}
	}
}

// An addition is a change to what the caller reads of one failure, see [Call.Add].
type addition struct {
	ending

	change func(*fault.Error) *fault.Error
}

// Add registers a change to what the caller reads of the failure that res and err report, if the call
// ends with it. It reports false for a success.
func (c *Call) Add(res mcp.Result, err error, change func(*fault.Error) *fault.Error) bool {
	if !failure.Failed(res, err) {
		return false
	}
	e := c.ending(res, err)
	cold := c.lock()
	defer c.mu.Unlock()
	if c.atEnd.Load()&over == 0 && cold.ended.Is(e.tool, e.err) {
		cold.ended.Add(change)
	}
	cold.added = append(cold.added, addition{e, change})
	return true
}

// Explain replaces what is known of a failure by x, see [failure.Failure.Explain].
func (c *Call) Explain(f *failure.Failure, x classify.Finding) { f.Explain(x, &c.settings().reader) }

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
