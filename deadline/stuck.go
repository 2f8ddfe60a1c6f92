package deadline

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Stuck tells of a handler that did not return when it was told to, or of one that
// did so after all.
type Stuck struct {
	Method string
	// Target is the name of the tool or prompt, or the URI of the resource; "" for
	// other methods.
	Target string
	// Owner is who made the call; "" for callers without an identity.
	Owner string
	// Limit is how long the handler was given.
	Limit time.Duration
	// Running is how long it has run.
	Running time.Duration
	// Ended reports whether the handler has ended now.
	Ended bool
	// Count is how many handlers of this target are stuck now for this owner, and Total
	// how many of all.
	Count, Total int
}

// slot is what handlers are counted by.
type slot struct{ owner, method, target string }

// counter counts the handlers that run and those of them that are stuck: of an owner's
// tool, of an owner, and of all. It holds nothing of those that have ended.
type counter struct {
	bounds [3]int // of stuck handlers; negative for none
	burst  int    // how many times as many may run; negative for no bound

	mu sync.Mutex
	by map[slot]count
}

type count struct{ running, stuck int }

// slots returns what the handlers of s are counted in, in the order of the bounds.
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
		case c.burst >= 0 && n.running >= bound*c.burst:
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

// add is count, for those who do not hold the mutex. It returns how many are stuck.
func (c *counter) add(s slot, running, stuck int) (of, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(s, running, stuck)
	return c.by[s].stuck, c.by[slot{}].stuck
}

// stranded tells that the handler was given up.
func (w *run) stranded() {
	w.c.Establish(w.settings)
	s := w.tell(false)
	w.record(slog.LevelWarn, "mcp handler is stuck", s, slog.Float64("limit_ms", milliseconds(w.limit)))
}

// late records the outcome of a handler that nobody waits for any longer.
func (w *run) late(o outcome, counted bool) {
	late := time.Since(w.answered)
	level := slog.LevelDebug // it was told to stop, and did
	s := Stuck{Method: w.slot.method, Target: w.slot.target}
	if counted {
		level = slog.LevelWarn
		s = w.tell(true)
	}
	outcome, attrs := string(call.OutcomeOK), []slog.Attr(nil)
	if failure := w.c.Failure(o.res, o.err); failure != nil {
		outcome = string(failure.Fault().Kind())
		if err := failure.Err(); err != nil {
			attrs = append(attrs, slog.String("error", words.Clip(safe.Error(err), maxText)))
		}
		if p := failure.Panic(); p != nil {
			level, outcome = slog.LevelError, string(call.OutcomePanic)
			attrs = append(attrs, slog.String("stack", p.Stack()))
		}
	} else {
		level = max(level, slog.LevelInfo) // its caller does not know that it was done
	}
	w.record(level, "mcp handler ended late", s, append(attrs, slog.String("outcome", outcome), slog.Float64("late_ms", milliseconds(late)))...)
}

// tell calls the hook and returns what it was told.
func (w *run) tell(ended bool) Stuck {
	s := Stuck{
		Method: w.slot.method, Target: w.slot.target, Owner: w.slot.owner,
		Limit: w.limit, Running: time.Since(w.began), Ended: ended,
	}
	s.Count, s.Total = w.handlers.add(w.slot, 0, 0)
	if w.OnStuck != nil {
		defer func() { _ = recover() }()
		w.OnStuck(context.WithoutCancel(w.c), s)
	}
	return s
}

// record writes a record. A log that cannot be written must not end the process.
func (w *run) record(level slog.Level, message string, s Stuck, more ...slog.Attr) {
	defer func() { _ = recover() }()
	logger := w.Logger
	if logger == nil {
		logger = w.c.Logger()
	}
	ctx := context.WithoutCancel(w.c)
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", s.Method)}
	if key := call.TargetKey(s.Method); key != "" && s.Target != "" {
		attrs = append(attrs, slog.String(key, words.Cut(s.Target, maxName)))
	}
	attrs = append(attrs, slog.String("reference", w.c.ID()), slog.Int("stuck", s.Count), slog.Int("stuck_total", s.Total))
	logger.LogAttrs(ctx, level, message, append(attrs, more...)...) //nolint:sloglint // the message is one of two
}

// How much is recorded of a name that a client sent, and of an error's text.
const (
	maxName = 256
	maxText = 64 << 10
)

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
