package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func open(t testing.TB, dir string, opts *FileOptions) *Log {
	t.Helper()
	l, err := Open(dir, opts)
	require.NoError(t, err)
	return l
}

func recordsIn(t testing.TB, dir string) (all []Record) {
	t.Helper()
	names, err := Files(dir)
	require.NoError(t, err)
	var logs []io.Reader
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		logs = append(logs, strings.NewReader(string(text)))
	}
	for r, err := range (Verifier{}).Records(logs...) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func TestFilesAreRotated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "log [1]*")
	var heads []Head
	for range 3 { // processes
		l := open(t, dir, &FileOptions{MaxBytes: 1000})
		for range 10 {
			require.NoError(t, add(l))
			heads = append(heads, l.Head())
		}
		require.NoError(t, l.Close())
	}
	names, err := Files(dir)
	require.NoError(t, err)
	require.Greater(t, len(names), 5)
	for i, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(1500), "above the bound by one record at most")
		require.Equal(t, os.FileMode(0o600), info.Mode())
		if i > 0 {
			require.Greater(t, name, names[i-1])
		}
	}
	head, err := Verifier{Heads: heads}.Dir(dir)
	require.NoError(t, err)
	require.EqualValues(t, 36, head.Seq)
	require.Equal(t, eventOpen, recordsIn(t, dir)[12].Event)

	// The old files are taken away, and the rest is verified from their head on.
	old, err := Verify(fileReaders(t, names[:3])...)
	require.NoError(t, err)
	for _, name := range names[:3] {
		require.NoError(t, os.Remove(name))
	}
	again, err := Verifier{From: old, Heads: heads}.Dir(dir)
	require.NoError(t, err)
	require.Equal(t, head, again)
	_, err = Verifier{}.Dir(dir)
	require.ErrorContains(t, err, "give Verifier.From")

	// A file in between is missing.
	require.NoError(t, os.Remove(names[5]))
	_, err = Verifier{From: old}.Dir(dir)
	require.ErrorIs(t, err, ErrBroken)

	_, err = Verifier{}.Dir(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist, "a log that is gone is not one that is right")
}

func fileReaders(t testing.TB, names []string) (logs []io.Reader) {
	t.Helper()
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		logs = append(logs, f)
	}
	return logs
}

// TestCrashInAWrite cuts the file at every byte of the last record, as a crash does, opens
// it again and goes on.
func TestCrashInAWrite(t *testing.T) {
	patience = 10 * time.Millisecond
	t.Cleanup(func() { patience = time.Second })
	for garbage, step := range map[string]int{"": 19, "\x00\x00\x00": 61} {
		base := t.TempDir()
		l := open(t, base, nil)
		require.NoError(t, add(l))
		acknowledged := l.Head()
		names, err := Files(base)
		require.NoError(t, err)
		before, err := os.ReadFile(names[0])
		require.NoError(t, err)
		require.NoError(t, add(l))
		whole, err := os.ReadFile(names[0])
		require.NoError(t, err)
		for size := len(before); size < len(whole); size++ {
			dir := t.TempDir()
			name := filepath.Join(dir, filepath.Base(names[0]))
			require.NoError(t, os.WriteFile(name, append(whole[:size:size], garbage...), 0o600))
			last, good, torn, err := lastOf(nil, name)
			require.NoError(t, err)
			require.Equal(t, acknowledged, last)
			require.EqualValues(t, len(before), good)
			require.Equal(t, string(whole[len(before):size])+garbage, string(torn))
			if (size-len(before))%step > 0 {
				continue // the rest takes its time
			}
			l := open(t, dir, nil)
			require.NoError(t, add(l))
			require.NoError(t, l.Close())
			_, err = Verifier{Heads: []Head{acknowledged}}.Dir(dir)
			require.NoError(t, err)
			records := recordsIn(t, dir)
			dropped := size - len(before) + len(garbage)
			require.Equal(t, eventOpen, records[2].Event)
			require.EqualValues(t, dropped, records[2].DroppedBytes)
			asides, err := filepath.Glob(filepath.Join(dir, "torn-*"))
			require.NoError(t, err)
			if dropped == 0 {
				require.Empty(t, asides)
				continue
			}
			kept, err := os.ReadFile(asides[0])
			require.NoError(t, err)
			require.Equal(t, string(whole[len(before):size])+garbage, string(kept))
		}
		require.NoError(t, l.Close())
	}
}

