package front

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A session leads what one proxy writes to the requests that it belongs to. It is the writer of the proxy.
type session struct {
	id     string
	proxy  *proxy.Proxy
	logger *slog.Logger

	initialized   atomic.Bool // the server has taken the client
	refused       atomic.Bool // the server takes the credentials of the client for wrong
	authorization string      // of the client that began it

	mu      sync.Mutex
	owners  owners
	purse   purse              // of the client that began it
	holds   bool               // it is counted there
	proven  bool               // by credentials that the server has accepted
	streams map[string]*stream // of requests, by the keys of the IDs that the proxy knows them by
	newest  []*stream          // the same, in their order
	tokens  map[string]*stream // by the keys of the tokens that the server knows for their progress
	named   map[string]*stream // those that can be resumed and have not ended, by their names
	alone   *stream            // for what belongs to no request; nil if it is shared
	version string             // on which initialize has agreed
	used    time.Time          // when the last call ended
	ended   bool

	memory  *memory       // nil if it is shared
	patient time.Duration // see refusals

	shared    bool          // by many clients: see modern.go
	single    bool          // all of them have the same credentials
	refusing  chan struct{} // one for each refusal of a server's request that is under way
	next      int           // the number of the next request of theirs, or of the next stream
	listeners listeners
	tools     tools
}

func newSession(id string, shared bool, logger *slog.Logger) *session {
	s := &session{id: id, shared: shared, logger: logger, refusing: make(chan struct{}, 64), streams: map[string]*stream{}, tokens: map[string]*stream{}, named: map[string]*stream{}, used: time.Now(),
		listeners: listeners{clients: map[*stream]*wants{}, own: map[string]*subscription{}}}
	if !shared {
		s.memory = &memory{}
		s.alone = newStream(nil)
		s.alone.name, s.alone.memory, s.alone.linked, s.alone.reader = aloneName, s.memory, true, 0
		s.named[aloneName] = s.alone
	}
	return s
}

// aloneName is the name of the stream of what belongs to no request.
const aloneName = "0"

// idle returns for how long no call has run in the session. A client that only listens does not use it, and one that has
// lost its connection still does.
func (s *session) idle() time.Duration {
	busy := s.proxy.Busy() // also with a call whose client has gone
	s.mu.Lock()
	defer s.mu.Unlock()
	if busy {
		s.used = time.Now()
	}
	if len(s.streams) > 0 || len(s.listeners.clients) > 0 {
		return 0
	}
	return time.Since(s.used)
}

// take gives a message of the client to the server, and answers it.
func (s *session) take(p *post) {
	m := p.m
	if !m.IsRequest() {
		s.mu.Lock()
		s.used = time.Now()
		s.mu.Unlock()
		s.proxy.Receive(m, p.extra)
		if m.Method == "notifications/cancelled" { // nothing will come any more
			s.cancelled(m)
		}
		p.w.WriteHeader(http.StatusAccepted)
		return
	}
	st := newStream(m.ID)
	st.of(p)
	st.token = m.Token()
	st.own = st.token
	if why := s.open(m.ID.Key(), st); why != nil {
		s.refuse(p, why)
		return
	}
	defer s.close(m.ID.Key(), st, st.reader)
	how := manner{reader: st.reader, json: p.json, within: quiet}
	if m.Method != "initialize" && s.speaks() >= primed { // a client that loses its answer begins anew
		how.json, how.within, how.first = p.json && s.patient > 0, s.patient, st.priming()
	}
	s.proxy.Receive(m, p.extra)
	st.serve(p.w, p.req, how)
}

// primed is the first version whose streams begin with an event that has no message. Clients of older ones
// may take that for a message.
const primed = "2025-11-25"

func (s *session) speaks() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// refuse answers a request that open refuses.
func (s *session) refuse(p *post, why error) {
	if !errors.Is(why, errUsed) {
		unavailable(p.w, p.m.ID, why)
		return
	}
	fail(p.w, http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "Invalid message: "+why.Error()+".")
}

var errUsed = errors.New("the ID is that of a request that is not answered yet")

// open lets what belongs to a request go to a stream.
func (s *session) open(key string, st *stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[key] != nil || s.listeners.own[key] != nil {
		return errUsed
	}
	if err := st.begin(); err != nil {
		return err
	}
	if s.memory != nil {
		s.next++
		st.name, st.memory = strconv.Itoa(s.next), s.memory
	}
	if s.ended {
		st.settle()
		st.put(gone(st.id), true)
		return nil
	}
	s.streams[key] = st
	if s.shared || slices.Contains(s.owners, st.by) {
		s.link(st)
	}
	return nil
}

