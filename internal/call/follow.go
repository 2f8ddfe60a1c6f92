package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// follow runs a call whose context ends when its POST is abandoned. A subscription ends by itself then,
// and a notification is never awaited.
func (o *opener) follow(call *Call) (mcp.Result, error) {
	if call.method == MethodListen || call.method == MethodInitialize {
		call.exchange.SetOpener(User(call.req), call.method == MethodListen)
	}
	if !call.Unanswered() {
		followed, stop := call.exchange.Follow(call.Context)
		defer stop()
		call.Context = followed
	}
	return call.Finish(o.layer.Call(call, call, call.req, o.next))
}

// Exchange returns the HTTP or stdio exchange that brought the call, nil if package
// transport had no part in it.
func (c *Call) Exchange() *exchange.Exchange {
	for parent := c.Parent(); parent != nil; parent = c.Parent() {
		c = parent
	}
	return c.exchange
}

// Cut notes that the server's shutdown has ended the context of the call with
// [classify.ErrShutdown]. What its handler returns from now on may be a consequence of
// that, whatever its words are.
func (c *Call) Cut() { c.cut.Store(true) }

// WasCut reports whether Cut was called, for c or for the Call that c is below.
func (c *Call) WasCut() bool {
	for ; c != nil; c = c.Parent() {
		if c.cut.Load() {
			return true
		}
	}
	return false
}

// A Keeper ends calls when their server shuts down. It is the value of [KeeperKey] in
// their contexts.
type Keeper interface {
	// Detach is [Detach].
	Detach(cancel context.CancelCauseFunc) (done func())
}

// KeeperKey is the key of the [Keeper] in a context.
type KeeperKey struct{}

// Detach registers work of the call of ctx that goes on when ctx has ended, and maybe
// after the call was answered. The server waits until done is called. If it cannot wait
// any longer, it calls cancel with [classify.ErrShutdown].
func Detach(ctx context.Context, cancel context.CancelCauseFunc) (done func()) {
	if k, ok := ctx.Value(KeeperKey{}).(Keeper); ok {
		return k.Detach(cancel)
	}
	return func() {}
}

// A StopError is the cause of the end of a call that is to end now. What goes on without its caller ends, too.
type StopError struct{ Reason error }

func (s StopError) Error() string { return s.Reason.Error() }

// Unwrap returns the reason.
func (s StopError) Unwrap() error { return s.Reason }

// IdleKey is the key in the context of a call that waits for another one, or ends it.
type IdleKey struct{}

// The names of the tools whose calls may be idle.
const (
	ResultTool = "task_result"
	CancelTool = "task_cancel"
)

// IsIdle reports whether a call of a tool does no work of its own. It takes no place among those that run, because the
// call for which it waits has one.
func IsIdle(ctx context.Context, tool string) bool {
	return (tool == ResultTool || tool == CancelTool) && ctx.Value(IdleKey{}) != nil
}
