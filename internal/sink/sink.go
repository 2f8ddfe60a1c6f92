// Package sink writes records to logs that may hang, panic or end their goroutine, and runs other code
// of the program that may do so while a call is recorded. No answer waits longer for it than a bound.
package sink

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// sinkTime is how long an answer waits for its record to be written.
	sinkTime = 2 * time.Second
	// maxStuck is how many records may hang in one log beyond sinkTime. Further ones go to the
	// fallback at once, so that no call waits for a stuck log.
	maxStuck = 16
	// maxText is how much of the text of an error is recorded.
	maxText = 64 << 10
)

// A Sink writes records and counts those that hang. Each log has its own, so that a stuck log does
// not affect another.
type Sink struct {
	wait time.Duration // zero for sinkTime
	max  int           // zero for maxStuck
	room apart.Room
}

// New returns a Sink that waits for each record as long as wait, and lets max records hang
// beyond that.
func New(wait time.Duration, most int) *Sink {
	return &Sink{wait: wait, max: most}
}

var (
	defaultSink, stderrSink, warnings Sink

	errBusy = errors.New("too many earlier records have not been written yet")
)

// Write passes a record to a handler. If the handler fails, panics, ends its goroutine or does not
// return in time, the record goes to the default log, with the reason, and from there to standard
// error. The answer does not wait longer.
func (s *Sink) Write(ctx context.Context, h slog.Handler, record slog.Record) {
	err := s.Try(ctx, h, record)
	if err == nil {
		return
	}
	fallback := slog.Default().Handler()
	record = record.Clone()
	record.AddAttrs(slog.String("log_failed", words.Clip(safe.Error(err), maxText)))
	if !safe.Same(fallback, h) && defaultSink.Try(ctx, fallback, record) == nil {
		return
	}
	_ = stderrSink.Try(ctx, slog.NewJSONHandler(os.Stderr, nil), record)
}

// Try runs the handler in a goroutine of its own, because only that survives a handler that blocks
// or calls runtime.Goexit. It returns why the record may not have been written.
func (s *Sink) Try(ctx context.Context, h slog.Handler, record slog.Record) error {
	wait, most := s.wait, s.max
	if wait == 0 {
		wait, most = sinkTime, maxStuck
	}
	if s.room.Left() >= most {
		return errBusy
	}
	_, err := apart.Run(&s.room, wait, nil, func() (struct{}, error) { return struct{}{}, h.Handle(ctx, record) }, nil)
	return apart.Reason(err, wait)
}

// Notice writes a record about the program itself, such as of an option that has no effect. A handler
// that hangs does not hold up the call.
func Notice(ctx context.Context, logger *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) {
	defer safe.Survive() // of the handler's Enabled
	if !logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, "mcpchain: "+message, 0)
	record.AddAttrs(attrs...)
	warnings.Write(context.WithoutCancel(ctx), logger.Handler(), record)
}

// The bounds of [Guard].
const (
	guardWait = 250 * time.Millisecond
	guardHeld = 4
)

// Guard returns a handler that passes records on to next and returns whatever next does; see
// correlate.Guard. A guarded handler is returned unchanged.
func Guard(next slog.Handler) slog.Handler {
	if g, ok := next.(*guard); ok {
		return g
	}
	return &guard{next, New(guardWait, guardHeld)}
}

type guard struct {
	next slog.Handler
	sink *Sink
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
	return g.sink.Try(ctx, g.next, record.Clone())
}

func (g *guard) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &guard{g.next.WithAttrs(attrs), g.sink}
}

func (g *guard) WithGroup(name string) slog.Handler { return &guard{g.next.WithGroup(name), g.sink} }

// Apart runs a function of the program's own, which may panic or end its goroutine, and reports
// whether it returned. If not, the default log records that with the consequence.
func Apart(consequence string, f func()) bool {
	_, err := apart.Run(nil, 0, nil, func() (struct{}, error) { f(); return struct{}{}, nil }, nil)
	if panicked, ok := err.(*fault.PanicError); ok {
		Report(consequence, panicked.Value)
	} else if err != nil {
		Report(consequence, err)
	}
	return err == nil
}

// Report writes to the default log that a function of the program's own panicked or ended its
// goroutine. It survives a panic of the default log.
func Report(what string, p any, more ...slog.Attr) {
	defer safe.Survive()
	slog.Default().LogAttrs(context.Background(), slog.LevelError, "mcpchain: the program's own code panicked or ended its goroutine",
		append([]slog.Attr{slog.String("consequence", what), slog.String("panic", safe.Value(p))}, more...)...)
}
