// Package drain lets a server end without losing a call. New calls are refused, so that
// their callers go to another server. Running calls finish.
//
//	d := &drain.Drain{Lag: 2 * time.Second}
//	server.AddReceivingMiddleware(drain.New(&drain.Options{Drain: d}))
//	http.Handle("/livez", d.Live())
//	http.Handle("/readyz", d.Ready())
//	...
//	<-terminated // SIGTERM
//	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
//	defer cancel()
//	if err := d.Shutdown(ctx); err != nil {
//		log.Print(err) // names the calls that did not end
//	}
//	_ = httpServer.Close()
//
// [Drain.Shutdown] takes four steps:
//
//  1. Readiness falls, and for Drain.Lag calls are still accepted, so that a load
//     balancer has time to see it.
//  2. New calls are refused before their handlers run, and subscriptions end. What is
//     running goes on until the context of Shutdown ends.
//  3. The contexts of what still runs end, with [ErrShutdown] as their cause, and
//     handlers have Drain.Grace to return.
//  4. Calls that still run are returned as a [*LeftError].
//
// A refused caller reads:
//
//	Service unavailable: this server is being replaced: call again now, another one will answer.
//	Retry: yes, after 1 s. Nothing was changed by this call.
//
// # Transports
//
// Over streamable HTTP, end the listener after Shutdown, as above: answers are still
// written until then. A client of 2025-11-25 that has a session needs a new one with its
// next server, unless the handler is stateless. Over stdio the client ends the server
// by closing its input. The SDK then ends what is running; Shutdown, called after
// Server.Run has returned, waits until the handlers have returned.
package drain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/middleware"
)

const defaultGrace = 2 * time.Second

// ErrShutdown is the cause of the end of the context of a call that [Drain.Shutdown]
// could not wait for: context.Cause(ctx) returns it.
var ErrShutdown = classify.ErrShutdown

// Options configure [New].
type Options struct {
	// Drain counts the calls and ends them. It is required, because only its method
	// Shutdown ends the server.
	Drain *Drain
}

// New returns a middleware that lets calls be ended by opts.Drain, which several
// servers of a process may share. It panics without a Drain.
func New(opts *Options) mcp.Middleware {
	if opts == nil || opts.Drain == nil {
		panic("drain.New: Options.Drain is nil; give &drain.Drain{} and call its Shutdown when the server has to end")
	}
	return call.Wrap(opts.Drain.run)
}

// A Drain ends the calls of a process in good order. The zero value is ready for use.
// Set the fields before the first call; all methods may be called concurrently.
type Drain struct {
	// Lag is for how long calls are still accepted after readiness has fallen: longer
	// than a load balancer takes to see it. Zero means not at all.
	Lag time.Duration

	// Grace is how long handlers may take to return after their contexts have ended.
	// Zero means 2 s; a negative one means not at all.
	Grace time.Duration

	mu      sync.Mutex
	unready bool
	closed  bool
	running map[*call.Call]*run
	listens map[*run]struct{}
	idle    chan struct{} // closed when nothing runs any more, made when somebody waits
	refused int64
}

// A run is one call that runs.
type run struct {
	c      *call.Call
	began  time.Time
	cancel context.CancelCauseFunc
}

// Running returns how many calls run now. Subscriptions are not counted.
func (d *Drain) Running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running)
}

// Refused returns how many calls were refused so far.
func (d *Drain) Refused() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

// Live returns a handler for a health check of the process: it always says 200.
func (d *Drain) Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
}

// Ready returns a handler for the health check of a load balancer. It answers 200, and 503
// after [Drain.Shutdown] has begun.
func (d *Drain) Ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.mu.Lock()
		unready := d.unready
		d.mu.Unlock()
		if unready {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}

// run runs a call unless the server is shutting down.
func (d *Drain) run(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	method := c.Method()
	if c.Quiet() || c.Notification() || method == call.MethodPing {
		return next(ctx, method, req)
	}
	r := &run{c: c}
	ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	switch outer, err := d.enter(r); {
	case err != nil:
		c.Refused("drain")
		return nil, err
	case outer:
		return next(ctx, method, req)
	}
	defer d.leave(r)
	res, err := next(ctx, method, req)
	if f := c.Failure(res, err); f != nil && errors.Is(context.Cause(ctx), ErrShutdown) && f.Err() != nil && f.Panic() == nil && f.Wire() == nil {
		return nil, cut(c, next, f.Err())
	}
	return res, err
}

