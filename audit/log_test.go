package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// keeper is a sink in memory that can fail.
type keeper struct {
	mu      sync.Mutex
	entries []Entry
	calls   int
	do      func() error // before a call keeps anything
}

func (k *keeper) keep(entries []Entry) error {
	k.mu.Lock()
	do := k.do
	k.calls++
	k.mu.Unlock()
	if do != nil {
		if err := do(); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.entries = append(k.entries, entries...)
	return nil
}

func (k *keeper) set(do func() error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.do = do
}

func (k *keeper) log() io.Reader {
	k.mu.Lock()
	defer k.mu.Unlock()
	var log bytes.Buffer
	for _, e := range k.entries {
		log.Write(append(e.Line, '\n'))
	}
	return &log
}

// records returns what was kept, which has to be a whole log.
func (k *keeper) records(t testing.TB, v Verifier) []Record {
	t.Helper()
	var all []Record
	for r, err := range v.Records(k.log()) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func (k *keeper) events(t testing.TB) string {
	t.Helper()
	var events []string
	for _, r := range k.records(t, Verifier{}) {
		events = append(events, r.Event)
	}
	return strings.Join(events, " ")
}

func add(l *Log) error { _, err := l.append(recordOf(1)); return err }

func TestLogGoesOn(t *testing.T) {
	k := &keeper{}
	l := NewLog(k.keep, &LogOptions{Key: testKey})
	require.NoError(t, add(l))
	l = NewLog(k.keep, &LogOptions{Key: testKey, After: l.Head()})
	require.NoError(t, add(l))
	require.Len(t, k.records(t, Verifier{Key: testKey}), 2)
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), errClosed)
	require.ErrorIs(t, add(l), errClosed)
}

// TestFailuresOfASink: what fails leaves no gap in the chain, and how much is missing is
// recorded.
func TestFailuresOfASink(t *testing.T) {
	k := &keeper{}
	l := NewLog(k.keep, nil)
	require.NoError(t, add(l))
	k.set(func() error { return errDisk })
	require.ErrorIs(t, add(l), errDisk)
	k.set(func() error { panic("the sink is broken") })
	require.ErrorContains(t, add(l), "audit: the sink panicked: the sink is broken")
	_, err := l.append(Record{Arguments: json.RawMessage("{")})
	require.Error(t, err)
	k.set(nil)
	require.NoError(t, add(l))
	require.NoError(t, add(l))
	require.Equal(t, "call lost call call", k.events(t))
	require.EqualValues(t, 2, k.entries[1].Record.Lost)
}

// TestStuckSink: one call waits for the time that is given, and those that follow do not
// wait at all until the sink has returned.
func TestStuckSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		k := &keeper{do: func() error { <-release; return nil }}
		l := NewLog(k.keep, nil)
		began := time.Now()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() { require.ErrorIs(t, add(l), errTooLate) })
			synctest.Wait() // the first one has the sink, the others wait for it
		}
		calls.Wait()
		require.Equal(t, timeout, time.Since(began))
		for range 10 {
			require.ErrorIs(t, add(l), errStuck)
		}
		require.ErrorIs(t, l.Close(), errStuck)
		require.Equal(t, timeout, time.Since(began))
		l.closed = false
		close(release)
		synctest.Wait()
		require.NoError(t, add(l))
		require.Equal(t, "call lost call", k.events(t), "the first was kept in the end")
		require.EqualValues(t, 12, k.entries[1].Record.Lost)
	})
}

func TestWaitingRecordsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		k := &keeper{do: func() error { <-release; return nil }}
		l := NewLog(k.keep, nil)
		var calls sync.WaitGroup
		for range maxWaiting + 1 {
			calls.Go(func() { require.NoError(t, add(l)) })
			synctest.Wait()
		}
		require.ErrorIs(t, add(l), errBehind)
		close(release)
		calls.Wait()
		require.Len(t, k.records(t, Verifier{}), maxWaiting+2)
	})
}

