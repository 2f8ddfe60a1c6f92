package correlate

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// An Outcome says in one word how a call ended. It is one of these:
//
//   - "ok", and "input_required" where the call goes on when the client has given more input;
//   - "validation" (wrong arguments), "not_found", "denied", "conflict", "rate_limited",
//     "timeout", "unavailable" (something that the tool needs is down or broken) and
//     "internal_error", by the kind of the failure, and "tool_error" for any other failure
//     that the tool told on purpose;
//   - "refused" for a call that had failed too often and was not made again, and "cancelled"
//     for one that the client gave up;
//   - "protocol_error" for a deliberate *jsonrpc.Error, and "panic".
type Outcome string

// An Event says how a call ended, for metrics. Every text in it, but for Err, is one of a
// set that callers cannot enlarge, so that it can be a label.
type Event struct {
	// Method is a method of the protocol or one that the program serves itself, else
	// "_other".
	Method string

	// Tool is the name of a tool that the server has, or "_other" for any other name. It is
	// "" for methods other than tools/call.
	Tool string

	// Outcome says how the call ended, Kind what kind of failure it was, and Party whose.
	// Kind is "" for a success, and "_other" for a kind that is not one of package fault.
	// Party is "" if it is not known.
	Outcome Outcome
	Kind    fault.Kind
	Party   fault.Party

	// Refused is the package that refused the call before its handler ran: "limit",
	// "drain", "deadline", "budget" or "retry". It is "" for any other call.
	Refused string

	// Part reports whether this is an item of a batch or a part of an answer, whose call
	// has an event of its own. There are events of parts that failed only.
	Part bool

	// Duration is how long it took, zero for a part of which that is not known, and
	// Attempts how often the handler was run: more than once where the server repeats.
	Duration time.Duration
	Attempts int

	// InFlight and Stuck are the [Stats] at that moment, this call included.
	InFlight, Stuck int64

	// Err is the original error, which is private: no label, and nothing that a caller may
	// see. It is nil for a success, and for a failure that a tool told in a result.
	Err error
}

// Stats are gauges of the calls that pass one middleware, see Options.Stats. They may be
// read at any time.
type Stats struct {
	InFlight atomic.Int64 // calls that have begun and have not been answered
	Stuck    atomic.Int64 // handlers that were given up and have not returned, see package deadline
}

// Stuck counts handlers that were given up.
func (r *recorder) Stuck(change int64) { r.stats.Stuck.Add(change) }

// Ended tells the hook how a call ended.
func (r *recorder) Ended(c *call.Call, took time.Duration, res mcp.Result, f *failure.Failure) {
	part := c.Parent() != nil
	if !part {
		defer r.stats.InFlight.Add(-1)
	}
	if r.options.Observe == nil {
		return
	}
	e := Event{
		Method: c.Label(), Outcome: Outcome(c.Outcome(res, f)), Part: part, Duration: took,
		InFlight: r.stats.InFlight.Load(), Stuck: r.stats.Stuck.Load(),
	}
	var refused string
	e.Attempts, refused = c.Noted()
	if f != nil {
		e.Refused, e.Kind, e.Party, e.Err = refused, f.Fault().Kind(), f.Party(), f.Err()
		if !kinds.Known(string(e.Kind)) {
			e.Kind = call.Other
		}
	}
	if c.Method() == call.MethodCallTool {
		e.Tool = r.tool(c, f == nil)
	}
	call.Apart("a call was not observed", func() { r.options.Observe(c, e) })
}

// tool returns the name of the tool that is called, as a label. A name that was answered
// with a success is known from then on; for one that failed the server may be asked, by one
// call at a time and seldom: until then a new name is not known.
func (r *recorder) tool(c *call.Call, answered bool) string {
	name := call.Target(c.Request())
	if r.knows(name, answered) {
		return name
	}
	if c.MayLook() {
		for tool, err := range c.Tools() {
			if _, one := safe.As[*call.OneHandlerError](err); err == nil || one { // the SDK found the one handler by this name
				r.knows(cmp.Or(tool, &mcp.Tool{Name: name}).Name, true)
			}
		}
	}
	if r.knows(name, false) {
		return name
	}
	return call.Other
}

// knows reports whether a name is known, or is from now on, because the server serves it.
func (r *recorder) knows(name string, serves bool) bool {
	_, known := r.names.Get(name)
	if !known && serves && len(name) <= call.MaxName {
		r.names.Put(name, struct{}{})
		return true
	}
	return known
}
