package correlate

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/sink"
)

// An Outcome says in one word how a call ended. It is one of these:
//
//   - "ok", and "input_required" where the call goes on when the client has given more input;
//   - "validation" (wrong arguments), "not_found", "denied", "conflict", "rate_limited",
//     "timeout", "unavailable" (something that the tool needs is down or broken) and
//     "internal_error", by the kind of the failure, and "tool_error" for any other failure
//     that the tool returned on purpose;
//   - "refused" for a call that had failed too often and was not made again, and "cancelled"
//     for one that the client gave up;
//   - "protocol_error" for a deliberate *jsonrpc.Error, and "panic".
type Outcome string

// An Event says how a call ended, for metrics. Every text in it, except that of Err, comes
// from a set that callers cannot enlarge, so it can be a label.
type Event struct {
	// Method is a method of the protocol or one that the program serves itself, else
	// "_other".
	Method string

	// Tool is the name of a tool that the server has, or "_other" for any other name. It is
	// "" for methods other than tools/call.
	Tool string

	// Outcome says how the call ended, Kind which kind of failure it was, and Party whose
	// fault it was. Kind is "" for a success, and "_other" for a kind that is not one of
	// package fault. Party is "" if it is not known.
	Outcome Outcome
	Kind    fault.Kind
	Party   fault.Party

	// Refused is the package that refused the call before its handler ran: "limit",
	// "drain", "deadline", "budget" or "retry". It is "" for any other call.
	Refused string

	// Part reports whether this is an item of a batch or a part of an answer, whose call has
	// an event of its own. Only parts that failed have events.
	Part bool

	// Duration is how long the call took; it is zero for a part whose duration is not known.
	// Attempts is how often the handler was run: more than once if the server repeated the
	// call.
	Duration time.Duration
	Attempts int

	// InFlight and Stuck are the [Stats] at that moment, this call included.
	InFlight, Stuck int64

	// Err is the original error, which is private: no label, and nothing that a caller may
	// see. It is nil for a success, and for a failure that a tool returned as a result.
	Err error
}

// Stats are gauges of the calls that pass one middleware, see Options.Stats. They may be
// read at any time.
type Stats struct {
	InFlight atomic.Int64 // calls that have begun and have not been answered
	Stuck    atomic.Int64 // handlers that were given up and have not returned, see package deadline
}

// Stuck adds change to the number of handlers that were given up and still run.
func (r *recorder) Stuck(change int64) { r.stats.Stuck.Add(change) }

// Ended passes the end of a call to Options.Observe.
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
	e.Attempts = c.Attempts()
	if f != nil {
		e.Refused, e.Kind, e.Party, e.Err = c.RefusedBy(), f.Fault().Kind(), f.Party(), f.Err()
		if !kinds.Known(string(e.Kind)) {
			e.Kind = call.Other
		}
	}
	if c.Method() == call.MethodCallTool {
		e.Tool = r.tool(c, f == nil)
	}
	sink.Apart("a call was not observed", func() { r.options.Observe(c, e) })
}

// tool returns the name of the tool that is called, as a label. After a success the name
// counts as that of a tool. After a failure the server may be asked for its tools, by one
// call at a time and seldom; until then a new name is "_other".
func (r *recorder) tool(c *call.Call, answered bool) string {
	name := c.Target()
	if r.knows(name, answered) {
		return name
	}
	if c.Server().MayLook() {
		for tool, err := range c.Server().Tools() {
			if _, one := safe.As[*ask.OneHandlerError](err); err == nil || one { // the SDK found the one handler by this name
				r.knows(cmp.Or(tool, &mcp.Tool{Name: name}).Name, true)
			}
		}
	}
	if r.knows(name, false) {
		return name
	}
	return call.Other
}

// knows reports whether a name is that of a tool of the server. If serves is true, it is from
// now on.
func (r *recorder) knows(name string, serves bool) bool {
	_, known := r.names.Get(name)
	if !known && serves && len(name) <= call.MaxName {
		r.names.Put(name, struct{}{})
		return true
	}
	return known
}
