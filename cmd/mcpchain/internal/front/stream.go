package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A stream carries messages of a server to one client: what belongs to one request, up to its answer, or what
// belongs to none.
type stream struct {
	id    rpc.ID          // of the request, as the client sent it; nil for what belongs to none
	token json.RawMessage // for its progress, as the client sent it; nil if it wants none
	logs  bool            // it wants records of the server's log

	mu     sync.Mutex
	lines  [][]byte
	bytes  int
	ended  bool // nothing more comes
	parted bool // nobody reads
	ready  chan struct{}
}

func newStream(id rpc.ID) *stream { return &stream{id: id, ready: make(chan struct{}, 1)} }

// maxWaiting bounds the bytes that wait for a client that reads slowly. An answer always waits.
const maxWaiting = 16 << 20

// put adds a message, and reports whether it will be sent. last says that it is the answer.
func (s *stream) put(line []byte, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.parted || !last && s.bytes+len(line) > maxWaiting {
		return false
	}
	s.lines, s.bytes, s.ended = append(s.lines, line), s.bytes+len(line), last
	s.wake()
	return true
}

// end ends a stream without an answer.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

func (s *stream) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// part says that nobody reads the stream any more. It returns what nobody has read.
func (s *stream) part() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parted = true
	return s.lines
}

// next returns what waits, and whether nothing will come after it. Without any it waits for something, and
// returns nothing after a pause.
func (s *stream) next(ctx context.Context, pause <-chan time.Time) (lines [][]byte, last bool, err error) {
	for {
		s.mu.Lock()
		lines, last = s.lines, s.ended
		s.lines, s.bytes = nil, 0
		s.mu.Unlock()
		if len(lines) > 0 || last {
			return lines, last, nil
		}
		select {
		case <-s.ready:
		case <-pause:
			return nil, false, nil
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// quiet is how long a stream says nothing at most: proxies end connections that do.
const quiet = 15 * time.Second

// serve writes the stream to the client until it ends or the client goes, after a first line if there is one. An
// answer that comes alone and soon is written as JSON, if the client takes that.
func (s *stream) serve(w http.ResponseWriter, req *http.Request, asJSON bool, first []byte) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	flush := http.NewResponseController(w).Flush
	begun := false
	begin := func() {
		begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache, no-transform")
		w.WriteHeader(http.StatusOK)
	}
	if !asJSON {
		begin()
		if first != nil {
			_, _ = w.Write(event(first)) // what is wrong with the connection is seen below
		}
		_ = flush() // a client may wait for it before it goes on
	}
	for {
		lines, last, err := s.next(req.Context(), tick.C)
		if err != nil {
			return
		}
		if !begun && asJSON && last && len(lines) == 1 {
			status := http.StatusOK
			if req.Header.Get(versionHeader) >= modern {
				status = statusOf(lines[0])
			}
			writeJSON(w, status, lines[0])
			return
		}
		if !begun {
			begin()
		}
		if len(lines) == 0 && !last {
			_, err = io.WriteString(w, ":\n\n")
		}
		for _, line := range lines {
			if err == nil {
				_, err = w.Write(event(line))
			}
		}
		if errors.Join(err, flush()) != nil || last {
			return
		}
	}
}

func event(line []byte) []byte {
	return bytes.Join([][]byte{[]byte("event: message\ndata: "), line, []byte("\n\n")}, nil)
}

// readLine reads a body as the one line that a server over stdio reads.
func readLine(req *http.Request, most int) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, int64(most)))
	if err != nil {
		return nil, err
	}
	if body = bytes.TrimSpace(body); bytes.ContainsAny(body, "\r\n") {
		var line bytes.Buffer
		if json.Compact(&line, body) == nil { // what is no JSON is refused as that
			return line.Bytes(), nil
		}
	}
	return body, nil
}
