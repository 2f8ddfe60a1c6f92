package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FileOptions configure [Open]. The zero value is the recommended default.
type FileOptions struct {
	// Key is as in [LogOptions].
	Key []byte

	// MaxBytes is the size above which a new file is begun; the chain goes on in it. Zero
	// means 64 MiB.
	MaxBytes int64
}

const defaultMaxBytes = 64 << 20

// Open returns a log in the files of a directory, which it makes if there is none. The
// chain goes on where it ended.
//
// A call waits until its record is on disk (fsync); records that come at the same time share one
// wait. Each file is named after its first record, so that
// their names sort in the order of the chain; [Files] lists them. Files are never removed: verify
// the old ones, keep their head for [Verifier.From], then take them away.
//
// A crash in the middle of a write leaves a line without an end. It belongs to a record
// that was never acknowledged. Open moves it to a file of its own, beside the log, and
// records how many bytes it had. If anything else is wrong with the last file, Open fails and
// changes nothing. A crash of the machine can leave more damage than that line, if several
// blocks were not on disk and the file system writes blocks in any order.
//
// One process at a time may open a directory. Where the system has flock, a second one
// gets an error.
func Open(dir string, opts *FileOptions) (*Log, error) {
	var o FileOptions
	if opts != nil {
		o = *opts
	}
	switch {
	case o.MaxBytes < 0:
		return nil, errors.New("audit: FileOptions.MaxBytes is negative; give a size, or zero for the default")
	case o.Key != nil && len(o.Key) < minKey:
		return nil, errors.New("audit: FileOptions.Key is shorter than 16 bytes; give a random one, or nil")
	case o.MaxBytes == 0:
		o.MaxBytes = defaultMaxBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("audit: the log is in use by another process, or cannot be locked: %w", err)
	}
	s := &files{dir: dir, max: o.MaxBytes, unlock: unlock, open: openFile}
	head, dropped, err := s.resume(o.Key)
	if err != nil {
		unlock()
		return nil, err
	}
	l := newLog(s.write, LogOptions{Key: o.Key, After: head})
	l.end = s.close
	if _, err := l.append(Record{Time: time.Now().UTC(), Event: eventOpen, DroppedBytes: dropped}); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

const suffix = ".jsonl"

func fileName(seq uint64) string { return fmt.Sprintf("%020d%s", seq, suffix) }

// firstSeq returns the number of the first record of a file.
func firstSeq(name string) (seq uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil && seq > 0
}

// files are the sink of Open. Only one goroutine uses them at a time.
type files struct {
	dir    string
	max    int64
	unlock func()
	open   func(name string) (file, error)

	name string // of the file that is written, "" before there is one
	size int64  // of the part that is on disk
	f    file   // nil before the first write, and after one that failed
}

// A file is an *os.File, or one that fails in a test.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Close() error
}

func openFile(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return f, nil
}

// resume finds the end of the log, and sets aside what a crash left after it.
func (s *files) resume(key []byte) (head Head, dropped int64, err error) {
	names, err := Files(s.dir)
	if err != nil {
		return Head{}, 0, err
	}
	var torn []byte
	for i, name := range slices.Backward(names) { // the last may have no record yet
		last, size, rest, err := lastOf(key, name)
		if err == nil && len(rest) > 0 && i < len(names)-1 {
			err = fmt.Errorf("%w: %s", ErrBroken, noEnd)
		}
		if i == len(names)-1 {
			s.name, s.size, torn = name, size, rest
		}
		if err != nil {
			return Head{}, 0, cannotContinue(name, err)
		}
		if head = last; head.Seq > 0 {
			break
		}
	}
	if first, ok := firstSeq(filepath.Base(s.name)); ok && s.size == 0 && first != head.Seq+1 {
		return Head{}, 0, cannotContinue(s.name, fmt.Errorf("%w: the file is named after record %d, and the last record before it is %d", ErrBroken, first, head.Seq))
	}
	if len(torn) > 0 {
		err = s.setAside(torn)
	}
	return head, int64(len(torn)), err
}

func cannotContinue(name string, err error) error {
	return fmt.Errorf("audit: %s cannot be continued; verify it with the right key, and move the directory away: %w", name, err)
}

// lastOf reads a file. It returns its last record, or the zero Head, and the position where
// that record ends. torn is the rest after it, a line without its end.
func lastOf(key []byte, name string) (head Head, size int64, torn []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return Head{}, 0, nil, err
	}
	defer func() { _ = f.Close() }()
	first, _ := firstSeq(filepath.Base(name))
	for line, broken := range (Verifier{Key: key, first: first}).lines([]io.Reader{f}) {
		if broken != nil {
			torn, err = io.ReadAll(io.NewSectionReader(f, size, math.MaxInt64-size))
			if err != nil || bytes.IndexByte(torn, '\n') >= 0 {
				return Head{}, 0, nil, errors.Join(broken, err)
			}
			break
		}
		head, size = line.head, size+int64(len(line.text))+1
	}
	return head, size, torn, nil
}

// setAside copies what a crash left to a file beside the log. The first write cuts it off
// the log.
func (s *files) setAside(torn []byte) error {
	to, err := os.CreateTemp(s.dir, "torn-*")
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	_, err = to.Write(torn)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// write writes entries and syncs them. After a failure the next write begins again at the end of what
// is on disk, because it is unknown what a failed fsync leaves in memory and on disk.
func (s *files) write(entries []Entry) error {
	// After a crash or a failure it is unknown what follows size in the file, so the file is cut
	// there before another one begins.
	if s.name == "" || s.f != nil && s.size > s.max {
		s.closeFile()
		s.name, s.size = filepath.Join(s.dir, fileName(entries[0].Record.Seq)), 0
	}
	var buf []byte
	for _, e := range entries {
		buf = append(append(buf, e.Line...), '\n')
	}
	if err := s.try(buf); err != nil {
		s.closeFile()
		return fmt.Errorf("audit: %w", err)
	}
	s.size += int64(len(buf))
	return nil
}

func (s *files) try(buf []byte) error {
	if s.f == nil {
		f, err := s.open(s.name)
		if err != nil {
			return err
		}
		s.f = f
		if err := f.Truncate(s.size); err != nil {
			return err
		}
		if s.size == 0 {
			if err := syncDir(s.dir); err != nil {
				return err
			}
		}
	}
	if _, err := s.f.WriteAt(buf, s.size); err != nil {
		return err
	}
	return s.f.Sync()
}

func (s *files) closeFile() {
	if s.f != nil {
		_ = s.f.Close()
		s.f = nil
	}
}

func (s *files) close() error {
	s.closeFile()
	s.unlock()
	return nil
}
