package front

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
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

	initialized atomic.Bool            // the server has taken the client
	credentials atomic.Pointer[string] // the last header Authorization of the client

	mu      sync.Mutex
	streams map[string]*stream // of requests, by the keys of the IDs that the proxy knows them by
	newest  []*stream          // the same, in their order
	tokens  map[string]*stream // by the tokens of their progress
	alone   *stream            // for what belongs to no request; nil if the client does not listen
	backlog [][]byte           // what nobody listened for yet
	size    int                // of the backlog, in bytes
	used    time.Time
	ended   bool

	shared    bool // by many clients: see modern.go
	next      int  // the number of the next request of theirs
	listeners listeners
}

func newSession(id string, logger *slog.Logger) *session {
	return &session{id: id, logger: logger, streams: map[string]*stream{}, tokens: map[string]*stream{}, used: time.Now(),
		listeners: listeners{map[*stream]*wants{}, map[string]*subscription{}}}
}

// comes notes the credentials of a client, which may renew them in the middle of a session.
func (s *session) comes(header http.Header) {
	value := header.Get("Authorization")
	s.credentials.Store(&value)
}

func (s *session) authorization() string {
	if value := s.credentials.Load(); value != nil {
		return *value
	}
	return ""
}

// idle returns for how long nobody has used the session.
func (s *session) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams)+len(s.listeners.clients) > 0 || s.alone != nil {
		return 0
	}
	return time.Since(s.used)
}

// take gives a message of the client to the server, and answers it.
func (s *session) take(p *post) {
	m := p.m
	if !m.IsRequest() {
		s.touch()
		s.proxy.Receive(m, p.extra)
		if m.Method == "notifications/cancelled" { // nothing will come any more
			s.cancelled(m)
		}
		p.w.WriteHeader(http.StatusAccepted)
		return
	}
	st := newStream(m.ID)
	st.token = tokenOf(m)
	if !s.open(m.ID.Key(), st) {
		fail(p.w, http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "Invalid message: the ID is that of a request that is not answered yet.")
		return
	}
	defer s.close(m.ID.Key(), st)
	s.proxy.Receive(m, p.extra)
	st.serve(p.w, p.req, p.json, nil)
}

func (s *session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

// open lets what belongs to a request go to a stream. It reports false if the ID is in use.
func (s *session) open(key string, st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[key] != nil {
		return false
	}
	if s.ended {
		st.put(gone(st.id), true)
		return true
	}
	s.streams[key] = st
	s.newest = append(s.newest, st)
	if st.token != nil {
		s.tokens[rpc.ID(st.token).Key()] = st
	}
	return true
}

// close ends what open began.
func (s *session) close(key string, st *stream) {
	unread := st.part()
	s.mu.Lock()
	s.used = time.Now()
	s.forget(key, st)
	s.mu.Unlock()
	if len(unread) > 0 {
		s.logger.Warn("a client has gone before it has read its answer", slog.Int("messages", len(unread)))
	}
}

// forget is for who holds the lock.
func (s *session) forget(key string, st *stream) {
	if s.streams[key] != st {
		return
	}
	delete(s.streams, key)
	for i, one := range s.newest {
		if one == st {
			s.newest = append(s.newest[:i:i], s.newest[i+1:]...)
			break
		}
	}
	if token := rpc.ID(st.token).Key(); s.tokens[token] == st {
		delete(s.tokens, token)
	}
}

func (s *session) cancelled(m *rpc.Message) {
	var params struct {
		RequestID rpc.ID `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	s.mu.Lock()
	st := s.streams[params.RequestID.Key()]
	s.mu.Unlock()
	if st != nil {
		st.end()
	}
}

// listen serves the stream of what belongs to no request.
func (s *session) listen(w http.ResponseWriter, req *http.Request) {
	if _, events := accepts(req.Header); !events {
		http.Error(w, "Accept must contain 'text/event-stream' for GET requests", http.StatusNotAcceptable)
		return
	}
	st := newStream(nil)
	s.mu.Lock()
	if s.alone != nil || s.ended {
		s.mu.Unlock()
		http.Error(w, "Conflict: the session has such a stream", http.StatusConflict)
		return
	}
	s.alone = st
	for _, line := range s.backlog {
		st.put(line, false)
	}
	s.backlog, s.size = nil, 0
	s.mu.Unlock()
	st.serve(w, req, false, nil)
	unread := st.part()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone, s.used = nil, time.Now()
	for _, line := range unread {
		s.keep(line)
	}
}

// finish ends all streams, when the server has ended for good.
func (s *session) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, st := range s.streams {
		st.put(gone(st.id), true)
	}
	for st := range s.listeners.clients {
		st.put(gone(st.id), true)
	}
	if s.alone != nil {
		s.alone.end()
	}
}

func gone(id rpc.ID) []byte {
	return rpc.Failed(id, &jsonrpc.Error{Code: 503, Message: "Service unavailable: the session has ended.\nSuggestion: Begin a new session."})
}

// Write takes one message of the server, with the end of its line. It never waits for a client.
func (s *session) Write(p []byte) (int, error) {
	line := bytes.TrimSuffix(p, []byte("\n"))
	m, refused := rpc.ParseServer(line)
	if refused != nil { // cannot be: the proxy writes messages only
		return len(p), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Method == "" {
		s.answer(m)
		return len(p), nil
	}
	if s.shared {
		s.passed(m)
		return len(p), nil
	}
	if st := s.streamOf(m); st == nil || !st.put(line, false) {
		s.keep(line)
	}
	return len(p), nil
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
	line := m.Line
	if s.shared {
		line = rpc.Edited(line, st.id, "id")
	}
	if m.Error == nil {
		s.initialized.Store(true)
	}
	st.put(line, true)
}

// streamOf returns where a request or a notification of the server goes, nil if nobody listens. Over stdio a
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
	case s.alone != nil:
		return s.alone
	case last >= 0:
		return s.newest[last]
	default:
		return nil
	}
}

// maxBacklog bounds the bytes that are kept for a client that does not listen yet.
const maxBacklog = 1 << 20

// keep keeps a message until the client listens. The caller holds the lock.
func (s *session) keep(line []byte) {
	if s.size+len(line) > maxBacklog {
		s.logger.Warn("a message of the server was dropped: its client does not listen", slog.Int("bytes", len(line)))
		return
	}
	s.backlog, s.size = append(s.backlog, line), s.size+len(line)
}

// tokenOf returns the token under which a request wants to hear of its progress, nil if there is none.
func tokenOf(m *rpc.Message) json.RawMessage {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if m.Params == nil || json.Unmarshal(m.Params, &params) != nil || rpc.ID(params.Meta.Token).Key() == "" {
		return nil
	}
	return params.Meta.Token
}

func progressOf(m *rpc.Message) rpc.ID {
	var params struct {
		Token rpc.ID `json:"progressToken"`
	}
	_ = json.Unmarshal(m.Params, &params) // without one it is nil
	return params.Token
}
