package front

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A stream carries messages of a server to one client: what belongs to one request, up to its answer, or what
// belongs to none. In a session its events have numbers, and a client that has lost its connection reads on with
// another one. Version 2026-07-28 has no such numbers.
type stream struct {
	id    rpc.ID       // of the request, as the client sent it; nil for what belongs to none
	token rpc.ID       // for its progress, as the client sent it; nil if it wants none
	own   rpc.ID       // the same, as the server knows it
	logs  bool         // it wants records of the server's log
	list  *rpc.Message // the request, if it is one for the tools

	by     string // the name of the credentials of its request
	purse  purse  // of the client that has sent it
	body   int    // its bytes
	begun  bool   // it is counted as a call that runs; see begin
	linked bool   // it is of an owner of the session; see session.link, whose lock guards it

	name   string  // in the IDs of its events; "" if it cannot be resumed
	memory *memory // nil then

	mu     sync.Mutex
	events []event // that wait for the client
	bytes  int
	count  int  // of all events; the first of them primes
	first  bool // the client may have the ID of an event
	ended  bool // nothing more comes
	reader int  // the number of its reader, zero if it has none
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

// of says whose request the stream answers.
func (s *stream) of(p *post) {
	s.by, s.purse, s.body = nameOf(p.m.Authorization), p.purse, len(p.m.Line)
}

// begin counts the request as a call that runs, with its bytes. It refuses a client that has not read what waits
// already: the answer would find no place. Call settle when it has ended.
func (s *stream) begin() error {
	if err := s.purse.take(waiting, 1); err != nil {
		return err
	}
	s.purse.give(waiting, 1)
	if err := s.purse.take(calls, 1); err != nil {
		return err
	}
	if err := s.purse.take(bodies, s.body); err != nil {
		s.purse.give(calls, 1)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	return nil
}

// settle gives back what begin has taken. It may be called again.
func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.begun = false
		s.purse.give(calls, 1)
		s.purse.give(bodies, s.body)
	}
}

// The bounds of the bytes that wait for a slow client, and for one that does not read yet. The bounds of its caller,
// and of all, hold besides.
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
	waits := s.reader != 0 || s.id == nil
	if waits {
		switch err := s.purse.take(waiting, len(m.Line)); {
		case err != nil && !last:
			return false
		case err != nil:
			m = dropped(s.id, err)
			s.purse.put(waiting, len(m.Line))
		}
	}
	e := event{s.count, m}
	s.count, s.ended = s.count+1, last
	if s.memory != nil && s.linked {
		s.memory.keep(s.name, s.by, e)
	}
	if waits {
		s.events, s.bytes = append(s.events, e), s.bytes+len(m.Line)
	}
	s.wake()
	return true
}

// dropped returns what takes the place of an answer that finds none.
func dropped(id rpc.ID, why error) *rpc.Message {
	code, what := noPlace(why)
	return rpc.Failed(id, &jsonrpc.Error{Code: int64(code), Message: what + why.Error() + ", so the answer of this call was dropped. " +
		"The server has answered it: what the call does may have been done.\nSuggestion: Read the answers of the other calls first."})
}

// end ends a stream without an answer. Its reader still gets what waits.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; s.reader == 0 {
		s.drop()
	}
	s.wake()
}

// drop forgets what waits. The caller holds the lock.
func (s *stream) drop() {
	s.purse.give(waiting, s.bytes)
	s.events, s.bytes = nil, 0
}

func (s *stream) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take makes a new reader for what follows an event. The reader before gets no more. It is for streams that can be
// resumed.
func (s *stream) take(after int) (reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.reader, s.first = s.last, true
	before := s.events
	s.drop()
	s.events = s.memory.after(s.name, after)
	for _, e := range before { // may have been forgotten there
		if e.number > after && !slices.ContainsFunc(s.events, func(one event) bool { return one.number == e.number }) {
			s.events = append(s.events, e)
		}
	}
	slices.SortFunc(s.events, func(a, b event) int { return a.number - b.number })
	for _, e := range s.events {
		s.bytes += len(e.m.Line)
	}
	s.purse.put(waiting, s.bytes)
	close(s.ready) // for the reader before
	s.ready = make(chan struct{}, 1)
	return s.reader
}

// sit makes a reader for what waits, and reports whether there was none.
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
	s.drop()
	if back {
		unread = 0
	}
	return unread, back
}

var errTaken = errors.New("somebody else reads the stream")

// next returns what waits, and whether nothing will come after it. Without any it waits for something, and
// returns nothing after a pause. Call wrote with the events when they do not wait any more.
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

// wrote says that events do not wait any more.
func (s *stream) wrote(events ...event) {
	for _, e := range events {
		s.purse.give(waiting, len(e.m.Line))
	}
}

// head returns what stands before the message of an event, with room for more.
func (s *stream) head(e event, room int) []byte {
	b := append(make([]byte, 0, room+eventHead), "event: message\n"...)
	if s.name != "" {
		b = append(append(append(b, "id: "...), s.eventID(e.number)...), '\n')
		s.mu.Lock()
		s.first = true
		s.mu.Unlock()
	}
	return append(b, "data: "...)
}

// written returns an event as it is written.
func (s *stream) written(e event) []byte {
	b := s.head(e, len(e.m.Line))
	for rest := e.m.Line; len(rest) > 0; { // breaks stand between tokens, and would end the line of the event
		part := rest
		if at := bytes.IndexAny(rest, "\r\n"); at >= 0 {
			part, rest = rest[:at], rest[at+1:]
		} else {
			rest = nil
		}
		b = append(b, part...)
	}
	return append(b, "\n\n"...)
}

// eventHead is how many bytes an event has beside its message at most.
const eventHead = 128

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