// TestCrashInARotation: the newest file has no record yet.
func TestCrashInARotation(t *testing.T) {
	for _, text := range []string{"", `{"seq":4,"time`} {
		dir := t.TempDir()
		l := open(t, dir, nil)
		require.NoError(t, add(l))
		require.NoError(t, l.Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(4)), []byte(text), 0o600))
		l = open(t, dir, nil)
		require.NoError(t, l.Close())
		names, err := Files(dir)
		require.NoError(t, err)
		require.Len(t, names, 2)
		head, err := Verifier{}.Dir(dir)
		require.NoError(t, err)
		require.EqualValues(t, 5, head.Seq)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(1)), nil, 0o600))
	l := open(t, dir, nil)
	require.NoError(t, l.Close())
	require.Len(t, recordsIn(t, dir), 2)
}

// TestANewestFileThatBeginsInTheMiddle: Open does not know what stands before a file, but that
// the file begins with the record that it is named after.
func TestANewestFileThatBeginsInTheMiddle(t *testing.T) {
	const fine = ""
	for about, c := range map[string]struct {
		rename int                                  // to the name of this record, 0 for the name that it has
		change func(lines, older []string) []string // of the newest file, and of the one before it
		want   string
	}{
		"nothing is wrong":                               {0, nil, fine},
		"renamed to a later record":                      {99, nil, "the file is named after record 99 and begins with 16"},
		"renamed to an earlier record":                   {15, nil, "the file is named after record 15 and begins with 16"},
		"the first record is gone":                       {0, func(l, _ []string) []string { return l[1:] }, "named after record 16 and begins with 17"},
		"the first record is gone, and so is its number": {17, func(l, _ []string) []string { return l[1:] }, fine}, // as if it never was: for Verify to find
		"the first record is doubled":                    {0, func(l, _ []string) []string { return append(l[:1:1], l...) }, "records before it are missing, or it was moved or inserted"},
		"the first record comes again":                   {0, func(l, _ []string) []string { return append(l[:3:3], l[0]) }, "records before it are missing"},
		"the first record was changed":                   {0, func(l, _ []string) []string { l[0] = strings.Replace(l[0], "pay", "buy", 1); return l }, "the record was changed"},
		"the second record is gone":                      {0, func(l, _ []string) []string { return append(l[:1:1], l[2:]...) }, "records before it are missing"},
		"older records are in it":                        {0, func(l, older []string) []string { return append(older, l...) }, "named after record 16 and begins with"},
		"nothing is in it, and it fits":                  {0, func([]string, []string) []string { return nil }, fine},
		"nothing is in it, and it is late":               {99, func([]string, []string) []string { return nil }, "named after record 99, and the last record before it is 15"},
		"a torn line, and it is late":                    {99, func(l, _ []string) []string { return []string{strings.TrimSuffix(l[0], "\n")} }, "the last record before it is 15"},
	} {
		t.Run(about, func(t *testing.T) {
			dir := t.TempDir()
			records, _ := linesOf(t, nil, 19)
			var lines []string
			for _, r := range records {
				lines = append(lines, string(r)+"\n")
			}
			older, newer := lines[:15:15], lines[15:]
			require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(1)), []byte(strings.Join(older, "")), 0o600))
			if c.change != nil {
				newer = c.change(newer, older)
			}
			newest := filepath.Join(dir, fileName(16))
			require.NoError(t, os.WriteFile(newest, []byte(strings.Join(newer, "")), 0o600))
			if c.rename > 0 {
				to := filepath.Join(dir, fileName(uint64(c.rename)))
				require.NoError(t, os.Rename(newest, to))
				newest = to
			}
			before := contentOf(t, dir)
			l, err := Open(dir, nil)
			if c.want == fine {
				require.NoError(t, err)
				require.NoError(t, l.Close())
				return
			}
			require.ErrorIs(t, err, ErrBroken)
			require.ErrorContains(t, err, newest+" cannot be continued")
			require.ErrorContains(t, err, c.want)
			require.True(t, maps.Equal(before, contentOf(t, dir)), "nothing is changed")
		})
	}
}

// TestNoFileIsLeftToGoOnFrom: a log whose files with records were all taken away does not begin anew.
func TestNoFileIsLeftToGoOnFrom(t *testing.T) {
	for name, ok := range map[string]bool{fileName(1): true, fileName(16): false} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		l, err := Open(dir, nil)
		if ok {
			require.NoError(t, err)
			require.NoError(t, l.Close())
			continue
		}
		require.ErrorIs(t, err, ErrBroken)
		require.ErrorContains(t, err, "named after record 16, and the last record before it is 0")
	}
}

