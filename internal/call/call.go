// Package call holds the state that mcpchain's middlewares share: the Call of a request, the
// failure that it ends with, its record in the log, and the one renderer of answers. It has
// four rooms:
//
//   - the call: call.go, settings.go (what the middlewares establish), part.go, witness.go, follow.go,
//     request.go and stack.go;
//   - its end: end.go, and failure.go, which makes the failure that package failure decides about;
//   - what is sent and recorded: render.go, content.go, steps.go and observe.go send,
//     record.go records, with package sink;
//   - what the server is asked: server.go, for package ask.
//
// The first mcpchain middleware that a call meets opens a [Call], which is itself the context of
// the call. A middleware that has something to say about a failure enters a [Step] on the way in, and
// returns the result and the error as they came, so that a user's middleware between two of ours sees
// the SDK's own values. The middleware that opened the Call ends it, once: it judges what leaves, runs
// the steps, records the failure and renders the answer. So every middleware works alone, in any
// combination, and twice.
package call

import (
	"context"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/ask"
	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/table"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// A Call is one call of a method, from the first mcpchain middleware that it
// meets (the opener) to the last. It is itself the context that the inner
// handlers get. All methods may be called concurrently.
type Call struct {
	context.Context

	method  string
	req     mcp.Request
	by      *opener // the opener; its handler answers the look-ups of this call
	setup   atomic.Pointer[setup]
	claimed atomic.Pointer[Settings] // the first recovery, if the opener is none
	atEnd   atomic.Uint32            // what is to be done at the end
	began   atomic.Int64
	part    bool // see Below
	quiet   bool // an internal look-up; nothing of it is recorded
	cut     atomic.Bool

	exchange *exchange.Exchange // what brought the call; nil for a part
	seen     atomic.Pointer[Ledger]

	mu      sync.Mutex
	steps   [4]entered // as many as most chains enter
	more    []entered
	entered int
	cold    *cold // rarely needed, and apart, so that a Call is small
}

// cold is guarded by the mutex of its Call.
type cold struct {
	parent *Call
	suffix string // the last part of the ID of a Call below a parent
	id     string
	ended  *failure.Failure  // see End
	plain  []error           // see sawPlain
	added  []addition        // see Add
	panic  *fault.PanicError // the last one that was recovered
	parts  int               // how many times Part was called

	attempts int    // see Attempted
	refused  string // see Refused
	whole    error  // see RefuseList
	kept     bool   // see KeepList

	straggler Straggler    // see Leave
	clean     *fault.Error // see MarkMasked
	past      mcp.Result   // see Behind

	wouldSend string // see WouldRefuse
	unchecked error  // see Unchecked
	missing   *missing

	mending mending
}

// lock locks the Call and returns what is guarded by it.
func (c *Call) lock() *cold {
	c.mu.Lock()
	if c.cold == nil {
		c.cold = &cold{}
	}
	return c.cold
}

// What is to be done at the end of a Call.
const (
	recordAtEnd = 1 << iota // see LogAtEnd
	notifyAtEnd             // see Begin
	referAtEnd              // see ReferAtEnd

	replaced    // see Replaced
	mended      // see NoteMended
	mendNot     // see MendNot
	wouldMend   // see WouldMend
	over        // the failure was judged, and leaves
	wouldRefuse // see WouldRefuse
)

type callKey struct{}

// Value returns the Call itself for callKey, so that a Call costs one allocation, and its
// [Ledger] for ledgerKey. The caller's context answers all other keys.
func (c *Call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case ledgerKey:
		return c.ledger()
	}
	return c.Context.Value(key)
}

