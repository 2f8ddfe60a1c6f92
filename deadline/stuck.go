package deadline

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/sink"
	"github.com/mcpchain/mcpchain/internal/words"
)

// slot is the key under which handlers are counted.
type slot struct{ owner, method, target string }

// counter counts the handlers that run and, among them, those that are stuck: for one
// tool of one owner, for one owner, and for all. It keeps nothing about handlers that
// have ended.
type counter struct {
	bounds [3]int // of stuck handlers; negative for none

	mu sync.Mutex
	by map[slot]count
}

type count struct{ running, stuck int }

// slots returns the slots in which the handlers of s are counted, in the order of the
// bounds.
func (s slot) slots() [3]slot { return [...]slot{s, {owner: s.owner, method: "*"}, {}} }

// admit counts one more handler that runs, or returns why it may not start.
func (c *counter) admit(s slot) (refused string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, slot := range s.slots() {
		switch n, bound := c.by[slot], c.bounds[i]; {
		case bound < 0:
		case n.stuck >= bound:
			return stuckRefusal
		case n.running >= bound*burst:
			return burstRefusal
		}
	}
	c.count(s, 1, 0)
	return ""
}

// count adds to the counts of a slot. The mutex is held.
func (c *counter) count(s slot, running, stuck int) {
	for _, slot := range s.slots() {
		n := c.by[slot]
		n.running, n.stuck = n.running+running, n.stuck+stuck
		c.by[slot] = n
		if n.running == 0 {
			delete(c.by, slot)
		}
	}
}

// add is count for callers that do not hold the mutex.
func (c *counter) add(s slot, running, stuck int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(s, running, stuck)
}

// left returns how many handlers of a slot are stuck, and how many of all.
func (c *counter) left(s slot) (of, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[s].stuck, c.by[slot{}].stuck
}

// stranded records that the handler was given up.
func (w *run) stranded() {
	w.c.Establish(w.settings)
	w.record(slog.LevelWarn, "mcp handler is stuck", slog.Float64("limit_ms", milliseconds(w.limit)))
}

// late records the outcome of a handler whose call was answered before.
func (w *run) late(o outcome, stuck bool) {
	f := w.c.Judge(o.res, o.err)
	outcome, attrs, level := w.c.Outcome(o.res, f), []slog.Attr(nil), slog.LevelDebug // its context ended, and it stopped
	switch {
	case outcome == call.OutcomePanic:
		level = slog.LevelError
	case stuck:
		level = slog.LevelWarn
	case outcome == call.OutcomeOK: // its caller does not know that it was done
		level = slog.LevelInfo
	}
	if f != nil {
		if err := f.Err(); err != nil {
			attrs = append(attrs, slog.String("error", words.Clip(safe.Error(err), maxText)))
		}
		if stack := f.Stack(); stack != "" {
			attrs = append(attrs, slog.String("stack", stack))
		}
	}
	w.record(level, "mcp handler ended late", append(attrs, slog.String("outcome", outcome), slog.Float64("late_ms", milliseconds(time.Since(w.answered))))...)
}

// record writes a record. A log that cannot be written must not end the process.
func (w *run) record(level slog.Level, message string, more ...slog.Attr) {
	defer safe.Survive()
	logger := w.Logger
	if logger == nil {
		logger = w.c.Logger()
	}
	ctx := context.WithoutCancel(w.c)
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", w.slot.method)}
	if key := call.TargetKey(w.slot.method); key != "" && w.slot.target != "" {
		attrs = append(attrs, slog.String(key, words.Cut(w.slot.target, maxName)))
	}
	of, total := w.handlers.left(w.slot)
	attrs = append(attrs, slog.String("reference", w.c.ID()), slog.Int("stuck", of), slog.Int("stuck_total", total))
	sink.Log(ctx, logger, level, message, append(attrs, more...)...)
}

// The most bytes that are recorded of a name that a client sent, and of an error's
// text.
const (
	maxName = 256
	maxText = 64 << 10
)

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
