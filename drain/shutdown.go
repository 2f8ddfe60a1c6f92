package drain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
)

// Shutdown ends the calls, as the doc of the package describes. It returns when no call is
// left and every answer is written, or when Lag is over, ctx has ended and Grace is over as
// well. It returns nil if every call has ended, and else a [*LeftError]. From its second
// step on, all calls are refused.
//
// A second Shutdown joins the first: for both, Lag counts from when the first began, and
// ends early when the context of either ends.
func (d *Drain) Shutdown(ctx context.Context) error {
	d.lower(ctx)
	idle := d.wait(ctx.Done())
	if !idle {
		d.cut()
		over := make(chan struct{})
		grace := d.Grace
		if grace == 0 {
			grace = defaultGrace
		}
		timer := time.AfterFunc(max(0, grace), func() { close(over) })
		defer timer.Stop()
		idle = d.wait(over)
	}
	d.mu.Lock()
	for front := range d.fronts {
		front.Part(d)
	}
	d.mu.Unlock()
	if idle {
		return nil
	}
	return d.leftError()
}

// lower makes readiness fall, waits for Lag, and then has new calls refused.
func (d *Drain) lower(ctx context.Context) {
	d.mu.Lock()
	if !d.unready() {
		d.lagUntil = time.Now().Add(max(0, d.Lag))
		d.closing = make(chan struct{})
	}
	closing, lag := d.closing, time.Until(d.lagUntil)
	d.mu.Unlock()
	if lag > 0 {
		timer := time.NewTimer(lag)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-closing:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	if d.closed() {
		d.mu.Unlock()
		return
	}
	close(d.closing)
	for r := range d.listens {
		r.c.Cut()
		r.cancel(ErrShutdown)
	}
	logger, carried := d.uncarried, d.carried
	d.mu.Unlock()
	if logger != nil && !carried {
		call.Warn(ctx, logger, "Drain.Shutdown returns before answers are written: put transport.HTTP around the HTTP handler, or run the server on transport.Stdio")
	}
}

// cut ends the contexts of what still runs.
func (d *Drain) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutting = true
	for _, r := range d.running {
		r.c.Cut()
		r.cancel(ErrShutdown)
	}
	for w := range d.detached {
		w.run.c.Cut()
		w.cancel(ErrShutdown)
	}
}

// wait waits until nothing is left, and until the answers of the calls that were refused by
// then are written. It reports whether that happened before done.
func (d *Drain) wait(done <-chan struct{}) bool {
	d.mu.Lock()
	var idle chan struct{}
	if d.left() > 0 {
		if d.idle == nil {
			d.idle = make(chan struct{})
		}
		idle = d.idle
	}
	d.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-done:
			return false
		}
	}
	d.mu.Lock()
	refusals := slices.Collect(maps.Keys(d.refusals))
	d.mu.Unlock()
	for _, r := range refusals {
		select {
		case <-r.written:
		case <-done:
			return false
		}
	}
	return true
}

// leftError names what is left.
func (d *Drain) leftError() error {
	left := map[*run]bool{} // whether the handler has returned
	d.mu.Lock()
	for r := range d.writing {
		left[r] = true
	}
	for w := range d.detached {
		left[w.run] = false
	}
	for _, r := range d.running {
		left[r] = false
	}
	d.mu.Unlock()
	if len(left) == 0 {
		return nil
	}
	e := &LeftError{}
	for r, answered := range left {
		e.Calls = append(e.Calls, Left{
			Method: r.c.Method(), Target: call.Target(r.c.Request()), Reference: r.c.ID(), Running: time.Since(r.began), Answered: answered,
		})
	}
	slices.SortFunc(e.Calls, func(a, b Left) int { return cmp.Compare(b.Running, a.Running) })
	return e
}

// A LeftError says which calls did not end.
type LeftError struct {
	Calls []Left // the longest running first
}

// Left is a call that did not end.
type Left struct {
	Method    string        // such as tools/call
	Target    string        // the tool, prompt or resource, if there is one
	Reference string        // the ID of the call, as in the log
	Running   time.Duration // since it began
	Answered  bool          // its handler has returned, but its answer is not on the wire
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
		if c.Answered {
			b.WriteString(", whose answer is not written")
		}
	}
	return b.String()
}
