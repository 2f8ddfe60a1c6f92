// Package sink writes records to logs that may hang, panic or end their goroutine, and runs other code
// of the program that may do so while a call is recorded. No answer waits longer for it than a bound.
//
// A [Sink] knows whether one log has returned from each record, and which records wait until it has.
// late.go has the records that wait, guard.go the handler that uses a Sink for a user.
package sink

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/words"
)

const (
	// sinkTime is how long an answer waits for its record to be written.
	sinkTime = 250 * time.Millisecond
	// maxText is how much of the text of an error is recorded.
	maxText = 64 << 10
)

var (
	// sinks has one Sink for each logger, so that a log that hangs does not affect another.
	sinks table.Weak[slog.Logger, *Sink]
	// stderr is the Sink of the standard error.
	stderr Sink
)

func sinkOf(logger *slog.Logger) *Sink {
	return sinks.Of(logger, func(*slog.Logger) *Sink { return &Sink{} })
}

// Write passes a record to the handler of a logger. If the handler fails, panics or ends its goroutine,
// the record goes to the default log, with the reason, and from there to standard error. Write returns
// after 250 ms at most, and at once while the handler has not returned from an earlier record: then the
// record is written once the handler has.
func Write(ctx context.Context, logger *slog.Logger, record slog.Record) {
	sinkOf(logger).write(&entry{ctx, logger.Handler(), record, toDefault})
}

// toDefault writes a record that its handler could not write to the default log.
func toDefault(e *entry, err error) {
	e = e.after(err)
	logger := slog.Default()
	if safe.Same(logger.Handler(), e.handler) {
		toStderr(e, err)
		return
	}
	e.handler, e.failed = logger.Handler(), toStderr
	sinkOf(logger).write(e)
}

// toStderr writes a record to standard error, if the default log could not.
func toStderr(e *entry, _ error) {
	stderr.write(&entry{e.ctx, slog.NewJSONHandler(os.Stderr, nil), e.record, nil})
}

// after returns an entry whose record has the reason why a handler could not write it.
func (e *entry) after(err error) *entry {
	with := *e
	with.record = e.record.Clone()
	with.record.AddAttrs(slog.String("log_failed", words.Clip(safe.Error(err), maxText)))
	return &with
}

// Log writes a record if the logger is enabled for its level. A handler that hangs does not hold up the
// call.
func Log(ctx context.Context, logger *slog.Logger, level slog.Level, message string, attrs ...slog.Attr) {
	defer safe.Survive() // of the handler's Enabled
	if !logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, message, 0)
	record.AddAttrs(attrs...)
	Write(context.WithoutCancel(ctx), logger, record)
}

// Apart runs a function of the program's own, which may panic or end its goroutine, and reports
// whether it returned. If not, the default log records that with the consequence.
func Apart(consequence string, f func()) bool {
	_, err := apart.Go(func() (struct{}, error) { f(); return struct{}{}, nil }).Result()
	if panicked, ok := err.(*fault.PanicError); ok {
		Report(consequence, panicked.Value)
	} else if err != nil {
		Report(consequence, err)
	}
	return err == nil
}

// Report writes to the default log that a function of the program's own panicked or ended its
// goroutine.
func Report(what string, p any, more ...slog.Attr) {
	Log(context.Background(), slog.Default(), slog.LevelError, "mcpchain: the program's own code panicked or ended its goroutine",
		append([]slog.Attr{slog.String("consequence", what), slog.String("panic", safe.Value(p))}, more...)...)
}
