package sink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/apart"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/words"
)

// maxWaiting is how many records wait for a log that has not returned from an earlier one. Further ones
// are dropped and counted.
const maxWaiting = 1000

// errLate is the error of a record that the Sink keeps: it is written when the log returns, or counted as
// dropped. So it is not written anywhere else.
var errLate = errors.New("the log has not returned in time; the record is written when it does")

// A Sink writes the records of one log. As long as the log returns in time, each record has a goroutine
// of its own. When it does not, later records wait, and one goroutine writes them in their order as soon
// as the log is back. The zero value is ready for use, by several goroutines.
type Sink struct {
	behind atomic.Bool // an earlier record is late, so that later ones have to wait for it

	mu       sync.Mutex
	hanging  int // handlers that were given up and have not returned
	draining bool
	waiting  []*entry
	dropped  int
}

// An entry is a record and its handler.
type entry struct {
	ctx     context.Context //nolint:containedctx // that of the record, which may wait
	handler slog.Handler
	record  slog.Record
	failed  func(*entry, error) // called if the handler fails; nil for nothing
}

// write writes a record. If the handler cannot, it calls failed.
func (s *Sink) write(e *entry) {
	if err := s.try(e, sinkTime, true); err != nil && !isLate(err) && e.failed != nil {
		e.failed(e, err)
	}
}

// try runs the handler in a goroutine of its own, because only that survives a handler that blocks or
// calls runtime.Goexit. It returns why the handler could not write the record. The error is errLate if
// the handler takes longer than wait, or if an earlier record is late. In the latter case the Sink keeps
// the record only if keep says so.
func (s *Sink) try(e *entry, wait time.Duration, keep bool) error {
	if s.behind.Load() && s.queue(e, keep) {
		return errLate
	}
	work := apart.Go(e.handle)
	if !work.Within(wait) {
		s.count(1)
		go func() {
			_, err := work.Result()
			e.lateEnd(err)
			s.count(-1)
		}()
		return errLate
	}
	_, err := work.Result()
	return apart.Reason(err)
}

func (e *entry) handle() (struct{}, error) { return struct{}{}, e.handler.Handle(e.ctx, e.record) }

// lateEnd takes the error of a handler for which nobody waits.
func (e *entry) lateEnd(err error) {
	defer safe.Survive() // in a goroutine of ours
	if err != nil && !isLate(err) && e.failed != nil {
		e.failed(e, apart.Reason(err))
	}
}

// queue reports whether a record has to wait. If so it is appended, dropped, or left to its caller.
func (s *Sink) queue(e *entry, keep bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.behind.Load():
		return false // the log has just come back
	case !keep:
	case len(s.waiting) >= maxWaiting:
		s.dropped++
	default:
		kept := *e
		kept.record = e.record.Clone()
		if lasting, ok := e.ctx.Value(Lasting{}).(context.Context); ok {
			kept.ctx = lasting
		}
		s.waiting = append(s.waiting, &kept)
	}
	return true
}

// Lasting is the key of a smaller context in the context of a record: it lacks what is too large to be
// kept while the record waits.
type Lasting struct{}

// count counts a handler that was given up, with 1, or that has returned after all, with -1. When the last
// one has returned, what waits is written.
func (s *Sink) count(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hanging += change
	if s.hanging == 0 && !s.draining && len(s.waiting) > 0 {
		s.draining = true
		go s.drain()
	}
	s.behind.Store(s.hanging > 0 || s.draining)
}

// drain writes what waits, until nothing does. It has no time limit, because nobody waits for it.
func (s *Sink) drain() {
	var last *entry
	for e, dropped := s.take(); e != nil || dropped > 0; e, dropped = s.take() {
		if e == nil {
			last.lost(dropped)
			continue
		}
		last = e
		_, err := apart.Go(e.handle).Result()
		e.lateEnd(err)
	}
}

// take returns the next record that waits. Behind the last one it returns how many were dropped. If there
// are neither, drain ends.
func (s *Sink) take() (e *entry, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		e, s.waiting[0] = s.waiting[0], nil
		s.waiting = s.waiting[1:]
		return e, 0
	}
	dropped, s.dropped = s.dropped, 0
	s.draining = dropped > 0
	s.behind.Store(s.hanging > 0 || s.draining)
	return nil, dropped
}

// lost writes to the log of an entry how many records were dropped behind it.
func (e *entry) lost(n int) {
	record := slog.NewRecord(time.Now(), slog.LevelWarn, "mcpchain: "+words.Plural(n, "record was", "records were")+" dropped, because the log did not return", 0)
	record.AddAttrs(slog.Int("dropped", n))
	about := &entry{context.Background(), e.handler, record, e.failed}
	_, err := apart.Go(func() (struct{}, error) {
		if !about.handler.Enabled(about.ctx, record.Level) {
			return struct{}{}, nil
		}
		return about.handle()
	}).Result()
	about.lateEnd(err)
}

// isLate reports whether an error says only that records are late. The error of a fan-out holds those of
// several handlers.
func isLate(err error) bool {
	return safe.Is(err, errLate) && !safe.Find(err, func(err error) bool {
		switch err.(type) {
		case interface{ Unwrap() []error }, interface{ Unwrap() error }:
			return false
		default:
			return err != errLate
		}
	})
}