func TestToSlog(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(ToSlog(slog.New(slog.NewJSONHandler(&out, nil))), nil)
	require.NoError(t, add(l))
	require.NoError(t, add(l))
	var log bytes.Buffer
	for line := range bytes.Lines(out.Bytes()) {
		var record struct{ Record string }
		require.NoError(t, json.Unmarshal(line, &record))
		log.WriteString(record.Record + "\n")
	}
	head, err := Verify(&log)
	require.NoError(t, err)
	require.Equal(t, l.Head(), head)

	l = NewLog(ToSlog(slog.New(slog.DiscardHandler)), nil)
	require.ErrorContains(t, add(l), "does not take level Info")
	l = NewLog(ToSlog(slog.New(slog.NewJSONHandler(broken{}, nil))), nil)
	require.ErrorIs(t, add(l), errDisk)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errDisk }

func TestOptionsOfLogs(t *testing.T) {
	sink := (&keeper{}).keep
	for want, build := range map[string]func(){
		"audit.NewLog: sink is nil; give the function that keeps records":                                   func() { NewLog(nil, nil) },
		"audit.NewLog: LogOptions.Key is shorter than 16 bytes; give a random one, or nil":                  func() { NewLog(sink, &LogOptions{Key: []byte{}}) },
		"audit.NewLog: LogOptions.After.Hash is no hash of a record; give what Log.Head or Verify returned": func() { NewLog(sink, &LogOptions{After: Head{Seq: 1}}) },
		"audit.ToSlog: logger is nil; give the logger that keeps records":                                   func() { ToSlog(nil) },
	} {
		require.PanicsWithValue(t, want, build)
	}
	for want, o := range map[string]FileOptions{
		"FileOptions.MaxBytes is negative": {MaxBytes: -1}, "FileOptions.Key is shorter": {Key: []byte("short")},
	} {
		_, err := Open(t.TempDir(), &o)
		require.ErrorContains(t, err, want)
	}
}

func TestManyAtOnceWhileTheSinkFails(t *testing.T) {
	k, n := &keeper{}, 0
	k.do = func() error {
		if n++; n%3 == 0 {
			return errDisk
		}
		return nil
	}
	l := NewLog(k.keep, nil)
	var calls sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for range 8 {
		calls.Go(func() {
			for range 200 {
				if err := add(l); err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
					if !errors.Is(err, errDisk) {
						t.Error(err)
					}
				}
			}
		})
	}
	calls.Wait()
	k.set(nil)
	require.NoError(t, add(l))
	kept, lost := 0, 0
	for _, r := range k.records(t, Verifier{}) {
		if lost += int(r.Lost); r.Event == eventCall {
			kept++
		}
	}
	require.Equal(t, failed, lost)
	require.Equal(t, 8*200+1, kept+lost)
}

// TestASinkThatEndsItsGoroutine is one that failed, and no more: the next records are kept.
func TestASinkThatEndsItsGoroutine(t *testing.T) {
	k := &keeper{do: func() error { runtime.Goexit(); return nil }}
	l := NewLog(k.keep, nil)
	require.ErrorIs(t, add(l), errExited)
	k.set(nil)
	require.NoError(t, add(l))
	require.Equal(t, "lost call", k.events(t))
}

// TestALoggerThatFailsHalfway: what it wrote before stands in the log and counts as kept, so that the chain is whole.
func TestALoggerThatFailsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := &refusing{Handler: slog.NewJSONHandler(&out, nil), at: 3}
		l := NewLog(ToSlog(slog.New(h)), nil)
		var calls sync.WaitGroup
		var failed atomic.Int32
		for range 5 { // the first alone, then four at once, of which the second fails
			calls.Go(func() {
				if add(l) != nil {
					failed.Add(1)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		require.EqualValues(t, 3, failed.Load())
		require.NoError(t, add(l))
		require.EqualValues(t, 4, l.Head().Seq)
		var log bytes.Buffer
		for line := range bytes.Lines(out.Bytes()) {
			var record struct{ Record string }
			require.NoError(t, json.Unmarshal(line, &record))
			log.WriteString(record.Record + "\n")
		}
		require.Contains(t, log.String(), `"event":"lost","lost":3`)
		head, err := Verify(&log)
		require.NoError(t, err)
		require.Equal(t, l.Head(), head)
	})
}

// refusing takes a second for a record, and refuses one of them.
type refusing struct {
	slog.Handler

	n, at int
}

func (f *refusing) Handle(ctx context.Context, r slog.Record) error {
	time.Sleep(time.Second)
	if f.n++; f.n == f.at {
		return errDisk
	}
	return f.Handler.Handle(ctx, r)
}
