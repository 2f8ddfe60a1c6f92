package audit

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A disk counts what files ask of it, and knows what it has for good.
type disk struct {
	mu                   sync.Mutex
	writes, syncs, bytes int
	safe                 map[string]int64 // the sizes that files have after a crash of the machine
	slow                 time.Duration    // of an fsync
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
	return f.file.WriteAt(p, at)
}

func (f *onDisk) Sync() error {
	time.Sleep(f.disk.slow)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.syncs++
	info, err := os.Stat(f.name)
	if err == nil {
		f.disk.safe[f.name] = info.Size()
	}
	return err
}

// openOn opens a log on a disk.
func openOn(t *testing.T, d *disk, dir string, size int64) *Log {
	t.Helper()
	d.safe = map[string]int64{}
	s := &files{dir: dir, max: size, unlock: func() {}, open: d.open}
	l := newLog(s.write, LogOptions{})
	l.end = s.close
	_, err := l.append(Record{Time: time.Now().UTC(), Event: eventOpen})
	require.NoError(t, err)
	d.counts()
	return l
}

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
		_, err := h(t.Context(), "tools/call", &mcp.CallToolRequest{Session: session, Params: &mcp.CallToolParamsRaw{Name: name}})
		return err
	}
}

// TestManyCallersShareAnFsync: those that come while one runs wait for the next one, together.
func TestManyCallersShareAnFsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		l := openOn(t, d, t.TempDir(), 1<<20)
		d.slow = time.Millisecond
		call := callerOf(t, l, nil)
		began := time.Now()
		var calls sync.WaitGroup
		for range 64 {
			calls.Go(func() { require.NoError(t, call(false)) })
		}
		calls.Wait()
		d.mu.Lock()
		require.LessOrEqual(t, d.syncs, 4)
		require.LessOrEqual(t, time.Since(began), 4*time.Millisecond)
		require.Less(t, d.bytes, 128*500, "two records of about 400 bytes each")
		d.mu.Unlock()
		require.NoError(t, l.Close())
	})
}

// TestACrashOfTheMachineLosesNothing that was answered, and before a handler runs its begin is on disk.
func TestACrashOfTheMachineLosesNothing(t *testing.T) {
	for _, size := range []int64{1 << 20, 2000} {
		synctest.Test(t, func(t *testing.T) {
			dir, d := t.TempDir(), &disk{}
			l := openOn(t, d, dir, size)
			var reads bool
			call := callerOf(t, l, func() {
				want := map[bool]string{true: "0 writes, 0 fsyncs", false: "1 writes, 1 fsyncs"}[reads]
				require.Equal(t, want, d.counts())
			})
			var heads []Head
			for i := range 12 {
				reads = i%3 == 0
				require.NoError(t, call(reads))
				require.Equal(t, "1 writes, 1 fsyncs", d.counts())
				heads = append(heads, l.Head())
			}
			d.crash(t, dir)
			head, err := Verifier{Heads: heads}.Dir(dir)
			require.NoError(t, err)
			require.Equal(t, l.Head(), head)
			again := open(t, dir, nil)
			require.Greater(t, again.Head().Seq, head.Seq)
			require.NoError(t, again.Close())
			require.NoError(t, l.Close())
		})
	}
}