// link lets what the server says by itself go to a stream, and lets its client come back for it. The stream is of an
// owner of the session. The caller holds the lock.
func (s *session) link(st *stream) {
	st.linked = true
	s.newest = append(s.newest, st)
	if st.memory != nil {
		s.named[st.name] = st
	}
	if st.own != nil {
		s.tokens[st.own.Key()] = st
	}
}

// close ends what open began. What the client may come back for goes on. The ID of a running call stays in use: its
// answer must not be taken for that of another call.
func (s *session) close(key string, st *stream, reader int) {
	s.mu.Lock()
	unread, back := st.part(reader)
	if !back {
		s.unlink(st)
		if s.shared {
			s.forget(key, st)
		}
	}
	s.mu.Unlock()
	if unread > 0 {
		s.logger.Warn("a client has gone before it has read its answer", slog.Int("messages", unread))
	}
}

// forget ends a stream whose answer is there, or comes no more. The caller holds the lock.
func (s *session) forget(key string, st *stream) {
	if s.streams[key] != st {
		return
	}
	delete(s.streams, key)
	s.used = time.Now()
	s.unlink(st)
	st.settle()
}

// unlink lets nothing but the answer go to a stream. The caller holds the lock.
func (s *session) unlink(st *stream) {
	delete(s.named, st.name)
	for i, one := range s.newest {
		if one == st {
			s.newest = append(s.newest[:i:i], s.newest[i+1:]...)
			break
		}
	}
	if token := st.own.Key(); s.tokens[token] == st {
		delete(s.tokens, token)
	}
}

func (s *session) cancelled(m *rpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := m.Cancels().Key()
	if st := s.streams[key]; st != nil {
		s.forget(key, st)
		// Without an answer a client would come back for it.
		st.put(rpc.Failed(st.id, &jsonrpc.Error{Code: cancelledCode, Message: "Cancelled: the client has cancelled the request."}), true)
	}
}

// cancelledCode is the code of cancelled calls, see internal/kinds.
const cancelledCode = 499

// finish ends all streams, when the server has ended for good.
func (s *session) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, st := range s.streams {
		st.put(gone(st.id), true)
		st.settle()
	}
	for st := range s.listeners.clients {
		st.put(gone(st.id), true)
	}
	for key := range s.listeners.own {
		s.drop(key)
	}
	if s.alone != nil {
		s.alone.end()
		s.memory.forget()
	}
	clear(s.named)
	if s.holds {
		s.purse.give(sessions, 1)
		s.holds = false
	}
}

func gone(id rpc.ID) *rpc.Message {
	return rpc.Failed(id, &jsonrpc.Error{Code: 503, Message: "Service unavailable: the session has ended.\nSuggestion: Begin a new session."})
}

// Write takes one message of the server. It never waits for a client.
func (s *session) Write(m *rpc.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Method == "":
		s.answer(m)
	case s.shared:
		s.passed(m)
	case !s.streamOf(m).put(m, false) && !s.alone.put(m, false):
		s.logger.Warn("a message of the server was dropped: its client does not read", slog.Int("bytes", len(m.Line)))
	}
	return nil
}

// answer gives an answer to its request. The caller holds the lock.
func (s *session) answer(m *rpc.Message) {
	key := m.ID.Key()
	st := s.streams[key]
	if st == nil {
		if s.listened(m) {
			return
		}
		s.logger.Debug("nobody waits for an answer any more", slog.String("id", string(m.ID)))
		return
	}
	s.forget(key, st)
	if m.Error == nil {
		s.begins(m)
	}
	if st.list != nil && m.Error == nil {
		s.tools.learn(st.list, m)
	}
	if s.shared {
		m = m.With(st.id, "id")
	}
	st.put(m, true)
}

// begins notes the version on which initialize has agreed. The caller holds the lock.
func (s *session) begins(m *rpc.Message) {
	if s.initialized.Swap(true) || s.shared {
		return
	}
	s.version = m.Text("result", "protocolVersion") // the client judges it
}

// streamOf returns where a request or a notification of the server goes. Over stdio a
// server does not say which request it belongs to, but for its progress. The caller holds the lock.
func (s *session) streamOf(m *rpc.Message) *stream {
	if m.Method == "notifications/progress" {
		if st := s.tokens[progressOf(m).Key()]; st != nil {
			return st
		}
	}
	general := m.ID == nil && (strings.HasSuffix(m.Method, "list_changed") || m.Method == "notifications/resources/updated")
	switch last := len(s.newest) - 1; {
	case last == 0 && !general: // the only request
		return s.newest[0]
	case last >= 0 && !s.alone.read():
		return s.newest[last]
	default:
		return s.alone
	}
}

// progressOf returns the token of a notification of progress, nil if it has none.
func progressOf(m *rpc.Message) rpc.ID { return rpc.ID(m.Value("params", "progressToken")) }
