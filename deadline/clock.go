package deadline

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
)

// A clock is the context of a handler whose time is limited. It differs from one of
// [context.WithDeadlineCause] in that its deadline moves while the call is paused;
// contexts made from it end as those of the standard library do, with the error and
// the cause of the clock. It ends when stop is called, and by nothing else: the run
// that it belongs to passes on the end of the parent.
type clock struct {
	parent context.Context //nolint:containedctx // a context is made of another one
	outer  *clock          // of a middleware or a call further out; nil if there is none
	c      *call.Call
	grace  time.Duration // how long the handler may take to return once it was told to stop

	mu       sync.Mutex
	timer    *time.Timer // fires when the time is up; nil before the start and once the clock has stopped
	deadline time.Time
	latest   time.Time     // which pauses do not move; zero if there is no such time
	slack    time.Duration // by how much pauses may still move the deadline
	paused   int           // pauses that have begun and not ended
	since    time.Time     // when the first of them began
	done     chan struct{} // made when first asked for
	err      error
	cause    context.Context //nolint:containedctx // ended, to hold the cause where context.Cause looks for it
	after    map[*func()]struct{}
}

type clockKey struct{}

// clockOf returns the clock that ctx was made from, or nil.
func clockOf(ctx context.Context) *clock {
	c, _ := ctx.Value(clockKey{}).(*clock)
	return c
}

// Deadline returns the time at which the handler is told to stop, as it stands now.
func (c *clock) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends(), true
}

// ends returns when the time is over. The mutex is held.
func (c *clock) ends() time.Time {
	if !c.latest.IsZero() && c.latest.Before(c.deadline) {
		return c.latest
	}
	return c.deadline
}

// Done returns a channel that is closed when the clock stops.
func (c *clock) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err returns nil until the clock stops, and then why.
func (c *clock) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value finds the clock itself and the cause of its end, and asks the parent for
// everything else.
func (c *clock) Value(key any) any {
	if _, ok := key.(clockKey); ok {
		return c
	}
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	if cause != nil {
		if v := cause.Value(key); v != nil {
			return v
		}
	}
	return c.parent.Value(key)
}

// AfterFunc arranges to call f when the clock stops. Package context asks for it, so
// that a context made from this one costs no goroutine.
func (c *clock) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f() // not here: the caller holds a lock
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	key := &f
	c.after[key] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.after[key]
		delete(c.after, key)
		return waits
	}
}

// stop ends the context, once, with an error and, unless it is nil, another cause.
func (c *clock) stop(err, cause error) {
	for f := range c.end(err, cause) {
		(*f)()
	}
}

// end is stop without what is to be called, which it returns.
func (c *clock) end(err, cause error) (after map[*func()]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil
	}
	if cause != nil {
		holder, end := context.WithCancelCause(context.Background())
		end(cause)
		c.cause = holder
	}
	c.err = err
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.done != nil {
		close(c.done)
	}
	after, c.after = c.after, nil
	return after
}

// start sets the timer that calls f when the time is up.
func (c *clock) start(limit time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(limit, f)
}

// expire ends the context with the cause if its time is up.
func (c *clock) expire(cause error) bool {
	if !c.over() {
		return false
	}
	c.stop(context.DeadlineExceeded, cause)
	return true
}

// over reports whether the time is up. A handler that looks at the deadline of its
// context may return before the timer fires; and one that fired just before a pause is
// set anew.
func (c *clock) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := time.Until(c.ends())
	if left > 0 {
		c.timer.Reset(left)
	}
	return left <= 0
}

// pause stops counting the time until resume is called as often. The deadline moves
// by as much as a pause may take, and back again by what was not used of it.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused > 1 {
		return
	}
	c.since = time.Now()
	c.move(c.slack)
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused > 0 {
		return
	}
	unused := max(0, c.slack-time.Since(c.since))
	c.move(-unused)
	c.slack = unused
}

func (c *clock) move(by time.Duration) {
	c.deadline = c.deadline.Add(by)
	if c.timer != nil {
		c.timer.Reset(time.Until(c.ends()))
	}
}

// Pause stops the clock of the call that ctx belongs to until resume is called, for
// time that is not the handler's, such as that of a person who is asked something:
//
//	resume := deadline.Pause(ctx)
//	answer, err := ask(ctx)
//	resume()
//
// Limits further out stand too. Altogether the clock of a call stands for
// Options.MaxPause at most, and never beyond the time at which the caller is known to
// give up. Pauses may overlap; resume may be called more than once. Where no limit
// applies, and after the call, Pause does nothing. Neither is ever nil.
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