// FromContext returns the Call that ctx belongs to, or nil outside a call.
func FromContext(ctx context.Context) *Call {
	if c, ok := ctx.(*Call); ok {
		return c
	}
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Wrap makes a Middleware from a function that runs once a call and may call next. The function
// gets the Call, which Wrap opens if this is the first mcpchain middleware. It calls next with
// ctx or a context made from it, the Call's method and the request. Wrap renders what the
// function returns if it opened the Call, and returns it unchanged otherwise.
func Wrap(run Func) Middleware {
	if run == nil {
		panic("call.Wrap: run is nil; give the function that is run once a call")
	}
	return WrapLayer("", run, nil)
}

// A Layer is what a middleware does with a call, see [Wrap].
type Layer interface {
	Call(ctx context.Context, call *Call, req mcp.Request, next Handler) (mcp.Result, error)
}

// A Func is a Layer that is a function.
type Func func(ctx context.Context, call *Call, req mcp.Request, next Handler) (mcp.Result, error)

// Call calls f.
func (f Func) Call(ctx context.Context, call *Call, req mcp.Request, next Handler) (mcp.Result, error) {
	return f(ctx, call, req, next)
}

// WrapLayer is [Wrap] for a value with a method. It saves the frame of a method value in each
// call, which matters where several middlewares stand around a fast handler. name is that of the
// constructor, for [NameOf]. guard is nil unless the layer is a recovery; then it names the recovery
// in [Call.Guard].
func WrapLayer(name string, layer Layer, guard *Settings) Middleware {
	return func(next Handler) Handler {
		if next == nil && name != "" {
			panic(NoHandlerError(name))
		}
		o := &opener{layer: layer, next: next, guard: guard}
		// A closure, because a method value would be one more frame for each layer.
		o.place.Self = func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			// Most often the middleware outside passed on what it got.
			if c, ok := ctx.(*Call); ok && c.req == req && c.method == method {
				return c.sawPlain(layer.Call(ctx, c, req, next))
			}
			return o.enter(ctx, method, req)
		}
		return o.place.Self
	}
}

// An opener is one middleware in front of one handler.
type opener struct {
	layer Layer
	next  Handler
	guard *Settings // set if the layer is a recovery

	place ask.Place         // what is known of the server behind it
	drops table.Names[bool] // the calls that were left out of steps, see [Call.dropped]
}

// enter finds the Call that a request belongs to, or opens one.
func (o *opener) enter(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	outer := FromContext(ctx)
	if outer != nil && !sameSession(outer.req, req) {
		outer = nil // this server was connected with the context of another server's call
	}
	if outer != nil && outer.method == method {
		return outer.sawPlain(o.layer.Call(ctx, outer, req, o.next))
	}
	return o.open(&Call{Context: ctx, method: method, req: req, by: o, quiet: outer != nil && outer.quiet})
}

func (o *opener) open(call *Call) (mcp.Result, error) {
	if !call.quiet {
		if call.method == MethodCallTool {
			deepen(false)
		}
		if call.exchange = exchange.Take(call.req); call.exchange != nil {
			return o.follow(call)
		}
	}
	return call.Finish(o.layer.Call(call, call, call.req, o.next))
}

// sameSession reports whether two requests may belong to one call. A request without a session
// was made by hand and belongs to any call.
func sameSession(a, b mcp.Request) bool {
	if a == b || safe.Nil(a) || safe.Nil(b) {
		return true
	}
	sa, sb := a.GetSession(), b.GetSession()
	return sa == sb || safe.Nil(sa) || safe.Nil(sb)
}

// Method returns the method that is called.
func (c *Call) Method() string { return c.method }

// Request returns the request as it was when the Call was opened.
func (c *Call) Request() mcp.Request { return c.req }

// Quiet reports whether this Call is a look-up that mcpchain itself makes. Nothing of it is
// recorded.
func (c *Call) Quiet() bool { return c.quiet }

// Notification reports whether the method is a notification, which is never answered. A custom
// method is answered, whatever its name is: the SDK does not accept a custom request without an
// ID.
func (c *Call) Notification() bool {
	return strings.HasPrefix(c.method, "notifications/") && !isCustom(c.req)
}

// Unanswered reports whether middlewares see no answer of the call: it is a notification, or
// subscriptions/listen, which the SDK itself answers.
func (c *Call) Unanswered() bool { return c.method == MethodListen || c.Notification() }

var sdkPath = reflect.TypeFor[mcp.Tool]().PkgPath()

// isCustom reports whether a request has parameters that are not the SDK's.
func isCustom(req mcp.Request) bool {
	if safe.Nil(req) {
		return false
	}
	params := reflect.TypeOf(req.GetParams())
	return params != nil && params.Kind() == reflect.Pointer && params.Elem().PkgPath() != sdkPath
}

