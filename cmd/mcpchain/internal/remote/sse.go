package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A position is where a stream of events stands, so that it can be resumed.
type position struct {
	id    string        // of the last event, "" if the server gives none
	pause time.Duration // that the server wants before its stream is asked for again, zero if it said none
}

// maxPause bounds what a server wants.
const maxPause = time.Minute

// An eventReader reads server-sent events as their specification says. Lines end with LF, CR, or both. The data of
// an event are its lines of the field "data", and a blank line ends it. An event without an end is dropped.
type eventReader struct {
	lines *bufio.Reader
	most  int // bytes of an event

	position
	after bool // the last line ended with CR, to which an LF belongs
	first bool // a line was read: only before it a byte order mark may stand
}

func newEventReader(body io.Reader, most int, at position) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(body, 64<<10), most: most, position: at}
}

// next returns the data of the next event that has some. Their error is a *[rpc.TooLongError], or
// that of the body.
func (r *eventReader) next() ([]byte, error) {
	var data []byte
	var name, id string
	has, size := false, 0
	id = r.id
	for {
		line, err := r.line(r.most - size)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 { // the end of the event
			r.id = id
			if has && len(bytes.TrimSpace(data)) > 0 && (name == "" || name == "message") {
				return data, nil
			}
			data, name, has, size = nil, "", false, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) { // "" is a comment
		case "data":
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, value...), true
			size += len(value) + 1
		case "event":
			name = string(value)
		case "id":
			if !bytes.Contains(value, []byte{0}) && len(value) <= maxID {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.pause = min(time.Duration(ms)*time.Millisecond, maxPause)
			}
		}
	}
}

// maxID bounds the ID of an event, which stands in a header when the stream is resumed.
const maxID = 4 << 10

// line returns a line without its end.
func (r *eventReader) line(most int) (line []byte, err error) {
	for {
		if r.after {
			r.after = false
			if b, err := r.lines.Peek(1); err == nil && b[0] == '\n' {
				_, _ = r.lines.Discard(1)
			}
		}
		part, err := r.part()
		line = append(line, part...)
		switch {
		case len(line) > most+len("data: ")+2:
			return nil, &rpc.TooLongError{Bytes: len(line)}
		case err != nil:
			return nil, err
		}
		if end := len(line) - 1; end >= 0 && (line[end] == '\n' || line[end] == '\r') {
			r.after = line[end] == '\r'
			line = line[:end]
			if !r.first {
				r.first = true
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return line, nil
		}
	}
}

// part returns what was read to the next end of a line, or as much as came at once.
func (r *eventReader) part() ([]byte, error) {
	if _, err := r.lines.Peek(1); err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		return nil, err
	}
	buffered, err := r.lines.Peek(r.lines.Buffered())
	if err != nil {
		return nil, err
	}
	if end := bytes.IndexAny(buffered, "\r\n"); end >= 0 {
		buffered = buffered[:end+1]
	}
	part := bytes.Clone(buffered)
	_, err = r.lines.Discard(len(part))
	return part, err
}
