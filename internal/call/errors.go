package call

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An ElsewhereError is the error of a handler that no longer waits for work which another process
// does, such as the server behind a proxy. The return of the handler proves nothing about that work:
// it may go on, and take effect later.
type ElsewhereError struct {
	Err error // why the handler no longer waits
}

// Error returns the text of Err.
func (e *ElsewhereError) Error() string { return safe.Error(e.Err) }

// Unwrap returns Err.
func (e *ElsewhereError) Unwrap() error { return e.Err }

// Effect returns [fault.EffectUnknown].
func (e *ElsewhereError) Effect() fault.Effect { return fault.EffectUnknown }

// An UnknownError is the error of a handler that knows that there is no tool, prompt or resource with
// the name that was called.
type UnknownError struct {
	What string // "tool", "prompt" or "resource"
	Err  error  // a *jsonrpc.Error, whose words and code stay
}

// Error returns the text of Err.
func (e *UnknownError) Error() string { return safe.Error(e.Err) }

// Unwrap returns Err.
func (e *UnknownError) Unwrap() error { return e.Err }
