package front

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/jsons"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/headers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Since 2026-07-28 there are no sessions: all clients share one server, which knows their requests by other
// IDs than they do, and other tokens of progress.

// shared is the server of clients since 2026-07-28.
type shared struct {
	mu        sync.Mutex
	session   *session // nil if there is none, or the server speaks older versions only
	supported []string // the versions of the server; nil as long as it has not said them
}

// modern serves a message of a client that has no session.
func (f *Front) modern(p *post, version string) {
	m := p.m
	if why := mismatch(p.req.Header, m, version); why != "" {
		fail(p.w, http.StatusBadRequest, m.ID, mcp.CodeHeaderMismatch, "Invalid message: "+why+".")
		return
	}
	switch {
	case !m.IsRequest(): // of another client it might speak
		p.w.WriteHeader(http.StatusAccepted)
		return
	case removed[m.Method]: // it would hold for all clients
		fail(p.w, http.StatusNotFound, m.ID, jsonrpc.CodeMethodNotFound, "Invalid message: "+strconv.Quote(m.Method)+" is no method of version "+modern+".")
		return
	case p.says == "": // a server over stdio would take it for one of an older version
		fail(p.w, http.StatusBadRequest, m.ID, jsonrpc.CodeInvalidParams, "Invalid message: \"_meta\" has no text \"io.modelcontextprotocol/protocolVersion\".")
		return
	}
	s, supported, failed, err := f.server(p.req)
	if s != nil && s.refused.Load() { // a token that is refused takes nobody's place
		defer f.leave(s)
	}
	switch {
	case err != nil:
		f.Logger.Warn("no server can begin", slog.String("error", err.Error()), slog.Int("sessions", f.Sessions))
		unavailable(p.w, p.m.ID, err)
		return
	case failed != nil:
		writeMessage(p.w, http.StatusServiceUnavailable, failed.With(m.ID, "id"))
		return
	case supported != nil && !slices.Contains(supported, version):
		data, _ := json.Marshal(map[string]any{"supported": supported, "requested": version}) //nolint:errchkjson // texts
		writeMessage(p.w, http.StatusBadRequest, rpc.Failed(m.ID, &jsonrpc.Error{
			Code: mcp.CodeUnsupportedProtocolVersion, Message: fmt.Sprintf("protocol version %q is not supported by this server", clip(version)), Data: data,
		}))
		return
	}
	if m.Method == "subscriptions/listen" {
		f.subscribed(s, p)
		return
	}
	if m.Method == "tools/call" {
		if why := s.differs(p.req, m); why != "" {
			fail(p.w, http.StatusBadRequest, m.ID, mcp.CodeHeaderMismatch, "Invalid message: "+why+".")
			return
		}
	}
	st := newStream(m.ID)
	st.of(p)
	st.token, st.logs = m.Token(), m.Text("params", "_meta", "io.modelcontextprotocol/logLevel") != ""
	if m.Method == "tools/list" {
		st.list = m
	}
	if st.token != nil {
		st.own = rpc.TextID(rand.Text())
		m = m.With(st.own, "params", "_meta", "progressToken")
	}
	id, why := s.opened(st)
	if why != nil {
		s.refuse(p, why)
		return
	}
	defer s.close(id.Key(), st, st.reader)
	s.proxy.Receive(m.With(id, "id"), p.extra)
	st.serve(p.w, p.req, manner{reader: st.reader, json: p.json, within: quiet})
}

// removed are the methods that clients had until 2025-11-25.
var removed = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

func clip(text string) string { return text[:min(len(text), 40)] }

// opened is open under an ID that no other request of the session has.
func (s *session) opened(st *stream) (rpc.ID, error) {
	for {
		id := rpc.RandomID()
		if err := s.open(id.Key(), st); !errors.Is(err, errUsed) {
			return id, err
		}
	}
}

// mismatch says what the headers of a request say otherwise than its message, "" if nothing.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
func mismatch(header http.Header, m *rpc.Message, version string) string {
	switch {
	case header.Get(versionHeader) != version:
		return "the header Mcp-Protocol-Version is not the version in _meta"
	case m.IsRequest() && header.Get("Mcp-Method") != m.Method:
		return "the header Mcp-Method is not the method of the message"
	}
	member := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	if member == "" {
		return ""
	}
	if name, ok := jsons.Text(m.Value("params", member)); !ok || !is(header.Get("Mcp-Name"), name) {
		return "the header Mcp-Name is not the " + strconv.Quote(member) + " of the message"
	}
	return ""
}

// is reports whether a header has a value, which it may not be able to hold as it is.
func is(header, value string) bool {
	text, ok := headers.Decoded(header)
	return ok && text == value
}

