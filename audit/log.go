package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// Why a record could not be kept.
var (
	errClosed  = errors.New("audit: the log is closed")
	errStuck   = errors.New("audit: the sink does not return")
	errBehind  = errors.New("audit: too many records wait for the sink")
	errTooLate = errors.New("audit: the sink did not return in time")
	errExited  = errors.New("audit: the sink ended its goroutine with runtime.Goexit")
)

// A Sink keeps records. It is called by one goroutine at a time, with one or more records
// in the order of the chain. It returns nil only if all of them are kept for good: a call
// may be waiting for that. After an error none of them counts as kept, and the same
// numbers are given to other records.
type Sink func(entries []Entry) error

// An Entry is a record and its line in a log, which is what [Verify] reads, without the
// line break. Neither may be changed.
type Entry struct {
	Record Record
	Line   []byte
}

// LogOptions configure [NewLog]. The zero value is the recommended default.
type LogOptions struct {
	// Key makes the hashes HMACs, see the package. It has at least 16 bytes. Store it where
	// the log's readers and writers cannot read it. Nil means plain hashes. Another key
	// needs another log.
	Key []byte

	// After is the last [Log.Head] of this log, behind which the chain goes on. The zero
	// Head begins a new log.
	After Head
}

// A Log is a chain of records and the Sink that keeps them. Records that come at the same
// time are kept together: while the sink works for some, the next ones gather. Methods may
// be called concurrently.
type Log struct {
	chain chain // used only by the one goroutine that runs write
	sink  Sink
	end   func() error // closes the sink

	mu      sync.Mutex
	queue   []*waiting
	writing bool // a goroutine runs write
	stuck   bool // a call gave up waiting, and the sink has not returned yet
	closed  bool
	lost    uint64 // records that could not be kept since the last "lost" record
	head    Head   // of the last record that is kept
}

// waiting is a record that is not kept yet.
type waiting struct {
	rec  Record
	body []byte // the JSON of rec
	seq  uint64
	done chan error
}

const (
	timeout    = 5 * time.Second // how long a call waits for its record to be kept
	minKey     = 16
	maxWaiting = 4096
)

// NewLog returns a log that gives its records to sink, such as the result of [ToSlog]. It
// panics when options make no sense. For files use [Open].
func NewLog(sink Sink, opts *LogOptions) *Log {
	var o LogOptions
	if opts != nil {
		o = *opts
	}
	switch {
	case sink == nil:
		panic("audit.NewLog: sink is nil; give the function that keeps records")
	case o.Key != nil && len(o.Key) < minKey:
		panic("audit.NewLog: LogOptions.Key is shorter than 16 bytes; give a random one, or nil")
	case o.After.Seq > 0 && len(o.After.Hash) != hashLen:
		panic("audit.NewLog: LogOptions.After.Hash is no hash of a record; give what Log.Head or Verify returned")
	}
	return newLog(sink, o)
}

func newLog(sink Sink, o LogOptions) *Log {
	return &Log{chain: newChain(o.Key), sink: sink, head: o.After}
}

// Head returns the last record that is kept for good: no crash takes it away. Store it from time to
// time somewhere the log's writer cannot change it.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Close ends the log when all that was recorded is kept for good. Calls after it cannot be
// recorded. A log that is closed already returns an error.
func (l *Log) Close() error {
	if l.end != nil {
		_, err := l.append(Record{Time: time.Now().UTC(), Event: eventClose})
		if errors.Is(err, errClosed) || errors.Is(err, errStuck) || errors.Is(err, errTooLate) {
			return err // the sink that is stuck may still write
		}
		return errors.Join(err, l.end())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return errClosed
	case l.stuck:
		l.closed = true
		return errStuck
	}
	l.closed = true
	return nil
}

func newWaiting(r Record) (*waiting, error) {
	body, err := json.Marshal(&r)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return &waiting{rec: r, body: body, done: make(chan error, 1)}, nil
}

// append hands a record to the sink, waits until it is kept, and returns its number.
func (l *Log) append(r Record) (seq uint64, err error) {
	w, err := newWaiting(r)
	if err == nil {
		err = l.enqueue(w)
	}
	if err != nil {
		return 0, err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err = <-w.done:
	case <-timer.C:
		err = l.giveUp(w)
	}
	if err != nil {
		return 0, err
	}
	return w.seq, nil
}

