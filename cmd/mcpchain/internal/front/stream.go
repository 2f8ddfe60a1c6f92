package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A stream carries messages of a server to one client: what belongs to one request, up to its answer, or what
// belongs to none. In a session its events have numbers, and a client that has lost its connection reads on
// with another one. In 2026-07-28 there is no such thing any more.
type stream struct {
	id    rpc.ID       // of the request, as the client sent it; nil for what belongs to none
	token rpc.ID       // for its progress, as the client sent it; nil if it wants none
	own   rpc.ID       // the same, as the server knows it
	logs  bool         // it wants records of the server's log
	list  *rpc.Message // the request, if it is one for the tools

	name   string  // in the IDs of its events; "" if it cannot be resumed
	memory *memory // nil then

	mu     sync.Mutex
	events []event // that wait for the client
	bytes  int
	count  int  // of all events; the first of them primes
	first  bool // the client may have the ID of an event
	ended  bool // nothing more comes
	reader int  // the number of who reads it, zero if nobody does
	last   int  // of those
	ready  chan struct{}
}

type event struct {
	number int
	m      *rpc.Message
}

func newStream(id rpc.ID) *stream {
	return &stream{id: id, count: 1, reader: 1, last: 1, ready: make(chan struct{}, 1)}
}

// The bounds of the bytes that wait for a client that reads slowly, and for one that does not read yet. An
// answer always waits.
const (
	maxWaiting = 16 << 20
	maxBacklog = 1 << 20
)

// put adds a message, and reports whether it may be sent. last says that it is the answer.
func (s *stream) put(m *rpc.Message, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.reader == 0 && !s.first && s.id != nil // and nobody can come back for it
	most := maxWaiting
	if s.reader == 0 {
		most = maxBacklog
	}
	if s.ended || lost || !last && s.bytes+len(m.Line) > most {
		return false
	}
	e := event{s.count, m}
	s.count, s.ended = s.count+1, last
	if s.memory != nil {
		s.memory.keep(s.name, e)
	}
	if s.reader != 0 || s.id == nil {
		s.events, s.bytes = append(s.events, e), s.bytes+len(m.Line)
	}
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

// take makes somebody the reader of the stream, of what follows an event. Who reads it before reads no more.
// It is for streams that can be resumed.
func (s *stream) take(after int) (reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.reader, s.first = s.last, true
	waiting := s.events
	s.events, s.bytes = s.memory.after(s.name, after), 0
	for _, e := range waiting { // may have been forgotten there
		if e.number > after && !slices.ContainsFunc(s.events, func(one event) bool { return one.number == e.number }) {
			s.events = append(s.events, e)
		}
	}
	slices.SortFunc(s.events, func(a, b event) int { return a.number - b.number })
	for _, e := range s.events {
		s.bytes += len(e.m.Line)
	}
	close(s.ready) // who reads it before
	s.ready = make(chan struct{}, 1)
	return s.reader
}

// sit makes somebody the reader of what waits, and reports whether nobody was it.
func (s *stream) sit() (reader int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != 0 {
		return 0, false
	}
	s.last++
	s.reader = s.last
	return s.reader, true
}

// read reports whether somebody reads the stream.
func (s *stream) read() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader != 0
}

// empty reports whether the stream has ended, and nothing waits in it.
func (s *stream) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && len(s.events) == 0
}

// part says that a reader goes. It returns how many messages nobody will read, and whether the client can come
// back for the others.
func (s *stream) part(reader int) (unread int, back bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != reader {
		return 0, true // somebody has taken it
	}
	s.reader = 0
	if s.id == nil {
		return 0, true
	}
	unread, back = len(s.events), s.first && s.memory != nil
	s.events, s.bytes = nil, 0
	if back {
		unread = 0
	}
	return unread, back
}

var errTaken = errors.New("somebody else reads the stream")