// statusOf returns the status of an answer, by the error in it.
func statusOf(m *rpc.Message) int {
	failed := m.Wire()
	if failed == nil {
		return http.StatusOK
	}
	switch failed.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeMissingRequiredClientCapabilities, mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// startLimit bounds how long the server may take until it says which versions it speaks.
const startLimit = 60 * time.Second

// server returns the session that clients since 2026-07-28 share, and the versions of its server. If the server does
// not speak this version, s is nil. failed is the answer of a server that cannot be asked.
func (f *Front) server(req *http.Request) (s *session, supported []string, failed *rpc.Message, err error) {
	of := f.sharedBy(req.Header)
	of.mu.Lock()
	defer of.mu.Unlock()
	if s = of.session; s != nil && f.lives(s) && of.supported != nil || s == nil && of.supported != nil {
		return s, of.supported, nil, nil
	}
	if s == nil || !f.lives(s) {
		if s, err = f.begin(req, true); err != nil {
			return nil, nil, nil, err
		}
		s.mu.Lock()
		s.single = f.Start != nil && s.authorization != ""
		s.mu.Unlock()
		of.session = s
	}
	supported, failed = s.discover(req.Context())
	if failed != nil {
		f.leave(s)
		return nil, nil, failed, nil
	}
	if supported != nil && !slices.ContainsFunc(supported, isModern) {
		f.Logger.InfoContext(req.Context(), "the server does not speak "+modern+": such clients are asked to speak an older version", slog.Any("supported", supported))
		f.leave(s)
		s, of.session = nil, nil
	}
	of.supported = supported
	return s, supported, nil, nil
}

// sharedBy returns what is shared by the clients with the same credentials, if the server gets them, or by all.
func (f *Front) sharedBy(header http.Header) *shared {
	name := ""
	if f.Start != nil {
		name = nameOf(header.Get("Authorization"))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[name] == nil {
		for other, one := range f.shared { // tokens are renewed, and their sessions end
			if len(f.shared) > f.Sessions && one.mu.TryLock() {
				if one.session == nil || f.sessions[one.session.id] != one.session {
					delete(f.shared, other)
				}
				one.mu.Unlock()
			}
		}
		f.shared[name] = &shared{}
	}
	return f.shared[name]
}

func isModern(version string) bool { return version >= modern }

// discover asks the server for its versions. One that does not know the question speaks older ones. supported is nil
// if the server refuses the client; failed is its answer if it cannot be asked.
func (s *session) discover(ctx context.Context) (supported []string, failed *rpc.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLimit) // others wait for the same
	defer cancel()
	answer := s.ask(ctx, s.authorization, "server/discover", json.RawMessage(`{"_meta":`+ownMeta+`}`))
	if answer == nil {
		return olderVersions, nil // it never answers what it does not know
	}
	var speaks []string
	var older struct {
		Supported []string `json:"supported"`
	}
	_ = rpc.Unmarshal(answer.Value("result", "supportedVersions"), &speaks) // what is read of it counts
	_ = rpc.Unmarshal(answer.Value("error", "data"), &older)
	switch e := answer.Wire(); {
	case e == nil && len(speaks) > 0:
		return speaks, nil
	case e == nil:
		return olderVersions, nil
	case e.Code == http.StatusUnauthorized, e.Code == http.StatusForbidden: // the client's own call says more
		s.refused.Store(e.Code == http.StatusUnauthorized)
		return nil, nil
	case e.Code > 0: // no answer of the server's
		return nil, answer
	case slices.ContainsFunc(older.Supported, isOlder):
		return older.Supported, nil
	default:
		return olderVersions, nil
	}
}

// ask sends a request of the program itself, and returns the answer, nil if none comes until ctx ends. authorization
// is that of the client for which it asks.
func (s *session) ask(ctx context.Context, authorization, method string, params json.RawMessage) *rpc.Message {
	m := rpc.Request(rpc.NumberID(0), method, params)
	st := newStream(m.ID)
	if method == "tools/list" {
		st.list = m
	}
	id, err := s.opened(st)
	if err != nil {
		return nil
	}
	defer s.close(id.Key(), st, st.reader)
	m = m.With(id, "id")
	m.Authorization = authorization
	s.proxy.Receive(m, &mcp.RequestExtra{Header: http.Header{}})
	for {
		events, last, err := st.next(ctx, st.reader, nil)
		switch {
		case err != nil: // or it would run for ever
			ended := rpc.Cancelled(id, "it took too long")
			ended.Authorization = authorization
			s.proxy.Receive(ended, nil)
			return nil
		case last && len(events) > 0:
			return events[len(events)-1].m
		case last:
			return nil
		}
	}
}

const subscriptionKey = "io.modelcontextprotocol/subscriptionId"

// ownMeta is the _meta of the program's own requests.
const ownMeta = `{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":{"name":"mcpchain","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}`

// passed gives a request or a notification of the server to the client that it is for. What might be for
// somebody else is dropped. The caller holds the lock.
func (s *session) passed(m *rpc.Message) {
	if m.ID != nil { // servers send no requests any more
		refused := rpc.Failed(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "the client takes no requests"})
		select {
		case s.refusing <- struct{}{}: // one that does not read must not pile them up
			go func() {
				s.proxy.Receive(refused, nil)
				<-s.refusing
			}()
		default:
		}
		return
	}
	st := s.tokens[progressOf(m).Key()]
	if m.Method == "notifications/tools/list_changed" {
		s.tools.listed = false
	}
	switch {
	case s.listened(m):
	case st != nil:
		st.put(m.With(st.token, "params", "progressToken"), false)
	case s.single && len(s.newest) > 0 && s.newest[len(s.newest)-1].logs && m.Method == "notifications/message": // nobody else's
		s.newest[len(s.newest)-1].put(m, false)
	default:
		s.logger.Debug("a notification of the server does not say for whom it is, and was dropped", slog.String("method", clip(m.Method)))
	}
}
