package sink

import (
	"context"
	"log/slog"
	"time"
)

// guardTime is how long a guarded handler may take. It is shorter than sinkTime, so that an answer still
// waits for the handler that a fail-over tries next.
const guardTime = 200 * time.Millisecond

// Guard returns a handler that passes records on to next and returns in time, see correlate.Guard. A
// guarded handler keeps its Sink.
func Guard(next slog.Handler) slog.Handler { return guarded(next, true) }

// Elsewhere is [Guard] for a handler with a substitute: while it is late, it gets no further records.
func Elsewhere(next slog.Handler) slog.Handler { return guarded(next, false) }

func guarded(next slog.Handler, keep bool) slog.Handler {
	g, ok := next.(*guard)
	switch {
	case !ok:
		return &guard{next, &Sink{}, keep}
	case g.keep == keep:
		return g
	default:
		return &guard{g.next, g.sink, keep}
	}
}

type guard struct {
	next slog.Handler
	sink *Sink
	keep bool
}

func (g *guard) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() {
		if recover() != nil {
			enabled = true // so that Handle reports the panic
		}
	}()
	return g.next.Enabled(ctx, level)
}

func (g *guard) Handle(ctx context.Context, record slog.Record) error {
	e := &entry{context.WithoutCancel(ctx), g.next, record.Clone(), nil}
	if g.keep {
		e.failed = afterAll
	}
	return g.sink.try(e, guardTime, g.keep)
}

// afterAll writes the record of a late handler that failed to standard error. The default log may be the
// guarded handler itself.
func afterAll(e *entry, err error) { toStderr(e.after(err), err) }

func (g *guard) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &guard{g.next.WithAttrs(attrs), g.sink, g.keep}
}

func (g *guard) WithGroup(name string) slog.Handler {
	return &guard{g.next.WithGroup(name), g.sink, g.keep}
}