// TestTheVeryFirstRecordFollowsNothing: the name of the first file says that nothing stands before it.
func TestTheVeryFirstRecordFollowsNothing(t *testing.T) {
	dir := t.TempDir()
	body := []byte(`{"time":"2026-07-28T12:00:00Z","event":"open"}`)
	line, _ := newChain(nil).seal(Head{Seq: 0}, body)
	forged := strings.Replace(string(line[:len(line)-len(lineEnd)-hashLen-len(hashMember)]), genesis, strings.Repeat("5f", hashLen/2), 1)
	forged += hashMember + string(newChain(nil).sum([]byte(forged))) + lineEnd + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileName(1)), []byte(forged), 0o600))
	_, err := Verifier{}.Dir(dir)
	require.ErrorIs(t, err, ErrBroken)
	_, err = Open(dir, nil)
	require.ErrorIs(t, err, ErrBroken)
}

// contentOf returns what stands in the files of a directory but for the lock.
func contentOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		if e.Name() == "lock" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// TestWhatIsNoCrashIsLeftAlone: Open does not tidy up after somebody who changed a file.
func TestWhatIsNoCrashIsLeftAlone(t *testing.T) {
	for about, change := range map[string]func(text string) string{
		"flip":    func(s string) string { return strings.Replace(s, "pay", "buy", 1) },
		"cut":     func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest },
		"at end":  func(s string) string { return s[:len(s)-3] + "00\n" },
		"garbage": func(s string) string { return s + "garbage\n" },
		"key":     func(s string) string { return s },
	} {
		dir := t.TempDir()
		l := open(t, dir, nil)
		require.NoError(t, add(l))
		require.NoError(t, add(l))
		require.NoError(t, l.Close())
		name := filepath.Join(dir, fileName(1))
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		changed := change(string(text))
		require.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
		o := &FileOptions{}
		if about == "key" {
			o.Key = testKey
		}
		_, err = Open(dir, o)
		require.ErrorIs(t, err, ErrBroken, about)
		require.ErrorContains(t, err, "cannot be continued", about)
		again, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, changed, string(again), about)
	}
	dir := t.TempDir()
	l := open(t, dir, nil)
	_, err := Open(dir, nil)
	require.ErrorContains(t, err, "in use by another process")
	require.NoError(t, l.Close())
	l = open(t, dir, nil)
	require.NoError(t, l.Close())
	_, err = Open(filepath.Join(dir, fileName(1)), nil)
	require.Error(t, err, "a file is no directory")
}

// faulty is a file whose methods fail when the test wants it.
type faulty struct {
	file

	fail *string
}

func (f faulty) WriteAt(p []byte, at int64) (int, error) {
	if *f.fail == "write" {
		n, _ := f.file.WriteAt(p[:len(p)/2], at)
		return n, errDisk
	}
	return f.file.WriteAt(p, at)
}

func (f faulty) Sync() error {
	if *f.fail == "sync" {
		return errDisk
	}
	return f.file.Sync()
}

func (f faulty) Truncate(size int64) error {
	if *f.fail == "truncate" {
		return errDisk
	}
	return f.file.Truncate(size)
}

// TestADiskThatFails: whatever fails, the log is whole afterwards and has what was
// acknowledged, once.
func TestADiskThatFails(t *testing.T) {
	dir := t.TempDir()
	var fail string
	s := &files{dir: dir, max: 2000, unlock: func() {}, open: func(name string) (file, error) {
		if fail == "open" {
			return nil, errDisk
		}
		f, err := openFile(name)
		return faulty{f, &fail}, err
	}}
	l := newLog(s.write, LogOptions{})
	kept := 0
	for i := range 100 {
		fail = []string{"", "write", "", "", "sync", "truncate", "", "open", ""}[i%9]
		if fail == "open" || fail == "truncate" {
			s.closeFile()
		}
		if err := add(l); err == nil {
			require.Empty(t, fail)
			kept++
		} else {
			require.ErrorIs(t, err, errDisk)
		}
	}
	head, err := Verifier{Heads: []Head{l.Head()}}.Dir(dir)
	require.NoError(t, err)
	require.Equal(t, l.Head(), head)
	found, lost := 0, 0
	for _, r := range recordsIn(t, dir) {
		if lost += int(r.Lost); r.Event == eventCall {
			found++
		}
	}
	require.Equal(t, kept, found)
	require.Equal(t, 100-kept, lost)
}