// enter lets a call in. It reports whether the call is in already, itself or with the
// batch that it is an item of.
func (d *Drain) enter(r *run) (outer bool, err error) {
	listens := r.c.Method() == call.MethodListen
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := r.c; c != nil; c = c.Parent() {
		if d.running[c] != nil {
			return true, nil
		}
	}
	switch {
	case d.closed:
		d.refused++
		return false, errReplaced
	case listens:
		if d.listens == nil {
			d.listens = map[*run]struct{}{}
		}
		d.listens[r] = struct{}{}
	default:
		if d.running == nil {
			d.running = map[*call.Call]*run{}
		}
		r.began = time.Now()
		d.running[r.c] = r
	}
	return false, nil
}

func (d *Drain) leave(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.began.IsZero() {
		delete(d.listens, r)
		return
	}
	delete(d.running, r.c)
	if len(d.running) == 0 && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
}

var errReplaced = fault.New(fault.KindServiceUnavailable, "this server is being replaced: call again now, another one will answer").
	WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectNone})

// cut is the failure of a call whose context Shutdown has ended.
func cut(c *call.Call, next mcp.MethodHandler, cause error) error {
	f := fault.New(fault.KindServiceUnavailable, "this server was replaced before the call had finished").WithParty(fault.PartyServer).Because(cause)
	if c.Method() == middleware.MethodCallTool {
		tool, err := c.Tool(next)
		if err != nil || failure.SafetyOf(tool.Annotations) == failure.Writes {
			return f.WithRetry(fault.Retry{Reason: "It may have changed something: check that before you call again.", Effect: fault.EffectUnknown})
		}
	}
	return f.WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectNone})
}

// Shutdown ends the calls, as the doc of the package describes. It returns when no call is
// left, or when Lag is over, ctx has ended and Grace is over as well. It returns nil if
// every call has ended, and else a [*LeftError]. From its second step on, all calls are
// refused. A second Shutdown waits like the first.
func (d *Drain) Shutdown(ctx context.Context) error {
	d.mu.Lock()
	again := d.unready
	d.unready = true
	d.mu.Unlock()
	if d.Lag > 0 && !again {
		lag := time.NewTimer(d.Lag)
		defer lag.Stop()
		select {
		case <-lag.C:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	d.closed = true
	for r := range d.listens {
		r.cancel(ErrShutdown)
	}
	d.mu.Unlock()

	if d.wait(ctx.Done()) {
		return nil
	}
	d.mu.Lock()
	for _, r := range d.running {
		r.cancel(ErrShutdown)
	}
	d.mu.Unlock()
	over := make(chan struct{})
	grace := d.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	timer := time.AfterFunc(max(0, grace), func() { close(over) })
	defer timer.Stop()
	if d.wait(over) {
		return nil
	}
	return d.left()
}

// wait waits until nothing runs and reports whether that happened before done.
func (d *Drain) wait(done <-chan struct{}) bool {
	d.mu.Lock()
	if len(d.running) == 0 {
		d.mu.Unlock()
		return true
	}
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	idle := d.idle
	d.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-done:
		return false
	}
}

func (d *Drain) left() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.running) == 0 {
		return nil
	}
	e := &LeftError{}
	for _, r := range d.running {
		e.Calls = append(e.Calls, Left{Method: r.c.Method(), Target: call.Target(r.c.Request()), Reference: r.c.ID(), Running: time.Since(r.began)})
	}
	slices.SortFunc(e.Calls, func(a, b Left) int { return int(b.Running - a.Running) })
	return e
}

// A LeftError says which calls did not end.
type LeftError struct {
	Calls []Left // those that run for longest first
}

// Left is a call that did not end.
type Left struct {
	Method    string        // such as tools/call
	Target    string        // the tool, prompt or resource, if there is one
	Reference string        // the ID of the call, as in the log
	Running   time.Duration // since it began
}

// Error names the calls, ten at most.
func (e *LeftError) Error() string {
	const most = 10
	var b strings.Builder
	fmt.Fprintf(&b, "drain: calls that did not end: %d", len(e.Calls))
	for i, c := range e.Calls {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(e.Calls)-most)
			break
		}
		fmt.Fprintf(&b, ", %s %q for %s (%s)", c.Method, c.Target, c.Running.Round(time.Millisecond), c.Reference)
	}
	return b.String()
}
