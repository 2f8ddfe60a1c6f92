package correlate

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/sink"
)

// Guard returns a slog.Handler that passes records on to next and returns in time whatever
// next does. If next panics or has not written a record after 200 ms, Handle returns an error.
// While next has not returned from such a record, Handle returns an error at once. The record
// waits, and next gets it in its turn. At most 1,000 records wait. Further ones are dropped, and
// next is told their number when it is back. The values of a record must not change, because it
// may be written later.
//
// Package sinks makes fan-outs, fail-overs and routers of handlers that are guarded so. [New]
// guards its own Logger, for 250 ms. A record that its Logger cannot write goes to
// [slog.Default], and from there to standard error, with the reason in "log_failed". One that is
// late does not.
func Guard(next slog.Handler) slog.Handler {
	if next == nil {
		panic("correlate.Guard: next is nil; give the handler that writes the records")
	}
	return sink.Guard(next)
}

// maxSampled is how many kinds of failures [Sample] keeps apart at the same time.
const maxSampled = 256

// Sample returns a slog.Handler that passes the first record of a failure on to next at once
// and counts those that follow. Failures are the same if kind, tool (or prompt, resource,
// method) and place of origin are. The place of origin is the function that panicked, or the
// types of the error. At the end of each period the last record that was counted is passed on.
// Its attribute "repeated" says how many were counted. Records without a "kind", such as those
// of successes, pass at once.
//
// After 256 different failures in one period, those of one kind and place of origin are
// counted together, and after 512 all. What was counted in the last period of a process is
// lost when it ends. Sample panics if next is nil or every is not positive.
func Sample(next slog.Handler, every time.Duration) slog.Handler {
	switch {
	case next == nil:
		panic("correlate.Sample: next is nil; give the handler that writes the records")
	case every <= 0:
		panic("correlate.Sample: every is not positive; give a period, such as time.Minute")
	}
	return &sampler{next, &sampled{every: every, by: map[subject]*repetition{}}}
}

type sampler struct {
	next slog.Handler
	*sampled
}

// sampled is the state that a handler shares with those that WithAttrs and WithGroup make of
// it.
type sampled struct {
	every time.Duration

	mu sync.Mutex
	by map[subject]*repetition
}

// A subject is the failure that a record is about. Records of the same subject are counted
// together.
type subject struct{ kind, target, place string }

// A repetition is the last record that was held back, and how many were.
type repetition struct {
	count int
	last  slog.Record
	next  slog.Handler
}

func (s *sampler) Enabled(ctx context.Context, level slog.Level) bool {
	return s.next.Enabled(ctx, level)
}

func (s *sampler) Handle(ctx context.Context, record slog.Record) error {
	if of := subjectOf(record); of.kind != "" && s.held(of, record, s.next) {
		return nil
	}
	return s.next.Handle(ctx, record)
}

func (s *sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &sampler{s.next.WithAttrs(attrs), s.sampled}
}

func (s *sampler) WithGroup(name string) slog.Handler {
	return &sampler{s.next.WithGroup(name), s.sampled}
}

// held reports whether a record is counted and not passed on.
func (s *sampled) held(of subject, record slog.Record, next slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.by[of]
	if !known && len(s.by) >= maxSampled { // a caller may invent targets, but neither kinds nor places
		of.target = call.Other
		r, known = s.by[of]
	}
	if !known && len(s.by) >= 2*maxSampled {
		of = subject{kind: call.Other}
		r, known = s.by[of]
	}
	if !known {
		s.by[of] = &repetition{}
		time.AfterFunc(s.every, func() { s.end(of) })
		return false
	}
	r.count, r.last, r.next = r.count+1, record.Clone(), next
	return true
}

// end passes on what was counted in a period, and begins the next one if there was
// anything.
func (s *sampled) end(of subject) {
	s.mu.Lock()
	r := s.by[of]
	if r.count == 0 {
		delete(s.by, of)
		s.mu.Unlock()
		return
	}
	s.by[of] = &repetition{}
	s.mu.Unlock()
	defer func() {
		_ = recover()                                 // nobody waits for this record
		time.AfterFunc(s.every, func() { s.end(of) }) // only now, so that a handler that hangs has one goroutine for each failure
	}()
	r.last.AddAttrs(slog.Int("repeated", r.count))
	_ = r.next.Handle(context.Background(), r.last)
}

// subjectOf returns the subject of a record. Its kind is "" if the record is not that of a
// failure.
func subjectOf(record slog.Record) (of subject) {
	var method, types, stack string
	record.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() != slog.KindString {
			return true
		}
		switch text := a.Value.String(); a.Key {
		case "kind":
			of.kind = text
		case "method":
			method = text
		case "tool", "prompt", "resource":
			of.target = text
		case "error_types":
			types = text
		case "stack":
			stack = text
		}
		return true
	})
	of.target = method + " " + of.target
	if of.place = types; stack != "" {
		lines := strings.SplitN(stack, "\n", 3) // the function and its line
		of.place = strings.Join(lines[:min(len(lines), 2)], " ")
	}
	return of
}
