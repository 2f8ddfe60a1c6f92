package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// ErrBroken means that a record was changed, removed, inserted, doubled or moved. It also means that
// the log ends before one of [Verifier.Heads], or that its last line has no end. A crash leaves such
// a line, and then the record was not acknowledged. Somebody who cuts the log leaves one too.
// [Verifier.Heads] tell the two apart.
var ErrBroken = errors.New("audit: the chain is broken")

// A BreakError says where a log is broken. Everything before that place is proven.
type BreakError struct {
	Log    int    // which of the readers, from 0
	Line   int    // in that reader, from 1
	After  Head   // the last record that is right
	Reason string // in words
}

// Error says where and why.
func (e *BreakError) Error() string {
	return fmt.Sprintf("%v: log %d, line %d, after record %d: %s", ErrBroken, e.Log+1, e.Line, e.After.Seq, e.Reason)
}

// Unwrap returns [ErrBroken].
func (*BreakError) Unwrap() error { return ErrBroken }

// Verify reads a log from its beginning and returns its head. Several readers are parts of
// one log, in their order, as [Files] has them. An error of the chain is a [*BreakError],
// and the head is then that of the last record that is right. The memory that it takes
// does not depend on the log.
//
// It is for a log without a key; with one, or from a later place on, use a [Verifier].
func Verify(logs ...io.Reader) (Head, error) { return Verifier{}.Verify(logs...) }

// A Verifier verifies logs. The zero value is ready for use; methods may be called
// concurrently.
type Verifier struct {
	// Key is the key of the log, nil if it has none. The log itself cannot show whether it
	// has one.
	Key []byte

	// From is where the first reader begins, such as the head of older files that were
	// verified and taken away. The zero Head is the beginning of the log.
	From Head

	// Heads are heads that you kept apart from the log: each has to be in it. Those before
	// From are not checked.
	Heads []Head

	first uint64 // above 1: the number of the first record, whose predecessor is unknown
}

// Verify is [Verify] with the fields of the Verifier.
func (v Verifier) Verify(logs ...io.Reader) (Head, error) {
	head := v.From
	for line, err := range v.lines(logs) {
		if err != nil {
			return head, err
		}
		head = line.head
	}
	return head, nil
}

// Dir verifies all files of a log that [Open] keeps in a directory, also while it is
// written. If only the beginning of a record is there, Dir waits a second for its end. The
// log is verified up to the last record that is there when Dir reaches it.
//
// The log cuts off what a failed write left, so a verification at that moment may read what
// is then removed. If Dir reports an error while the log is written, verify again: only an
// error that is found again is real.
func (v Verifier) Dir(dir string) (Head, error) {
	names, err := Files(dir)
	if err != nil {
		return v.From, err
	}
	if len(names) == 0 {
		return v.From, fmt.Errorf("audit: %s: %w", dir, os.ErrNotExist)
	}
	files, logs := make([]lazyFile, len(names)), make([]io.Reader, len(names))
	for i, name := range names {
		files[i].name = name
		logs[i] = &files[i]
	}
	files[len(files)-1].patience = patience
	defer func() {
		for i := range files { // at most one is still open, if the log is broken there
			files[i].close()
		}
	}()
	return v.Verify(logs...)
}