// TestAKilledProcess kills a process that writes, several times: what it said was kept is
// there.
func TestAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[uint64]bool{}
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=TestWriter$")
		cmd.Env = append(os.Environ(), "AUDIT_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for i := 0; i < 200 && lines.Scan(); i++ {
			seq, err := strconv.ParseUint(lines.Text(), 10, 64)
			require.NoError(t, err, lines.Text())
			acknowledged[seq] = true
		}
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() {
			if seq, err := strconv.ParseUint(lines.Text(), 10, 64); err == nil {
				acknowledged[seq] = true
			}
		}
		_ = cmd.Wait()
	}
	l := open(t, dir, nil)
	require.NoError(t, l.Close())
	opened := 0
	for _, r := range recordsIn(t, dir) {
		delete(acknowledged, r.Seq)
		if r.Event == eventOpen {
			opened++
		}
	}
	require.Empty(t, acknowledged)
	require.Equal(t, 6, opened)
}

// TestWriter is the process of [TestAKilledProcess].
func TestWriter(t *testing.T) {
	dir := os.Getenv("AUDIT_WRITER")
	if dir == "" {
		t.Skip("it is run by TestAKilledProcess")
	}
	l := open(t, dir, &FileOptions{MaxBytes: 20_000})
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for {
				seq, err := l.append(recordOf(1))
				if err != nil {
					panic(err)
				}
				fmt.Println(seq)
			}
		})
	}
	writers.Wait()
}

// BenchmarkAppend shows what gathering is worth: per record, with 1 caller and with 64.
func BenchmarkAppend(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers)+" callers", func(b *testing.B) {
			l := open(b, b.TempDir(), nil)
			b.ReportAllocs()
			b.SetParallelism(callers)
			if callers == 1 {
				for b.Loop() {
					require.NoError(b, add(l))
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := add(l); err != nil {
							b.Error(err)
						}
					}
				})
			}
			require.NoError(b, l.Close())
		})
	}
	b.Run("no disk", func(b *testing.B) {
		l := NewLog(func([]Entry) error { return nil }, nil)
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, add(l))
		}
	})
}

// TestVerifiedWhileItIsWritten: what is being written at that moment is no finding.
func TestVerifiedWhileItIsWritten(t *testing.T) {
	dir := t.TempDir()
	log := open(t, dir, &FileOptions{MaxBytes: 20_000})
	stop, wait := make(chan struct{}), sync.WaitGroup{}
	for range 4 {
		h := New(&Options{Log: log})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = h(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: strings.Repeat("long", 50)}})
				}
			}
		})
	}
	var last Head
	for i := 0; i < 50 || last.Seq < 200; i++ {
		kept := log.Head()
		head, err := Verifier{Heads: []Head{kept}}.Dir(dir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, head.Seq, kept.Seq)
		last = head
	}
	close(stop)
	wait.Wait()
	require.NoError(t, log.Close())
	names, err := Files(dir)
	require.NoError(t, err)
	require.Greater(t, len(names), 2, "files were begun meanwhile")
}

// TestALineThatGetsItsEnd: Dir waits for the rest of a record whose beginning is there, but not for
// ever.
func TestALineThatGetsItsEnd(t *testing.T) {
	t.Cleanup(func() { patience = time.Second })
	patience = time.Minute // which no busy machine takes for the rest of the line
	dir := t.TempDir()
	require.NoError(t, open(t, dir, nil).Close())
	names, err := Files(dir)
	require.NoError(t, err)
	whole, err := os.ReadFile(names[0])
	require.NoError(t, err)

	half := whole[:len(whole)-40]
	require.NoError(t, os.WriteFile(names[0], half, 0o600))
	ended := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond)
		f, err := os.OpenFile(names[0], os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(whole[len(half):])
			err = errors.Join(err, f.Close())
		}
		ended <- err
	}()
	head, err := Verifier{}.Dir(dir)
	require.NoError(t, <-ended)
	require.NoError(t, err)
	require.EqualValues(t, 2, head.Seq)

	patience = 10 * time.Millisecond
	require.NoError(t, os.WriteFile(names[0], half, 0o600))
	head, err = Verifier{}.Dir(dir)
	require.ErrorIs(t, err, ErrBroken)
	require.EqualValues(t, 1, head.Seq)
}
