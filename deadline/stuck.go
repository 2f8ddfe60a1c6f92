package deadline

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
)

// Stuck tells of a handler that did not return when it was told to, or of one that
// did so after all.
type Stuck struct {
	Method string
	// Target is the name of the tool or prompt, or the URI of the resource; "" for
	// other methods.
	Target string
	// Limit is how long the handler was given.
	Limit time.Duration
	// Running is how long it has run.
	Running time.Duration
	// Ended reports whether the handler has ended now.
	Ended bool
	// Count is how many handlers of this target are stuck now, and Total how many
	// of all.
	Count, Total int
}

// target is what stuck handlers are counted by.
type target struct{ method, name string }

func (w *run) target() target { return target{w.c.Method(), call.Target(w.req)} }

// counter counts stuck handlers. It holds nothing of those that have ended.
type counter struct {
	perTarget, inAll int // negative for no bound

	mu    sync.Mutex
	total int
	by    map[target]int
}

// admits reports whether one more handler of the target may start.
func (c *counter) admits(t target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.inAll < 0 || c.total < c.inAll) && (c.perTarget < 0 || c.by[t] < c.perTarget)
}

func (c *counter) add(t target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[target]int{}
	}
	c.total++
	c.by[t]++
}

func (c *counter) remove(t target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.by[t]--; c.by[t] == 0 {
		delete(c.by, t)
	}
}

func (c *counter) count(t target) (of, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[t], c.total
}

// stranded tells that the handler was given up.
func (w *run) stranded() {
	w.c.Establish(w.room.settings)
	s := w.tell(false)
	w.record(slog.LevelWarn, "mcp handler is stuck", s,
		slog.Float64("limit_ms", milliseconds(w.limit)), slog.Int("stuck", s.Count), slog.Int("stuck_total", s.Total))
}

// late records the outcome of a handler that nobody waits for any longer.
func (w *run) late(o outcome, counted bool) {
	late := time.Since(w.answered)
	level := slog.LevelDebug // it was told to stop, and did
	s := Stuck{Method: w.c.Method(), Target: call.Target(w.req)}
	if counted {
		level = slog.LevelWarn
		w.room.stuck.remove(w.target())
		s = w.tell(true)
	}
	outcome, attrs := string(call.OutcomeOK), []slog.Attr(nil)
	if failure := w.c.Failure(o.res, o.err); failure != nil {
		outcome = string(failure.Fault().Kind())
		if err := failure.Err(); err != nil {
			attrs = append(attrs, slog.String("error", clip(safe.Error(err), maxText)))
		}
		if p := failure.Panic(); p != nil {
			level, outcome = slog.LevelError, string(call.OutcomePanic)
			attrs = append(attrs, slog.String("stack", p.Stack()))
		}
	} else {
		level = max(level, slog.LevelInfo) // its caller does not know that it was done
	}
	attrs = append(attrs, slog.String("outcome", outcome), slog.Float64("late_ms", milliseconds(late)),
		slog.Int("stuck", s.Count), slog.Int("stuck_total", s.Total))
	w.record(level, "mcp handler ended late", s, attrs...)
}

// tell calls the hook and returns what it was told.
func (w *run) tell(ended bool) Stuck {
	s := Stuck{
		Method: w.c.Method(), Target: call.Target(w.req),
		Limit: w.limit, Running: time.Since(w.began), Ended: ended,
	}
	s.Count, s.Total = w.room.stuck.count(w.target())
	if w.room.onStuck != nil {
		defer func() { _ = recover() }()
		w.room.onStuck(context.WithoutCancel(w.c), s)
	}
	return s
}

// record writes a record. A log that cannot be written must not end the process.
func (w *run) record(level slog.Level, message string, s Stuck, more ...slog.Attr) {
	defer func() { _ = recover() }()
	logger := w.room.logger
	if logger == nil {
		logger = w.c.Logger()
	}
	ctx := context.WithoutCancel(w.c)
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", s.Method)}
	if key := call.TargetKey(s.Method); key != "" && s.Target != "" {
		attrs = append(attrs, slog.String(key, clip(s.Target, maxName)))
	}
	attrs = append(attrs, slog.String("reference", w.c.ID()))
	logger.LogAttrs(ctx, level, message, append(attrs, more...)...) //nolint:sloglint // the message is one of two
}

// How much is recorded of a name that a client sent, and of an error's text.
const (
	maxName = 256
	maxText = 64 << 10
)

func clip(text string, size int) string {
	if len(text) > size {
		return strings.ToValidUTF8(text[:size], "") + " ..."
	}
	return text
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
