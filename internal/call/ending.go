package call

import (
	"context"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// Exchange returns what brought the call, nil where package transport had no part in it.
func (c *Call) Exchange() *exchange.Exchange {
	for parent := c.Parent(); parent != nil; parent = c.Parent() {
		c = parent
	}
	return c.exchange
}

// Cut notes that the end of the server has ended the context of the call with
// [classify.ErrShutdown], so that what its handler says from now on may be about that,
// whatever its words are.
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

// A Keeper ends calls with their server. It is the value of [KeeperKey] in their contexts.
type Keeper interface {
	// Detach is [Detach].
	Detach(cancel context.CancelCauseFunc) (done func())
}

// KeeperKey is the key of the [Keeper] in a context.
type KeeperKey struct{}

// Detach makes known that the call of ctx has work that goes on when ctx has ended, and
// maybe after the call was answered. When the server ends and cannot wait for the work any
// longer, cancel is called with [classify.ErrShutdown]; until done is called, the server
// waits.
func Detach(ctx context.Context, cancel context.CancelCauseFunc) (done func()) {
	if k, ok := ctx.Value(KeeperKey{}).(Keeper); ok {
		return k.Detach(cancel)
	}
	return func() {}
}
