package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A disk counts what files ask of it, and knows what it has for good.
type disk struct {
	mu                    sync.Mutex
	writes, syncs, bytes  int
	safe                  map[string]int64 // the sizes that files have after a crash of the machine
	slow                  time.Duration    // of an fsync
	failSync, failWriting bool
}

func (d *disk) open(name string) (file, error) {
	f, err := openFile(name)
	return &onDisk{f, d, name}, err
}

// counts returns the numbers of writes and fsyncs since it was asked last.
func (d *disk) counts() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := fmt.Sprintf("%d writes, %d fsyncs", d.writes, d.syncs)
	d.writes, d.syncs, d.bytes = 0, 0, 0
	return s
}

// crash leaves of the files what is there for good.
func (d *disk) crash(t *testing.T, dir string) {
	t.Helper()
	names, err := Files(dir)
	require.NoError(t, err)
	for _, name := range names {
		require.NoError(t, os.Truncate(name, d.safe[name]))
	}
}

type onDisk struct {
	file

	disk *disk
	name string
}

func (f *onDisk) WriteAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.writes++
	f.disk.bytes += len(p)
	if f.disk.failWriting {
		return 0, errDisk
	}
	return f.file.WriteAt(p, at)
}

func (f *onDisk) Sync() error {
	time.Sleep(f.disk.slow)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.syncs++
	if f.disk.failSync {
		return errDisk
	}
	info, err := os.Stat(f.name)
	if err == nil {
		f.disk.safe[f.name] = info.Size()
	}
	return err
}

// openOn opens a log on a disk.
func openOn(t *testing.T, d *disk, dir string, mode Sync, size int64) *Log {
	t.Helper()
	d.safe = map[string]int64{}
	s := &files{dir: dir, max: size, unlock: func() {}, open: d.open}
	l := newLog(s.write, LogOptions{})
	l.sync, l.end = mode, s.close
	_, err := l.append(Record{Time: time.Now().UTC(), Event: eventOpen})
	require.NoError(t, err)
	d.counts()
	return l
}

var errRefused = errors.New("the call was refused")

// callerOf returns what calls a tool that reads, or one that writes, and is audited.
func callerOf(t *testing.T, l *Log, during func()) func(reads bool) error {
	t.Helper()
	session := &mcp.ServerSession{}
	h := New(&Options{Log: l, Logger: slog.New(slog.DiscardHandler)})(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{
				{Name: "look", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
				{Name: "pay", InputSchema: map[string]any{"type": "object"}},
			}}, nil
		}
		if during != nil {
			during()
		}
		return &mcp.CallToolResult{}, nil
	})
	return func(reads bool) error {
		name := "pay"
		if reads {
			name = "look"
		}
		res, err := h(t.Context(), "tools/call", &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: name}})
		if tool, ok := res.(*mcp.CallToolResult); ok && tool.IsError {
			return errRefused
		}
		return err
	}
}

// TestWhatEachSyncCosts counts writes and fsyncs of one call, when its handler runs, when it is answered, and
// until nothing is left to do.
func TestWhatEachSyncCosts(t *testing.T) {
	for mode, want := range map[Sync][5]string{
		SyncAll:    {"1 writes, 1 fsyncs", "1 writes, 1 fsyncs", "0 writes, 0 fsyncs", "1 writes, 1 fsyncs", "0 writes, 0 fsyncs"},
		SyncBegins: {"1 writes, 1 fsyncs", "1 writes, 0 fsyncs", "0 writes, 1 fsyncs", "1 writes, 0 fsyncs", "0 writes, 1 fsyncs"},
		SyncLater:  {"1 writes, 0 fsyncs", "1 writes, 0 fsyncs", "0 writes, 1 fsyncs", "1 writes, 0 fsyncs", "0 writes, 1 fsyncs"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{}
			l := openOn(t, d, t.TempDir(), mode, 1<<20)
			call := callerOf(t, l, func() {
				if got := d.counts(); got != "0 writes, 0 fsyncs" {
					require.Equal(t, want[0], got)
				}
			})
			began := time.Now()
			require.NoError(t, call(false))
			synctest.Wait()
			require.Equal(t, want[1], d.counts(), mode)
			time.Sleep(2 * flushAfter)
			require.Equal(t, want[2], d.counts(), mode)
			require.NoError(t, call(true))
			synctest.Wait()
			require.Equal(t, want[3], d.counts(), mode)
			time.Sleep(2 * flushAfter)
			synctest.Wait()
			require.Equal(t, want[4], d.counts(), mode)
			require.Equal(t, 4*flushAfter, time.Since(began))
			require.NoError(t, l.Close())
			require.Equal(t, "1 writes, 1 fsyncs", d.counts(), mode)
		})
	}
}

// TestManyCallersShareAnFsync: those that come while one runs wait for the next one, together.
func TestManyCallersShareAnFsync(t *testing.T) {
	for mode, most := range map[Sync]int{SyncAll: 4, SyncBegins: 2, SyncLater: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{}
			l := openOn(t, d, t.TempDir(), mode, 1<<20)
			d.slow = time.Millisecond
			call := callerOf(t, l, nil)
			began := time.Now()
			var calls sync.WaitGroup
			for range 64 {
				calls.Go(func() { require.NoError(t, call(false)) })
			}
			calls.Wait()
			synctest.Wait()
			d.mu.Lock()
			require.LessOrEqual(t, d.syncs, most, mode)
			require.LessOrEqual(t, time.Since(began), time.Duration(most)*time.Millisecond)
			require.LessOrEqual(t, d.writes, 130)
			require.Less(t, d.bytes, 128*500, "two records of about 400 bytes each")
			d.mu.Unlock()
			require.NoError(t, l.Close())
		})
	}
}