// ID returns the correlation ID of the call, which the first call of ID makes: a UUIDv7 (RFC
// 9562), unless the [Recorder] makes another one. The ID of a Call below another one is its
// parent's with a suffix.
func (c *Call) ID() string {
	cold := c.lock()
	defer c.mu.Unlock()
	if cold.id == "" {
		cold.id = c.makeID(cold)
	}
	return cold.id
}

func (c *Call) makeID(cold *cold) string {
	if cold.parent != nil {
		return cold.parent.ID() + cold.suffix
	}
	if recorder := c.settings().Recorder; recorder != nil {
		if id := recorder.NewID(c); id != "" {
			return id
		}
	}
	return uuid.Must(uuid.NewV7()).String()
}

// Below returns a separate Call below c for one part of its work, such as an item of a batch. The
// part fails, is masked and is recorded like a single call, under the ID of c followed by "." and
// name. ctx is c or a context made from it; req is the request that the part stands for.
func (c *Call) Below(ctx context.Context, name string, req mcp.Request) *Call {
	below := &Call{
		Context: ctx, method: c.method, req: req, by: c.by, part: true, quiet: c.quiet,
		cold: &cold{parent: c, suffix: "." + name},
	}
	below.setup.Store(c.setup.Load())
	return below
}

// Parent returns the Call on which [Call.Below] made c, nil if Below did not make it.
func (c *Call) Parent() *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cold == nil {
		return nil
	}
	return c.cold.parent
}

// RefuseList notes that the call, a list, is refused as a whole, with an error that each of its items
// gets.
func (c *Call) RefuseList(err error) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.whole = err
}

// ListRefused returns the error of RefuseList, nil if it was not called.
func (c *Call) ListRefused() error {
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.whole
}

// KeepList notes that the call, a list, has a key under which the answers of its items are kept.
func (c *Call) KeepList() {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.kept = true
}

// ListKept reports whether KeepList was called.
func (c *Call) ListKept() bool {
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.kept
}

// Recovered returns the PanicError for a value that recover returned during this Call. It is the
// existing one if a middleware recovered the same panic and raised it again, else a new one, as
// from [fault.Panicked].
func (c *Call) Recovered(value any, skip int) *fault.PanicError {
	cold := c.lock()
	defer c.mu.Unlock()
	if cold.panic == nil || !samePanic(cold.panic.Value, value) {
		cold.panic = fault.Panicked(value, skip+1)
	}
	return cold.panic
}

// samePanic reports whether b is the value a, raised again.
func samePanic(a, b any) bool {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case va.Kind() == reflect.Func && vb.Kind() == reflect.Func: // here one closure is one function, whatever it captured
		return va.Pointer() == vb.Pointer()
	case va.CanFloat() && vb.CanFloat() && math.IsNaN(va.Float()) && math.IsNaN(vb.Float()):
		return true
	default:
		return safe.Same(a, b)
	}
}

// A Straggler is a handler whose call was answered before it returned. The zero Straggler is none.
type Straggler struct {
	Began time.Time
	Done  <-chan struct{} // closed when the handler has returned
}

// Running reports whether the handler still runs.
func (s Straggler) Running() bool {
	select {
	case <-s.Done: // blocks if it is nil
		return false
	default:
		return s.Done != nil
	}
}

// Leave notes that the call is answered before its handler has returned.
func (c *Call) Leave(s Straggler) {
	cold := c.lock()
	defer c.mu.Unlock()
	cold.straggler = s
}

// Straggler returns the handler of Leave.
func (c *Call) Straggler() Straggler {
	cold := c.lock()
	defer c.mu.Unlock()
	return cold.straggler
}

// Guard reports whether by is the outermost recovery of the call, which checks the
// result for the wire.
func (c *Call) Guard(by *Settings) bool {
	if c.by != nil && c.by.guard != nil && !c.part {
		return c.by.guard == by
	}
	return c.claimed.Load() == by || c.claimed.CompareAndSwap(nil, by)
}
