package call

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// A Step has something to say about the failure with which a call ends: it explains it, or says whether
// the call may be made again.
type Step interface {
	// AtFailure is called when the call has ended with f, once for each f. If a middleware ends the call
	// early and another error leaves, that is another f. The entry is that of [Call.AtFailure].
	AtFailure(c *Call, f *failure.Failure, at Entry)
}

// An Entry is where a [Step] stands in the chain of a call.
type Entry struct {
	Ctx   context.Context // it lives no longer than the call
	Req   mcp.Request     // as the step's middleware passed it on
	Next  Handler         // what stands inside of it
	Began uint64          // the step's own time at which the call reached it
}

// entered is a step of a call.
type entered struct {
	step Step
	at   Entry
}

// AtFailure enters a step for the end of the call. A middleware enters it on the way in, before it calls
// next. Four steps are entered without an allocation. The steps run innermost first. If the same step is entered again, the call
// is being repeated: what it and the middlewares inside of it entered before is dropped.
func (c *Call) AtFailure(step Step, at Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.entered
	for i := range n {
		if c.step(i).step == step {
			n = i
			break
		}
	}
	if n < len(c.steps) {
		c.steps[n] = entered{step, at}
	} else {
		c.more = append(c.more[:n-len(c.steps)], entered{step, at})
	}
	c.entered = n + 1
}

// step returns an entered step. The mutex is held.
func (c *Call) step(i int) *entered {
	if i < len(c.steps) {
		return &c.steps[i]
	}
	return &c.more[i-len(c.steps)]
}

// End returns the failure with which the call ends, nil for a success. It judges the failure and runs the
// steps that were entered so far, once: a second End of the same result and error returns the same
// failure. It is called for the answer that leaves, and before by a middleware that keeps or records the
// failure of its call. After the answer has left, what a handler that was given up returns is only judged.
func (c *Call) End(res mcp.Result, err error) *failure.Failure {
	f := c.Judge(res, err)
	cold := c.lock()
	if f == nil || f == cold.ended || c.atEnd.Load()&over != 0 {
		c.mu.Unlock()
		return f
	}
	for i := c.entered - 1; i >= 0; i-- {
		e := *c.step(i)
		c.mu.Unlock() // a step may ask the Call
		e.step.AtFailure(c, f, e.at)
		c.mu.Lock()
		i = min(i, c.entered)
	}
	cold.ended = f
	c.mu.Unlock()
	return f
}

// Finish renders the answer of a Call made with [Call.Below]. The opener's own
// answer is rendered by [Wrap].
func (c *Call) Finish(res mcp.Result, err error) (mcp.Result, error) {
	if failure.Failed(res, err) {
		return c.finish(res, err)
	}
	observing := c.Observing()
	if !observing {
		res = withSteps(res)
	}
	if atEnd := c.atEnd.Load(); atEnd != 0 {
		if atEnd&recordAtEnd != 0 {
			c.Log(res, nil, 0)
		}
		c.NotifyEnd(res, nil)
		switch {
		case atEnd&(wouldRefuse|wouldMend) != 0:
			c.recordObserved(sentText(res, nil), "")
		case atEnd&referAtEnd != 0 && !observing:
			res = WithMeta(res, wire.ReferenceKey, c.ID())
		}
		res = c.withChanges(res)
	}
	return res, nil
}

// finish judges, records and renders the end of a failed call. It runs untrusted code (an ID source, a
// logger, a scrubber), so it recovers its panics.
func (c *Call) finish(res mcp.Result, err error) (out mcp.Result, outErr error) {
	var f *failure.Failure
	defer func() {
		if p := recover(); p != nil {
			out, outErr = c.giveUp(p)
		}
		c.NotifyEnd(res, f)
	}()
	f = c.End(res, err)
	c.atEnd.Or(over)
	c.LogFailure(res, f)
	switch {
	case c.Notification():
		return nil, err
	case c.Observing():
		return c.observed(res, err, f)
	case c.challenge(f):
		return nil, c.methodError(f)
	}
	c.later(f)
	out, outErr = c.answer(res, err, f)
	return c.withChanges(out), outErr
}
