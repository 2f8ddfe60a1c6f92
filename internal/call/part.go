package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// What divides the work of a call (the items of a batch, the parts of an answer) makes a
// Call of its own of each part, with [Call.Below]. What a caller may know of the failure of
// a part says [Call.Public].

// Alone returns a Call for work that is divided where no call is under way. Nothing of its
// failures is shown but what was worded, without its credentials. They are recorded to the
// default log under the name of method, unless quiet says that whoever asked for the work
// gets their causes.
func Alone(ctx context.Context, method string, quiet bool) *Call {
	c := &Call{Context: ctx, method: method, quiet: quiet}
	c.Establish(alone)
	return c
}

var alone = &Settings{Mask: scrub.ForAnyone, Finished: scrub.ForAnyone}

// Public returns what a caller may know of a failure of this Call, with its
// reference if there is a record that this leads to. quote reports whether a text about it
// shows the reference, because the log knows more than the caller reads. It records
// nothing.
func (c *Call) Public(f *failure.Failure) (public *fault.Error, quote bool) {
	defer func() {
		if p := recover(); p != nil {
			report("the failure of a part of a call could not be told", p)
			public, quote = fault.Generic(fault.KindInternal), false
		}
	}()
	return c.public(f)
}

// Part returns how often it was called before for this Call: 0, then 1 and so on.
// Whoever divides the work of a call asks once, so that two who do so in one call can give
// different names to their parts.
func (c *Call) Part() int {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.parts++
	return cold.parts - 1
}

// Clean says of the result of a failed tool call, which has f under [wire.ErrorKey], that each
// part of it was masked by whoever put it together, as a batch of calls below this one
// is. What else stands in it is the caller's own, such as what to send again, and goes
// out as it came.
func (c *Call) Clean(f *fault.Error) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.clean = f
}

// isClean reports whether a result is one that Clean was told of.
func (c *Call) isClean(res *mcp.CallToolResult) bool {
	f, _ := res.Meta[wire.ErrorKey].(*fault.Error)
	cold := c.lock()
	defer c.mu.Unlock()
	return f != nil && f == cold.clean
}
