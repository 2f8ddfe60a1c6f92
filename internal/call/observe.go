package call

import (
	"context"
	"fmt"
	"sync"
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
	// [Other].
	Method string

	// Tool is the name of a tool that the server has, or [Other] for any other name. It is
	// "" for methods other than tools/call.
	Tool string

	// Outcome says how the call ended, Kind what kind of failure it was, and Party whose.
	// Kind is "" for a success, and [Other] for a kind that is not one of package fault.
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

// An Observer is told how calls ended. It is made with [NewObserver].
type Observer struct {
	hook  func(context.Context, Event)
	stats *Stats

	names   sync.Map // the tools and methods that are known, of at most maxNames
	count   atomic.Int32
	look    sync.Mutex // held by the one that asks the server for its tools
	looked  time.Duration
	started bool
}

const (
	// maxNames is how many names an Observer knows at most.
	maxNames = 4096
	// lookEvery is how often failures with names that are not known may have the server
	// asked for its tools.
	lookEvery = time.Second
)

// NewObserver returns an Observer with a hook, or with stats, of which one may be nil.
func NewObserver(hook func(context.Context, Event), stats *Stats) *Observer {
	if hook == nil && stats == nil {
		return nil
	}
	if stats == nil {
		stats = new(Stats)
	}
	return &Observer{hook: hook, stats: stats}
}

// Watch makes the Call tell the Observer how it ends. Calls that begin so must come to
// their end with [Call.Finish] or [Call.Observe].
func (c *Call) Watch(o *Observer) {
	if c.watch.CompareAndSwap(nil, o) {
		o.stats.InFlight.Add(1)
	}
}

// Observe tells the Observer, if there is one, that the Call has ended. It does nothing
// the second time.
func (c *Call) Observe(res mcp.Result, err error) {
	if c.watch.Load() == nil {
		return
	}
	o := c.watch.Swap(nil)
	if o == nil {
		return
	}
	defer o.stats.InFlight.Add(-1)
	o.tell(c, c.duration(), res, err)
}

// tell calls the hook.
func (o *Observer) tell(c *Call, took time.Duration, res mcp.Result, err error) {
	if o.hook == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			report("a call was not observed", p)
		}
	}()
	e := Event{
		Method: o.method(c), Outcome: c.Outcome(res, err), Part: c.part, Duration: took, Attempts: 1,
		InFlight: o.stats.InFlight.Load(), Stuck: o.stats.Stuck.Load(),
	}
	f := c.Failure(res, err)
	if f != nil {
		public := f.Fault()
		e.Kind, e.Party, e.Err = public.Kind(), f.party(), f.Err()
		if e.Kind == fault.KindRepeatedFailure {
			e.Refused = "retry"
		}
		if !kinds.Known(string(e.Kind)) {
			e.Kind = Other
		}
	}
	c.mu.Lock()
	if c.cold != nil {
		e.Attempts = max(1, c.cold.attempts)
		if f != nil && c.cold.refused != "" {
			e.Refused = c.cold.refused
		}
	}
	c.mu.Unlock()
	if c.method == MethodCallTool {
		e.Tool = o.tool(c, f == nil)
	}
	o.hook(c, e)
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
func (o *Observer) method(c *Call) string {
	if isOfProtocol(c.method) || isCustom(c.req) && o.add("method "+c.method) {
		return c.method
	}
	return Other
}

// tool returns the name of the tool that is called, as a label. A name that was answered
// with a success is known from then on. For one that failed the server is asked, at most
// once in lookEvery.
func (o *Observer) tool(c *Call, answered bool) string {
	name := Target(c.req)
	if _, known := o.names.Load(name); known {
		return name
	}
	if answered {
		return o.added(name)
	}
	if !o.look.TryLock() {
		return Other
	}
	defer o.look.Unlock()
	now := time.Since(epoch)
	if o.started && now-o.looked < lookEvery {
		return Other
	}
	o.started, o.looked = true, now
	for tool, err := range c.Tools() {
		if err != nil {
			if _, one := safe.As[*OneHandlerError](err); one { // the SDK found the handler by this name
				return o.added(name)
			}
			break
		}
		o.add(tool.Name)
	}
	if _, known := o.names.Load(name); known {
		return name
	}
	return Other
}

// added returns the name if it is known or there is room for it, else Other.
func (o *Observer) added(name string) string {
	if o.add(name) {
		return name
	}
	return Other
}

// add makes a name known, and reports whether it is.
func (o *Observer) add(name string) bool {
	if _, known := o.names.Load(name); known {
		return true
	}
	if len(name) > maxName || o.count.Load() >= maxNames {
		return false
	}
	if _, known := o.names.LoadOrStore(name, nil); !known {
		o.count.Add(1)
	}
	return true
}

// A OneHandlerError is the error of a call that a wrapped handler cannot answer, because
// it is of another method.
type OneHandlerError struct{ Method, Called string }

func (e *OneHandlerError) Error() string {
	return fmt.Sprintf("middleware: a wrapped handler of %q cannot answer %q", e.Method, e.Called)
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

// Stuck says that the handler of the Call was given up, with 1, or that it has returned
// after all, with -1.
func (c *Call) Stuck(change int64) {
	if o := c.settings().observer; o != nil {
		o.stats.Stuck.Add(change)
	}
}
