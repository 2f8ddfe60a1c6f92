package rpc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

// Messages are what a server writes. What only one thing can be meant by is mended: a byte order mark before a
// message, and a message on many lines. One goroutine calls Next.
type Messages struct {
	lines *Reader

	part   []byte // the lines of an object that has not ended
	sound  int    // bytes of them that were seen to begin an object
	inside scanner
	then   func() (*Message, error) // what comes next, if it was read already
	open   atomic.Bool
}

// NewMessages returns the messages of a server, each of at most so many bytes.
func NewMessages(r io.Reader, most int) *Messages { return &Messages{lines: NewReader(r, most)} }

// Open reports whether an object was begun on one of the lines that were read, and has not ended. It may be called
// concurrently.
func (r *Messages) Open() bool { return r.open.Load() }

// Next returns the next message. The error is a *[RefusedError], a *[TooLongError], or that of the reader.
func (r *Messages) Next() (*Message, error) {
	if then := r.then; then != nil {
		r.then = nil
		if m, err := then(); m != nil || err != nil {
			return m, err
		}
	}
	for {
		line, err := r.lines.Next()
		if err != nil {
			if long, ok := errors.AsType[*TooLongError](err); ok && r.part != nil && long.ID == nil { // a line of the object
				return nil, r.tooLong(long.Bytes)
			}
			return r.broken(nil, err)
		}
		line, marked := bytes.CutPrefix(line, mark)
		if len(line) == 0 {
			continue
		}
		m, err := Read(line)
		switch {
		case err == nil && marked:
			m.Mended = "a byte order mark before a message"
			fallthrough
		case err == nil:
			return r.broken(m, nil)
		case line[0] == '{' && r.hopeless():
			r.then = func() (*Message, error) { return r.takes(line, err) }
			return nil, r.endless()
		}
		if m, err = r.takes(line, err); m != nil || err != nil {
			return m, err
		}
	}
}

// takes adds a line that is no message to the object that has not ended, or begins one with it. The error is that of
// a line that begins none.
func (r *Messages) takes(line []byte, err error) (*Message, error) {
	if r.part == nil && !begins(line) {
		return nil, err
	}
	return r.add(line)
}

// hopeless reports whether the object that has not ended is none, such as a log with a brace in it: the next one would
// be lost inside of it. What has grown little is not read again.
func (r *Messages) hopeless() bool {
	if r.part == nil || len(r.part) < 2*r.sound {
		return false
	}
	r.sound = len(r.part)
	return !begins(r.part)
}

var mark = []byte("\ufeff")

// add adds a line to the object that has not ended, and returns the message if it has now.
func (r *Messages) add(line []byte) (*Message, error) {
	line = append(slices.Clip(line), '\n')
	r.part = append(r.part, line...)
	r.inside.scan(line)
	r.open.Store(true)
	id, method := r.inside.id(), r.inside.method
	switch long := len(r.part) > r.lines.max; {
	case r.inside.depth > 0 && long:
		return nil, r.tooLong(0)
	case r.inside.depth > 0:
		return nil, nil //nolint:nilnil // it goes on
	}
	part := r.end()
	whole := jsons.Compact(bytes.TrimSpace(part))
	if whole == nil {
		return nil, &RefusedError{Line: part, Code: jsonrpc.CodeParseError, Reason: "it stands on many lines and is no JSON", ID: id, Method: method}
	}
	m, err := Read(whole)
	if err == nil {
		m.Mended = "a message on many lines"
	}
	return m, err
}

// tooLong ends an object that has become too long, with so many bytes more.
func (r *Messages) tooLong(more int) error {
	err := &TooLongError{Bytes: len(r.part) + more, ID: r.inside.id(), Method: r.inside.method, Named: r.inside.ids > 0}
	r.end()
	return err
}

// end forgets the object that has not ended, and returns what there is of it.
func (r *Messages) end() []byte {
	part := r.part
	r.part, r.sound, r.inside = nil, 0, scanner{}
	r.open.Store(false)
	return part
}

// broken returns what was read. If an object has not ended before it, that is refused first.
func (r *Messages) broken(m *Message, err error) (*Message, error) {
	if r.part == nil {
		return m, err
	}
	r.then = func() (*Message, error) { return m, err }
	return nil, r.endless()
}

// endless ends an object that does not.
func (r *Messages) endless() error {
	return &RefusedError{Line: r.end(), Code: jsonrpc.CodeParseError, Reason: "an object on many lines does not end"}
}

// begins reports whether a line is the beginning of an object.
func begins(line []byte) bool {
	if line[0] != '{' {
		return false
	}
	read := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return errors.Is(read.SkipValue(), io.ErrUnexpectedEOF)
}
