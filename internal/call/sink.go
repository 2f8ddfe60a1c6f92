package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/safe"
)

const (
	// sinkTime is how long an answer waits for its record to be written.
	sinkTime = 2 * time.Second
	// maxStuck is how many records one log may hold beyond sinkTime. Further ones go to
	// the fallback at once, so that nobody waits for a log that is stuck.
	maxStuck = 16
)

// A Sink is a place where records are written, with its own count of those that it holds:
// one that is stuck takes no record from another.
type Sink struct {
	wait time.Duration // zero for sinkTime
	max  int           // zero for maxStuck
	room apart.Room
}

// NewSink returns a Sink whose records may take as long as wait, of which it may hold max
// beyond that.
func NewSink(wait time.Duration, most int) *Sink {
	return &Sink{wait: wait, max: most}
}

var (
	defaultSink, stderrSink, warnings Sink

	errBusy = errors.New("too many earlier records have not been written yet")
)

// write hands a record to a handler. A handler that fails, panics, ends its goroutine or
// does not come back in time loses no record and holds no answer: the record goes to the
// default log, with the reason, and from there to standard error.
func (s *Sink) write(ctx context.Context, h slog.Handler, record slog.Record) {
	err := s.Try(ctx, h, record)
	if err == nil {
		return
	}
	fallback := slog.Default().Handler()
	record = record.Clone()
	record.AddAttrs(slog.String("log_failed", clip(safe.Error(err))))
	if !safe.Same(fallback, h) && defaultSink.Try(ctx, fallback, record) == nil {
		return
	}
	_ = stderrSink.Try(ctx, slog.NewJSONHandler(os.Stderr, nil), record)
}

// Try runs the handler in a goroutine of its own, because nothing else survives one that
// blocks or calls runtime.Goexit. It returns why the record may not have been written.
func (s *Sink) Try(ctx context.Context, h slog.Handler, record slog.Record) error {
	wait, most := s.wait, s.max
	if wait == 0 {
		wait, most = sinkTime, maxStuck
	}
	if s.room.Left() >= most {
		return errBusy
	}
	_, err := apart.Run(&s.room, wait, nil, func() (struct{}, error) { return struct{}{}, h.Handle(ctx, record) }, nil)
	return whyApart(err, wait)
}

// whyApart says for a record why something outside, which ran apart, did not do what it was asked.
func whyApart(err error, limit time.Duration) error {
	if panicked, ok := err.(*fault.PanicError); ok {
		return errors.New("it panicked: " + safe.Value(panicked.Value))
	}
	if err == apart.ErrLeft {
		return fmt.Errorf("it took more than %v", limit)
	}
	return err
}

// Warn writes a warning about the program itself, such as an option that has no effect.
func Warn(ctx context.Context, logger *slog.Logger, message string, attrs ...slog.Attr) {
	Notice(ctx, logger, slog.LevelWarn, message, attrs...)
}

// Notice is [Warn] with a level. Like the record of a call it holds nobody, whatever the
// handler does. A nil logger means that of the Call of ctx, and [slog.Default] outside of one.
func Notice(ctx context.Context, logger *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) {
	defer safe.Survive() // the handler's Enabled
	if c := FromContext(ctx); logger == nil && c != nil {
		logger = c.Logger()
	} else if logger == nil {
		logger = slog.Default()
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, "mcpchain: "+message, 0)
	record.AddAttrs(attrs...)
	warnings.write(context.WithoutCancel(ctx), logger.Handler(), record)
}

// The bounds of [Guard].
const (
	guardWait = 250 * time.Millisecond
	guardHeld = 4
)

// Guard returns a handler that passes records on to next and comes back whatever next does; see
// correlate.Guard. One that is guarded already is returned as it is.
func Guard(next slog.Handler) slog.Handler {
	if g, ok := next.(*guard); ok {
		return g
	}
	return &guard{next, NewSink(guardWait, guardHeld)}
}

type guard struct {
	next slog.Handler
	sink *Sink
}

func (g *guard) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() {
		if recover() != nil {
			enabled = true // and Handle says what is wrong
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