// next returns what waits, and whether nothing will come after it. Without any it waits for something, and
// returns nothing after a pause.
func (s *stream) next(ctx context.Context, reader int, pause <-chan time.Time) (events []event, last bool, err error) {
	for {
		s.mu.Lock()
		if s.reader != reader {
			s.mu.Unlock()
			return nil, false, errTaken
		}
		events, last = s.events, s.ended
		s.events, s.bytes = nil, 0
		ready := s.ready
		s.mu.Unlock()
		if len(events) > 0 || last {
			return events, last, nil
		}
		select {
		case <-ready:
		case <-pause:
			return nil, false, nil
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// written returns an event as it is written.
func (s *stream) written(e event) []byte {
	var b []byte
	if b = append(b, "event: message\n"...); s.name != "" {
		b = append(append(append(b, "id: "...), s.eventID(e.number)...), '\n')
		s.mu.Lock()
		s.first = true
		s.mu.Unlock()
	}
	b = append(b, "data: "...)
	for _, c := range e.m.Line {
		if c != '\r' && c != '\n' { // they stand between tokens, and would end the line of the event
			b = append(b, c)
		}
	}
	return append(b, "\n\n"...)
}

func (s *stream) eventID(number int) string { return s.name + "_" + strconv.Itoa(number) }

// parseEventID returns what stands in the ID of an event.
func parseEventID(id string) (stream string, number int, ok bool) {
	stream, text, ok := strings.Cut(id, "_")
	number, err := strconv.Atoi(text)
	return stream, number, ok && err == nil && number >= 0 && stream != ""
}

// again is how long a client waits before it comes back.
const again = "1000"

// priming returns the event that has no message: the client knows by it how it comes back.
func (s *stream) priming() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = true
	number := s.count - 1
	if len(s.events) > 0 {
		number = s.events[0].number - 1
	}
	return []byte("id: " + s.eventID(number) + "\nretry: " + again + "\ndata:\n\n")
}

// quiet is how long a stream says nothing at most: proxies end connections that do.
const quiet = 15 * time.Second

// A manner is how a stream is written.
type manner struct {
	reader int
	json   bool          // an answer that comes alone is written as JSON,
	within time.Duration // if it comes so soon
	first  []byte        // written before everything else, nil for nothing
	back   bool          // the client has come back for an answer
}

// lastAnswer is how long a client that has come back still waits when its request has ended: so package drain ends
// streams once the calls have ended, whose answers are on their way.
const lastAnswer = time.Second

// patience returns the context for which the stream is written, and what frees it.
func (m *manner) patience(ctx context.Context) (patient context.Context, end func()) {
	if !m.back {
		return ctx, func() {}
	}
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })
	return patient, func() {
		stop()
		cancel()
	}
}

// serve writes the stream to the client until it ends or the client goes.
func (s *stream) serve(w http.ResponseWriter, req *http.Request, how manner) {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	pause := tick.C
	out := &output{w: w, control: http.NewResponseController(w)}
	if how.json {
		pause = time.After(how.within)
	} else if out.begin(how.first) != nil {
		return
	}
	ctx, end := how.patience(req.Context())
	defer end()
	for {
		events, last, err := s.next(ctx, how.reader, pause)
		if err != nil {
			return
		}
		if !out.begun && last && len(events) == 1 {
			status := http.StatusOK
			if req.Header.Get(versionHeader) >= modern {
				status = statusOf(events[0].m)
			}
			out.wait(len(events[0].m.Line))
			writeMessage(w, status, events[0].m)
			return
		}
		pause = tick.C
		if !out.begun && out.begin(how.first) != nil {
			return
		}
		if len(events) == 0 && !last {
			err = out.write([]byte(":\n\n"))
		}
		for _, e := range events {
			if err == nil {
				err = out.write(s.written(e))
			}
		}
		if errors.Join(err, out.control.Flush()) != nil || last {
			return
		}
	}
}

// output writes a stream of events.
type output struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// begin writes the header, and what comes first. A client may wait for it before it goes on.
func (o *output) begin(first []byte) (err error) {
	o.begun = true
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.w.Header().Set("Cache-Control", "no-cache, no-transform")
	o.w.WriteHeader(http.StatusOK)
	if first != nil {
		err = o.write(first)
	}
	return errors.Join(err, o.control.Flush())
}

func (o *output) write(part []byte) error {
	o.wait(len(part))
	_, err := o.w.Write(part)
	return err
}

// The bounds of how slowly a client may read: one that does not read at all holds nothing forever.
const (
	leastWait = 30 * time.Second
	leastRate = 16 << 10 // bytes in a second
)

// wait bounds how long writing may take. [Patient] takes the bound away.
func (o *output) wait(size int) {
	_ = o.control.SetWriteDeadline(time.Now().Add(leastWait + time.Duration(size/leastRate)*time.Second)) // where there is none it takes longer
}

// Patient returns a handler that leaves no time limit of an answer to the next one of the same connection.
func Patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }()
		next.ServeHTTP(w, req)
	})
}

// readBody reads a body of at most so many bytes.
func readBody(req *http.Request, most int) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, int64(most)))
	if err != nil {
		return nil, err
	}
	return bytes.TrimSpace(body), nil
}
