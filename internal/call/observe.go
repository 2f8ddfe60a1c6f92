package call

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
)

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
	// "drain", "deadline" or "retry". It is "" for any other call.
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

// Stats are gauges of the calls that pass one middleware. They may be read at any time.
type Stats struct {
	InFlight atomic.Int64 // calls that have begun and have not been answered
	Stuck    atomic.Int64 // handlers that were given up and have not returned, see package deadline
}

// Other stands in an [Event] for every text that a caller could have invented.
const Other = "_other"

// Observe says that a Call that is watched has ended. It does nothing the second time.
func (c *Call) Observe(res mcp.Result, err error) {
	if c.atEnd.And(^uint32(observeAtEnd))&observeAtEnd == 0 {
		return
	}
	how := c.recording()
	defer how.Stats.InFlight.Add(-1)
	how.observe(c, c.Duration(), res, err)
}

// observe calls the hook.
func (how *Recording) observe(c *Call, took time.Duration, res mcp.Result, err error) {
	if how.Observe == nil {
		return
	}
	e := Event{
		Method: how.method(c), Outcome: c.Outcome(res, err), Part: c.part, Duration: took,
		InFlight: how.Stats.InFlight.Load(), Stuck: how.Stats.Stuck.Load(),
	}
	var refused string
	e.Attempts, refused = c.noted()
	f := c.Failure(res, err)
	if f != nil {
		e.Refused = refused
		public := f.Fault()
		e.Kind, e.Party, e.Err = public.Kind(), f.party(), f.Err()
		if refused == "" && e.Kind == fault.KindRepeatedFailure {
			e.Refused = "retry"
		}
		if !kinds.Known(string(e.Kind)) {
			e.Kind = Other
		}
	}
	if c.method == MethodCallTool {
		e.Tool = how.tool(c, f == nil)
	}
	apart("a call was not observed", func() { how.Observe(c, e) })
}

// party returns whose fault the failure is.
func (f *Failure) party() fault.Party {
	if f.found.Party != "" {
		return f.found.Party
	}
	return f.Fault().Party()
}

// method returns the method of a Call as a label. The SDK passes on a method that is not
// of the protocol only if the program serves it.
func (how *Recording) method(c *Call) string {
	if _, known := methods[c.method]; known || isCustom(c.req) && how.knows(c.method, true) {
		return c.method
	}
	return Other
}

// tool returns the name of the tool that is called, as a label. A name that was answered
// with a success is known from then on; for one that failed the server may be asked, by one
// call at a time and seldom: until then a new name is not known.
func (how *Recording) tool(c *Call, answered bool) string {
	name := Target(c.req)
	if how.knows(name, answered) {
		return name
	}
	if c.by.mayLook() {
		for tool, err := range c.Tools() {
			if _, one := safe.As[*OneHandlerError](err); err == nil || one { // the SDK found the one handler by this name
				how.knows(cmp.Or(tool, &mcp.Tool{Name: name}).Name, true)
			}
		}
	}
	if how.knows(name, false) {
		return name
	}
	return Other
}

// knows reports whether a name is known, or is from now on, because the server serves it.
func (how *Recording) knows(name string, serves bool) bool {
	_, known := how.names.Get(name)
	if !known && serves && len(name) <= maxName {
		how.names.Put(name, struct{}{})
		return true
	}
	return known
}

// lookEvery is how often names that are not known may have a server asked for its tools.
const lookEvery = time.Second

// mayLook reports whether the handlers behind the opener may be asked for their tools now.
func (o *opener) mayLook() bool {
	if o == nil {
		return false
	}
	last, now := o.looked.Load(), time.Since(epoch)
	return (last == 0 || now-time.Duration(last) >= lookEvery) && o.looked.CompareAndSwap(last, int64(now))
}

// Refused says that the middleware of a package refuses the Call before its handler runs.
func (c *Call) Refused(by string) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.refused = by
}

// Attempted says that the handler is run for the nth time.
func (c *Call) Attempted(n int) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.attempts = n
}

// noted returns how often the handler was run, at least 1, and who said that it refuses the
// Call, or "".
func (c *Call) noted() (attempts int, refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cold == nil {
		return 1, ""
	}
	return max(1, c.cold.attempts), c.cold.refused
}

// Stuck says that the handler of the Call was given up, with 1, or that it has returned
// after all, with -1.
func (c *Call) Stuck(change int64) { c.recording().Stats.Stuck.Add(change) }
