// Package rpc reads and writes JSON-RPC messages as lines, without changing them: what a message
// is for is read from its members, and the line itself is what is passed on.
package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A Reader reads lines within a bound.
type Reader struct {
	lines *bufio.Reader
	max   int
}

// NewReader returns a Reader of lines of at most so many bytes.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{lines: bufio.NewReaderSize(r, 64<<10), max: most}
}

// A TooLongError is the error of a line that is longer than the bound. The line was read to its
// end, and what follows can be read.
type TooLongError struct {
	Bytes  int  // of the line
	ID     ID   // of the message, nil if it does not have one that could be read
	Method bool // the message has a method: it is a request or a notification
	Named  bool // it has something that may be an ID
}

func (e *TooLongError) Error() string { return "rpc: the line is too long" }

// Refused says why the line of a client is not passed on. most is the bound.
func (e *TooLongError) Refused(most int) *RefusedError {
	return &RefusedError{
		Code: jsonrpc.CodeInvalidRequest, Reason: "it is longer than " + strconv.Itoa(most) + " bytes", ID: e.ID, Method: e.Method,
		Silent: e.Method != e.Named,
	}
}

// Next returns the next line that is not blank, without its end. The caller may keep it. The error
// is a *[TooLongError], or that of the reader; a last line without an end is a line.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.next()
		if line = bytes.TrimSpace(line); len(line) > 0 || err != nil {
			return line, err
		}
	}
}

func (r *Reader) next() (line []byte, err error) {
	size := 0
	var long *scanner // of a line that is not kept
	for {
		part, err := r.lines.ReadSlice('\n')
		size += len(part)
		switch {
		case long != nil:
			long.scan(part)
		case size > r.max+1: // with the end of the line
			long = &scanner{}
			long.scan(line)
			long.scan(part)
			line = nil
		case errors.Is(err, bufio.ErrBufferFull) && cap(line)-len(line) < len(part): // more comes
			line = append(slices.Grow(line, max(2*len(part), len(line))), part...)
		default:
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long != nil:
			return nil, &TooLongError{Bytes: size, ID: long.id(), Method: long.method, Named: long.ids > 0}
		case err != nil && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the error comes again
		default:
			return line, err
		}
	}
}

// A Writer writes lines, each whole. It may be used concurrently.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	line []byte // the last one, whose room the next one has
}

// NewWriter returns a Writer of lines to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes a message as a line.
func (w *Writer) Write(m *Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := append(append(w.line[:0], m.Line...), '\n')
	if w.line = nil; cap(line) <= maxRoom {
		w.line = line
	}
	_, err := w.w.Write(line)
	return err
}

// maxRoom bounds what a Writer keeps.
const maxRoom = 1 << 20

// A scanner reads the members of an object that is too long to be kept, as it passes by. It keeps the "id" of the
// top level, and whether there is a "method".
type scanner struct {
	depth   int
	text    bool // inside of a text
	escaped bool
	value   bool // behind the colon of a member of the top level

	key    []byte // the member of the top level, or its beginning
	found  []byte // the value of "id", with its quotes
	ids    int    // how many members may be called so, by some reader
	method bool
}

const maxID = 1 << 10

func (s *scanner) scan(part []byte) {
	for _, b := range part {
		s.next(b)
	}
}

func (s *scanner) next(b byte) {
	if s.depth == 1 && s.value && string(s.key) == `"id"` && (s.text || b != ',' && b != '}') && len(s.found) < maxID {
		s.found = append(s.found, b)
	}
	switch {
	case s.escaped:
		s.escaped = false
		s.keyed(b)
	case s.text && b == '\\':
		s.escaped = true
		s.keyed(b)
	case b == '"':
		s.text = !s.text
		s.keyed(b)
	case s.text:
		s.keyed(b)
	case b == '{', b == '[':
		s.depth++
	case b == '}', b == ']':
		s.depth--
	case s.depth == 1 && b == ':':
		s.value = true
		s.method = s.method || string(s.key) == `"method"`
		if strings.EqualFold(string(s.key), `"id"`) || bytes.IndexByte(s.key, '\\') >= 0 {
			s.ids++
		}
	case s.depth == 1 && b == ',':
		s.value, s.key = false, nil
	}
}

// keyed adds a byte of a text to the name of a member of the top level.
func (s *scanner) keyed(b byte) {
	if s.depth == 1 && !s.value && len(s.key) < 16 {
		s.key = append(s.key, b)
	}
}

func (s *scanner) id() ID {
	id := ID(bytes.TrimSpace(s.found))
	if id.Key() == "" || s.ids != 1 {
		return nil
	}
	return id
}