// Records yields the records of a log while it is verified. The first error ends it.
func (v Verifier) Records(logs ...io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for line, err := range v.lines(logs) {
			var r Record
			if err == nil {
				err = json.Unmarshal(line.text, &r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// maxLine is the length of the longest line that is read. Those of mcpchain are shorter.
const maxLine = 1 << 20

type verified struct {
	head Head
	text []byte // valid until the next line
}

// lines yields the lines of a log, each verified. The first error ends it.
func (v Verifier) lines(logs []io.Reader) iter.Seq2[verified, error] {
	return func(yield func(verified, error) bool) {
		w := walk{Verifier: v, chain: newChain(v.Key), head: v.From, heads: map[uint64]string{}}
		if err := w.keepHeads(); err != nil {
			yield(verified{}, err)
			return
		}
		for w.log = range logs {
			r := bufio.NewReaderSize(logs[w.log], 64<<10)
			for w.line = 1; ; w.line++ {
				text, err := readLine(r)
				if errors.Is(err, io.EOF) && len(text) == 0 {
					break
				}
				if err = w.next(text, err); err != nil {
					yield(verified{}, err)
					return
				}
				if !yield(verified{w.head, text}, nil) {
					return
				}
			}
		}
		if w.furthest > w.head.Seq {
			yield(verified{}, w.broken(fmt.Sprintf("records are missing at the end: record %d was kept as a head", w.furthest)))
		}
	}
}

// A walk is one reading of a log.
type walk struct {
	Verifier

	chain     chain
	head      Head
	heads     map[uint64]string
	furthest  uint64 // of heads
	log, line int
}

func (w *walk) broken(reason string) error {
	return &BreakError{Log: w.log, Line: w.line, After: w.head, Reason: reason}
}

// keepHeads makes the heads ready to be compared.
func (w *walk) keepHeads() error {
	for _, h := range w.Heads {
		if have, twice := w.heads[h.Seq]; twice && have != h.hash() || h.Seq == w.From.Seq && h.hash() != w.From.hash() {
			return w.broken("the heads that were kept contradict each other, or From")
		}
		w.heads[h.Seq] = h.hash()
		w.furthest = max(w.furthest, h.Seq)
	}
	return nil
}

// next goes on to the record of a line, which was read with err.
func (w *walk) next(text []byte, err error) error {
	switch {
	case errors.Is(err, errTooLong):
		return w.broken(notARecord)
	case errors.Is(err, io.EOF):
		return w.broken(noEnd)
	case err != nil:
		return fmt.Errorf("audit: %w", err)
	}
	next, valid, reason := w.chain.open(w.head, text)
	if w.first > 1 && valid && w.head.Seq == 0 { // nothing stands before the very first record
		if reason = ""; next.Seq != w.first {
			reason = fmt.Sprintf("the file is named after record %d and begins with %d", w.first, next.Seq)
		}
	}
	if want, kept := w.heads[next.Seq]; reason == "" && kept && want != next.Hash {
		reason = "it is not the record whose head was kept"
	}
	if reason != "" {
		return w.broken(reason)
	}
	w.head = next
	return nil
}

const noEnd = "there is no end of the line"

var errTooLong = errors.New("audit: the line is too long")

// readLine returns the next line without its line break. With io.EOF it returns the rest
// after the last line break.
func readLine(r *bufio.Reader) (line []byte, err error) {
	line, err = r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > maxLine {
				return nil, errTooLong
			}
			var more []byte
			more, err = r.ReadSlice('\n')
			line = append(line, more...)
		}
	}
	if err == nil {
		line = line[:len(line)-1]
	}
	return line, err
}

// patience is how long Dir waits for the end of a line. It is a variable because tests with many
// such lines wait less.
var patience = time.Second

// lookFor is the time between two looks for it.
const lookFor = 5 * time.Millisecond

// lazyFile opens its file when it is first read, and closes it at its end.
type lazyFile struct {
	name string
	f    *os.File

	patience time.Duration // how long it waits for the end of a line that is not there
	begun    bool          // the last line that was read has no end yet
}

func (l *lazyFile) Read(p []byte) (n int, err error) {
	if l.f == nil {
		if l.f, err = os.Open(l.name); err != nil {
			return 0, err
		}
	}
	for {
		if n, err = l.f.Read(p); n > 0 {
			l.begun = p[n-1] != '\n'
		}
		if !errors.Is(err, io.EOF) || !l.begun || l.patience <= 0 {
			break
		}
		time.Sleep(lookFor)
		l.patience -= lookFor
	}
	if err != nil {
		l.close()
	}
	return n, err
}

func (l *lazyFile) close() {
	if l.f != nil {
		_ = l.f.Close()
	}
}

// Files returns the names of the files of a log that [Open] keeps in a directory, in
// their order.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted, and so are the numbers, which all have the same length
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	var names []string
	for _, e := range entries {
		if _, ok := firstSeq(e.Name()); ok {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}
