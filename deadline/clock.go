package deadline

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// A clock is the context of a handler whose time is limited. Unlike one of
// [context.WithDeadlineCause], its deadline moves while the call is paused. It ends only when stop is
// called: the run that it belongs to passes on the end of the parent.
type clock struct {
	parent context.Context //nolint:containedctx // a context is made of another one
	outer  *clock          // the clock of a middleware or a call further out; nil if there is none
	c      *call.Call
	grace  time.Duration // how long the handler may take to return after its context ended

	mu       sync.Mutex
	timer    *time.Timer // fires when the time is up; nil before the start
	deadline time.Time
	slack    time.Duration   // how far pauses may still move the deadline
	paused   int             // pauses that have begun and not ended
	since    time.Time       // when the first of them began
	ended    context.Context //nolint:containedctx // what ended the clock, which takes its error and its cause

	// waits ends with the clock, for the contexts and functions that are made from the clock.
	// Most handlers make none, so waits is made when it is first needed.
	waits context.Context //nolint:containedctx // see above
	end   context.CancelFunc
}

type clockKey struct{}

// clockOf returns the clock that ctx was made from, or nil.
func clockOf(ctx context.Context) *clock {
	c, _ := ctx.Value(clockKey{}).(*clock)
	return c
}

// Deadline returns the time at which the context ends, unless a pause moves it.
func (c *clock) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, true
}

// Done returns a channel that is closed when the clock stops.
func (c *clock) Done() <-chan struct{} { return c.waiting().Done() }

// AfterFunc arranges to call f when the clock stops. Package context asks for it, so
// that a context made from this one costs no goroutine.
func (c *clock) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.waiting(), f) }

func (c *clock) waiting() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits == nil {
		c.waits, c.end = context.WithCancel(context.Background())
		if c.ended != nil {
			c.end()
		}
	}
	return c.waits
}

// Err returns nil until the clock stops, and then the reason.
func (c *clock) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		return nil
	}
	return c.ended.Err()
}

// Value finds the clock itself and the cause of its end. Everything else comes from the parent.
func (c *clock) Value(key any) any {
	if _, ok := key.(clockKey); ok {
		return c
	}
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended != nil {
		if v := ended.Value(key); v != nil {
			return v
		}
	}
	return c.parent.Value(key)
}

// stop ends the context as another one ended. It reports false if it has ended before.
func (c *clock) stop(as context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return false
	}
	c.ended = as
	c.timer.Stop()
	if c.end != nil {
		c.end()
	}
	return true
}

// start sets the timer that calls f when the time is up.
func (c *clock) start(limit time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(limit, f)
}

// pause stops the clock until resume has been called as often as pause. The deadline moves by all
// that pauses may still take, and resume moves it back by the unused part.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 {
		c.since = time.Now()
		c.move(c.slack)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 {
		unused := max(0, c.slack-time.Since(c.since))
		c.move(-unused)
		c.slack = unused
	}
}

func (c *clock) move(by time.Duration) {
	c.deadline = c.deadline.Add(by)
	if c.ended == nil {
		c.timer.Reset(time.Until(c.deadline))
	}
}

// Pause stops the clock of the call that ctx belongs to until resume is called, for time that
// the handler does not use itself, such as while a person thinks about a question:
//
//	resume := deadline.Pause(ctx)
//	answer, err := ask(ctx)
//	resume()
//
// The clocks of limits further out stop too. Altogether the clock of a call stops for ten
// minutes at most, and never beyond the time at which the caller is known to give up. Pauses
// may overlap; resume may be called more than once. Without a limit, and after the call, Pause
// does nothing. resume is never nil.
func Pause(ctx context.Context) (resume func()) {
	inner := clockOf(ctx)
	if inner == nil {
		return func() {}
	}
	for c := inner; c != nil; c = c.outer {
		c.pause()
	}
	return sync.OnceFunc(func() {
		for c := inner; c != nil; c = c.outer {
			c.resume()
		}
	})
}

// Sending returns a middleware for what a server sends. It stops the clock of a call
// while its handler waits for the client to answer a request (an elicitation, a
// sampling, its roots) that was sent with the handler's context:
//
//	server.AddSendingMiddleware(deadline.Sending())
//
// Pings and notifications do not stop it.
func Sending() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != call.MethodPing && !strings.HasPrefix(method, "notifications/") {
				defer Pause(ctx)()
			}
			return next(ctx, method, req)
		}
	}
}
