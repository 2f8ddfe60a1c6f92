package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A function that divides the work of a call (the items of a batch, the parts of an answer)
// makes a Call for each part with [Call.Below]. [Call.Public] returns what a caller may know
// of the failure of a part.

// Alone returns a Call for divided work outside of any call. Callers read only texts that were
// written for them, without credentials. Failures are recorded to the default log under the
// name of method, unless quiet is set: then the function that asked for the work gets their
// causes.
func Alone(ctx context.Context, method string, quiet bool) *Call {
	c := &Call{Context: ctx, method: method, quiet: quiet}
	c.Establish(alone)
	return c
}

var alone = &Settings{Mask: scrub.ForAnyone, Finished: scrub.ForAnyone}

// Public returns what a caller may know of a failure of this Call, with its reference if a
// record has it. quote reports whether a text about the failure shows the reference, because
// the log knows more than the caller reads. Public records nothing.
func (c *Call) Public(f *failure.Failure) (public *fault.Error, quote bool) {
	defer func() {
		if p := recover(); p != nil {
			sink.Report("the failure of a part of a call could not be told", p)
			public, quote = fault.Generic(fault.KindInternal), false
		}
	}()
	return c.public(f)
}

// NextPart returns how often it was called before for this Call: 0, then 1 and so on. A function
// that divides the work of a call calls it once, so that two of them in one call can give
// different names to their parts.
func (c *Call) NextPart() int {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.parts++
	return cold.parts - 1
}

// MarkMasked marks the result of a failed tool call, which has f under [wire.ErrorKey], as masked
// part by part by the middleware that composed it, such as a batch. The rest of it is the
// caller's own, such as what to send again, and is sent unchanged.
func (c *Call) MarkMasked(f *fault.Error) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.clean = f
}

// isMasked reports whether MarkMasked has marked a result.
func (c *Call) isMasked(res *mcp.CallToolResult) bool {
	f, _ := res.Meta[wire.ErrorKey].(*fault.Error)
	cold := c.lock()
	defer c.mu.Unlock()
	return f != nil && f == cold.clean
}
