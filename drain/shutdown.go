package drain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
)

// Shutdown ends the calls, as the doc of the package describes. It returns when no call is left and
// every answer is written, or when Lag, ctx and Grace are over. It returns nil if every call has
// ended, and else an error with the calls that did not end. From its second step on, all calls are
// refused.
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

// wait waits until nothing is left. Then it waits for the answers of the calls that were refused
// before. It reports whether both happened before done.
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

// leftError returns an error with the calls that are left, or nil. It names the ten oldest.
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
	const most = 10
	var b strings.Builder
	fmt.Fprintf(&b, "drain: calls that did not end: %d", len(left))
	oldest := slices.SortedFunc(maps.Keys(left), func(a, b *run) int { return a.began.Compare(b.began) })
	for i, r := range oldest {
		if i == most {
			fmt.Fprintf(&b, ", and %d more", len(left)-most)
			break
		}
		fmt.Fprintf(&b, ", %s %q for %s (%s)", r.c.Method(), call.Target(r.c.Request()), time.Since(r.began).Round(time.Millisecond), r.c.ID())
		if left[r] {
			b.WriteString(", whose answer is not written")
		}
	}
	return errors.New(b.String())
}
