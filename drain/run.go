package drain

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/exchange"
)

// A run is one call that runs, or whose answer is being written. It is itself the context
// of its handler.
type run struct {
	context.Context //nolint:containedctx // it is one, as a Call is

	d        *Drain
	c        *call.Call
	exchange *exchange.Exchange // nil if the call did not come through package transport
	began    time.Time
	cancel   context.CancelCauseFunc
	written  chan struct{} // of a refused call: closed when the answer is written
}

// work is what goes on after the context of its call has ended.
type work struct {
	run    *run
	cancel context.CancelCauseFunc
}

// run runs a call unless the server is shutting down.
func (d *Drain) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	method := c.Method()
	if c.Quiet() || c.Notification() || method == call.MethodPing {
		return next(ctx, method, req)
	}
	r := &run{d: d, c: c, exchange: c.Exchange()}
	r.Context, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	switch outer, err := d.enter(r); {
	case err != nil:
		c.Refused("drain")
		return nil, err
	case outer:
		return next(ctx, method, req)
	}
	defer d.leave(ctx, r)
	c.AtFailure(cut{}, call.Entry{Next: next})
	res, err := next(r, method, req)
	if c.WasCut() {
		return ended(res, err)
	}
	return res, err
}

// Value returns the run itself for its own key.
func (r *run) Value(key any) any {
	if _, ok := key.(call.KeeperKey); ok {
		return r
	}
	return r.Context.Value(key)
}

// enter registers a call, or refuses it. outer is true if the call was registered already,
// or the batch that it is an item of.
func (d *Drain) enter(r *run) (outer bool, err error) {
	listens := r.c.Method() == call.MethodListen
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := r.c; c != nil; c = c.Parent() {
		if d.running[c] != nil {
			return true, nil
		}
	}
	d.carry(r)
	switch {
	case d.closed():
		d.refused++
		if r.exchange != nil {
			r.exchange.Leave()
			r.written = make(chan struct{})
			add(&d.refusals, r)
			if !r.exchange.Await(r) {
				delete(d.refusals, r)
			}
		}
		return false, errReplaced
	case listens:
		add(&d.listens, r)
	default:
		if d.running == nil {
			d.running = map[*call.Call]*run{}
		}
		r.began = time.Now()
		d.running[r.c] = r
	}
	return false, nil
}

// carry notes whether calls come through package transport, and joins their HTTP handlers.
func (d *Drain) carry(r *run) {
	switch x := r.exchange; {
	case x == nil && r.c.Method() == call.MethodDiscover:
		// A program in front of a server asks this by itself. What clients call shows the transport.
	case x == nil && !d.carried && d.uncarried == nil:
		d.uncarried = r.c.Logger()
	case x != nil:
		d.carried = true
		if _, joined := d.fronts[x.Front()]; !joined && x.Front() != nil {
			add(&d.fronts, x.Front())
			x.Front().Join(d)
		}
	}
}

// add puts an element into a set.
func add[T comparable](set *map[T]struct{}, element T) {
	if *set == nil {
		*set = map[T]struct{}{}
	}
	(*set)[element] = struct{}{}
}

// leave notes that the handler of a call has returned. given is the context with which the
// call came. From now on Shutdown waits for the answer only.
func (d *Drain) leave(given context.Context, r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.began.IsZero() {
		delete(d.listens, r)
		return
	}
	delete(d.running, r.c)
	defer d.rest()
	x := r.exchange
	if x == nil {
		return
	}
	if d.unready() {
		x.Leave()
	}
	add(&d.writing, r)
	switch {
	case x.Await(r):
	case given.Done() != nil:
		// The POST has ended before its answer, which may go to a store of events or to a
		// stream that took the place of the POST. When the SDK has handed it over, it ends
		// the context.
		context.AfterFunc(given, r.Written)
	default:
		delete(d.writing, r)
	}
}

// Written notes that the answer of the call is on the wire, or never will be.
func (r *run) Written() {
	d := r.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.written != nil {
		close(r.written)
		delete(d.refusals, r)
		return
	}
	delete(d.writing, r)
	d.rest()
}

// Detach implements [call.Keeper].
func (r *run) Detach(cancel context.CancelCauseFunc) (done func()) {
	d, w := r.d, &work{run: r, cancel: cancel}
	d.mu.Lock()
	defer d.mu.Unlock()
	add(&d.detached, w)
	if d.cutting {
		cancel(ErrShutdown)
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.detached, w)
		d.rest()
	}
}

// rest wakes every Shutdown that waits, if nothing is left to wait for.
func (d *Drain) rest() {
	if d.idle != nil && d.left() == 0 {
		close(d.idle)
		d.idle = nil
	}
}

// left returns how much there is to wait for.
func (d *Drain) left() int { return len(d.running) + len(d.writing) + len(d.detached) }

var errReplaced = fault.New(fault.KindServiceUnavailable, "this server is being replaced: another one will answer").
	WithParty(fault.PartyServer).
	WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectNone})