// TestWhatACrashOfTheMachineLoses has a machine crash at any time: what the Sync promises is there, the
// log goes on, and the heads that it gave are all in it.
func TestWhatACrashOfTheMachineLoses(t *testing.T) {
	for _, mode := range []Sync{SyncAll, SyncBegins, SyncLater} {
		for seed := range 40 {
			synctest.Test(t, func(t *testing.T) {
				dir, d := t.TempDir(), &disk{}
				l := openOn(t, d, dir, mode, []int64{1 << 20, 2000}[seed%2])
				begun, answered := 0, 0
				var heads []Head
				call := callerOf(t, l, func() { begun++ })
				for i := range 3 + seed {
					require.NoError(t, call(i%3 == 0))
					answered++
					heads = append(heads, l.Head())
					time.Sleep(time.Duration(seed%4) * flushAfter / 3)
				}
				synctest.Wait()
				d.crash(t, dir)
				head, err := Verifier{Heads: heads}.Dir(dir)
				require.NoError(t, err, "a head that was given is in it")
				events := map[string]int{}
				for _, r := range recordsIn(t, dir) {
					events[r.Event]++
				}
				reads := (answered + 2) / 3
				switch mode {
				case SyncAll:
					require.Equal(t, answered-reads, events[eventBegin])
					require.Equal(t, answered-reads, events[eventEnd])
					require.Equal(t, reads, events[eventCall])
				case SyncBegins:
					require.Equal(t, answered-reads, events[eventBegin])
				case SyncLater:
					if seed%4 > 0 {
						require.GreaterOrEqual(t, events[eventBegin], answered-reads-4, "older than a second")
					}
				}
				again := open(t, dir, &FileOptions{Sync: mode})
				require.Greater(t, again.Head().Seq, head.Seq)
				require.NoError(t, again.Close())
				_, err = Verifier{Heads: heads}.Dir(dir)
				require.NoError(t, err)
				require.Equal(t, answered, begun)
				require.NoError(t, l.Close())
			})
		}
	}
}

// TestAnFsyncThatFailsLater: what a log had written and could not have on disk is written again, and
// meanwhile calls that may change something are refused.
func TestAnFsyncThatFailsLater(t *testing.T) {
	for _, mode := range []Sync{SyncBegins, SyncLater} {
		for _, size := range []int64{1 << 20, 1100} {
			synctest.Test(t, func(t *testing.T) {
				dir, d := t.TempDir(), &disk{}
				l := openOn(t, d, dir, mode, size)
				call := callerOf(t, l, nil)
				require.NoError(t, call(false))
				require.NoError(t, call(true))
				synctest.Wait()
				d.failSync = true
				before := l.Head()
				time.Sleep(3*flushAfter + time.Millisecond)
				require.Equal(t, before, l.Head(), "nothing more is known to be on disk")
				require.ErrorIs(t, call(false), errRefused)
				require.NoError(t, call(true), "what only reads goes on")
				synctest.Wait()
				d.failSync = false
				require.NoError(t, call(false))
				time.Sleep(2 * flushAfter)
				synctest.Wait()
				d.crash(t, dir)
				head, err := Verifier{Heads: []Head{before, l.Head()}}.Dir(dir)
				require.NoError(t, err)
				require.Equal(t, l.Head(), head, "all of it is on disk")
				var events []string
				for _, r := range recordsIn(t, dir) {
					events = append(events, r.Event+strings.Repeat("*", int(r.Lost)))
				}
				require.Equal(t, "open begin end call lost** begin end", strings.Join(events, " "))
				require.NoError(t, l.Close())
			})
		}
	}
}

// TestThoseThatDoNotWaitAreTold of a failure by the next record, and nothing is written after the end.
func TestThoseThatDoNotWaitAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		l := openOn(t, d, t.TempDir(), SyncLater, 1<<20)
		d.failWriting = true
		require.NoError(t, add(l))
		synctest.Wait()
		require.ErrorIs(t, add(l), errDisk)
		synctest.Wait()
		d.failWriting = false
		_ = add(l)
		synctest.Wait()
		require.NoError(t, add(l))
		require.NoError(t, l.Close())
		d.counts()
		time.Sleep(3 * flushAfter)
		require.Equal(t, "0 writes, 0 fsyncs", d.counts())
		require.ErrorIs(t, add(l), errClosed)
	})
}

// TestASlowSinkHoldsUpThoseThatDoNotWait: they wait when half of the queue is full, and none is lost.
func TestASlowSinkHoldsUpThoseThatDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		k := &keeper{do: func() error { <-release; return nil }}
		l := newLog(func(entries []Entry, flush bool) (bool, error) { return flush, k.keep(entries) }, LogOptions{})
		l.sync = SyncLater
		for range maxWaiting/2 + 1 {
			require.NoError(t, add(l))
			synctest.Wait()
		}
		var calls sync.WaitGroup
		returned := false
		calls.Go(func() { require.NoError(t, add(l)); returned = true })
		synctest.Wait()
		require.False(t, returned)
		close(release)
		calls.Wait()
		require.Len(t, k.records(t, Verifier{}), maxWaiting/2+2)
	})
}

// TestWhatIsNotOnDiskIsBounded by bytes as by time.
func TestWhatIsNotOnDiskIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		l := openOn(t, d, t.TempDir(), SyncLater, 1<<30)
		big := recordOf(1)
		big.Event, big.Target = eventBegin, strings.Repeat("x", 100_000)
		for range 25 {
			_, err := l.append(big)
			require.NoError(t, err)
		}
		require.Equal(t, "25 writes, 2 fsyncs", d.counts())
		require.NoError(t, l.Close())
	})
}