// enqueue adds a record to those that wait for the sink. After the record of the event
// "close" it refuses all others.
func (l *Log) enqueue(w *waiting) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := w.rec.Event == eventClose
	switch {
	case l.closed:
		return errClosed
	case l.stuck:
		err = errStuck
	case len(l.queue) >= maxWaiting && !last:
		err = errBehind
	}
	l.closed = last
	if err != nil {
		l.lost++
		return err
	}
	l.queue = append(l.queue, w)
	if !l.writing {
		l.writing = true
		go l.write()
	}
	return nil
}

// giveUp ends the wait for a record that was not kept in time.
func (l *Log) giveUp(w *waiting) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	default:
	}
	l.stuck = true
	if i := slices.Index(l.queue, w); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		l.lost++
	} // otherwise the sink has it, and may still keep it
	return errTooLate
}

// write keeps what waits until nothing does.
func (l *Log) write() {
	for l.writeSome() {
	}
}

// writeSome keeps what waits now. It reports whether there was anything.
func (l *Log) writeSome() bool {
	l.mu.Lock()
	batch, lost, head := l.queue, l.lost, l.head
	l.queue, l.writing = nil, len(batch) > 0
	l.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	if lost > 0 {
		if about, err := newWaiting(Record{Time: time.Now().UTC(), Event: eventLost, Lost: lost}); err == nil {
			batch = slices.Insert(batch, 0, about)
		}
	}
	entries := make([]Entry, len(batch))
	for i, w := range batch {
		prev := head.hash()
		var line []byte
		line, head = l.chain.seal(head, w.body)
		w.seq, w.rec.Seq, w.rec.Prev, w.rec.Hash = head.Seq, head.Seq, prev, head.Hash
		entries[i] = Entry{Record: w.rec, Line: line}
	}
	kept, err := len(entries), error(nil)
	p, panicked := safe.Call(func() { err = l.sink(entries) }, func() {
		l.written(batch, 0, errExited)
		go l.write() // this goroutine ends
	})
	if panicked {
		err = errors.New("audit: the sink panicked: " + safe.Value(p))
	}
	if err != nil {
		kept = 0
		if some, ok := safe.As[*partError](err); ok {
			kept = some.kept
		}
	}
	l.written(batch, kept, err)
	return true
}

// written ends the waits for a batch, of which the first records are kept; err is that of the others.
func (l *Log) written(batch []*waiting, kept int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stuck = false
	for i, w := range batch {
		if i < kept {
			l.head = Head{Seq: w.seq, Hash: w.rec.Hash}
			l.lost -= w.rec.Lost
			w.done <- nil
			continue
		}
		if w.rec.Event != eventLost {
			l.lost++
		}
		w.done <- err
	}
}

// A partError is the error of a sink that has kept only the first records.
type partError struct {
	kept int
	err  error
}

func (e *partError) Error() string { return "audit: " + safe.Error(e.err) }
func (e *partError) Unwrap() error { return e.err }

// ToSlog returns a sink that writes each record to a logger at level Info, with its line
// as the attribute "record", which is what [Verify] reads. A handler that returns an
// error, or that does not take the level, has to have written nothing of the record.
func ToSlog(logger *slog.Logger) Sink {
	if logger == nil {
		panic("audit.ToSlog: logger is nil; give the logger that keeps records")
	}
	return func(entries []Entry) error {
		ctx, handler := context.Background(), logger.Handler()
		if !handler.Enabled(ctx, slog.LevelInfo) {
			return errors.New("audit: the logger does not take level Info")
		}
		for i, e := range entries {
			r := slog.NewRecord(e.Record.Time, slog.LevelInfo, "mcp audit", 0)
			r.AddAttrs(slog.Uint64("seq", e.Record.Seq), slog.String("event", e.Record.Event), slog.String("record", string(e.Line)))
			if err := handler.Handle(ctx, r); err != nil {
				return &partError{i, err} // those before it stand in the log
			}
		}
		return nil
	}
}
