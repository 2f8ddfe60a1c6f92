// Package front offers a server to many clients over streamable HTTP. Each client of 2025-11-25 and older has a
// session with a server of its own; all clients since 2026-07-28, which has no sessions, share one. The answers of
// servers pass as bytes. A handler of the SDK would refuse unknown methods, and write results anew.
package front

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/table"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// Options configure a Front. All fields are required but Start and Proxies.
type Options struct {
	// Proxy has the options of each proxy but for In, Out and Session.
	Proxy proxy.Options

	// Start begins a session with a server that gets the header Authorization of each message. accepted is called with
	// it whenever that server has answered a message with 2xx. Nil means that no server gets the header.
	Start func(accepted func(authorization string)) (proxy.Server, error)

	Logger   *slog.Logger
	Sessions int           // how many servers may run at once
	Idle     time.Duration // a session in which no call runs for so long ends

	// Proxies are the addresses whose header X-Forwarded-For is believed. None is by default.
	Proxies []netip.Prefix
}

// A Front is the [http.Handler] of one endpoint. Everything may be called concurrently.
type Front struct {
	Options

	mu       sync.Mutex
	sessions map[string]*session // by their IDs; nil once Close was called
	running  sync.WaitGroup
	end      context.CancelFunc // ends all servers at once
	life     context.Context    //nolint:containedctx // that of the program, not of a request

	shared map[string]*shared // by the credentials that the servers get, "" if they get none

	accounts   *accounts
	unbelieved sync.Once             // a proxy that is not trusted was recorded
	accepted   table.Names[struct{}] // the names of credentials that the server has accepted
}

// New returns a Front. Close has to be called.
func New(opts Options) *Front {
	f := &Front{Options: opts, sessions: map[string]*session{}, shared: map[string]*shared{}, accounts: newAccounts(&opts)}
	f.life, f.end = context.WithCancel(context.Background())
	go f.reap()
	return f
}

// Close ends all sessions and their servers, and waits for them until ctx ends; then it kills them.
func (f *Front) Close(ctx context.Context) {
	f.mu.Lock()
	sessions := f.sessions
	f.sessions = nil
	f.mu.Unlock()
	for _, s := range sessions {
		s.proxy.Leave()
	}
	done := make(chan struct{})
	go func() {
		f.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	f.end()
	<-done
}

// reap ends sessions that nobody uses.
func (f *Front) reap() {
	tick := time.NewTicker(max(f.Idle/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-f.life.Done():
			return
		case <-tick.C:
		}
		f.mu.Lock()
		for id, s := range f.sessions {
			if s.memory != nil {
				s.memory.age()
			}
			if s.idle() > f.Idle {
				f.Logger.Info("a session that nobody uses ends", slog.Duration("idle", f.Idle))
				delete(f.sessions, id)
				s.proxy.Leave()
			}
		}
		f.mu.Unlock()
	}
}

var errClosed = errors.New("the server is being replaced")

// begin starts a session, with a server of its own, for the client of a request. Many clients may share it.
func (f *Front) begin(req *http.Request, shared bool) (*session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions == nil {
		return nil, errClosed
	}
	s := newSession(rand.Text(), shared, f.Logger)
	if s.purse = f.purse(req); shared && f.Start == nil {
		s.purse.caller = "" // it is everybody's
	}
	if err := s.purse.take(sessions, 1); err != nil {
		return nil, err
	}
	s.holds, s.authorization = true, req.Header.Get("Authorization")
	s.owners.add(nameOf(s.authorization))
	if s.alone != nil {
		s.alone.purse, s.memory.purse = s.purse, s.purse
	}
	opts := f.Proxy
	opts.In, opts.Out = nil, s
	if !shared { // or its callers would be taken for one
		opts.Session = s.id
	}
	if f.Start != nil {
		opts.Start = func() (proxy.Server, error) {
			return f.Start(func(authorization string) { f.accepts(s, authorization) })
		}
		s.patient = refusals
	}
	s.proxy = proxy.New(opts)
	f.sessions[s.id] = s
	f.running.Go(func() {
		s.proxy.Run(f.life)
		f.leave(s)
		s.finish()
	})
	return s, nil
}

// refusals is how long an answer may take that is a status of HTTP: a client whose token is refused signs in
// again.
const refusals = time.Second

// leave ends a session.
func (f *Front) leave(s *session) {
	f.mu.Lock()
	delete(f.sessions, s.id)
	f.mu.Unlock()
	s.proxy.Leave()
}

// session returns the session of one client, nil if there is none of the ID.
func (f *Front) session(id string) *session {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[id]; s != nil && !s.shared {
		return s
	}
	return nil
}

func (f *Front) lives(s *session) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[s.id] == s
}

// ServeHTTP serves the endpoint. A handler outside has bounded the body.
func (f *Front) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if why := foreign(req); why != "" {
		http.Error(w, "Forbidden: "+why, http.StatusForbidden)
		return
	}
	switch req.Method {
	case http.MethodPost:
		f.post(w, req)
	case http.MethodGet, http.MethodDelete:
		s := f.session(req.Header.Get(sessionHeader))
		switch {
		case s == nil, !s.belongs(nameOf(req.Header.Get("Authorization"))):
			noSession(w, nil)
		case req.Method == http.MethodDelete:
			f.leave(s)
			w.WriteHeader(http.StatusNoContent)
		default:
			s.listen(w, req)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// foreign says why a request comes from the page of a stranger, "" if it does not: a browser says which page
// sent it, and a name that leads to this machine may be anybody's.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
func foreign(req *http.Request) string {
	if new(http.CrossOriginProtection).Check(req) != nil {
		return "the request comes from another origin"
	}
	local, _ := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && loopback(local.String()) && !loopback(req.Host) {
		return "the header Host names another machine"
	}
	return ""
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// accepts reports which kinds of answers a client takes.
func accepts(header http.Header) (asJSON, events bool) {
	for _, value := range header.Values("Accept") {
		for one := range strings.SplitSeq(value, ",") {
			switch kind, _, _ := mime.ParseMediaType(one); kind {
			case "application/json", "application/*":
				asJSON = true
			case "text/event-stream", "text/*":
				events = true
			case "*/*":
				asJSON, events = true, true
			}
		}
	}
	return asJSON, events
}

func (f *Front) post(w http.ResponseWriter, req *http.Request) {
	if kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return
	}
	asJSON, events := accepts(req.Header)
	if !events {
		http.Error(w, "Accept must contain 'text/event-stream', and should contain 'application/json'", http.StatusNotAcceptable)
		return
	}
	body, err := readBody(req, f.Proxy.MaxRequest)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, (&rpc.TooLongError{}).Refused(f.Proxy.MaxRequest))
		return
	}
	m, refused := rpc.Parse(body)
	if refused != nil && m != nil && m.IsRequest() && removed[m.Method] && cmp.Or(saidVersion(m), req.Header.Get(versionHeader)) >= modern {
		refused = nil // then it does not matter what is wrong with it: it is not passed on
	}
	if refused != nil {
		f.Logger.WarnContext(req.Context(), "a body is no message that a server can read", slog.Int("bytes", len(body)), slog.String("reason", refused.Reason))
		refuse(w, http.StatusBadRequest, refused)
		return
	}
	m.Authorization = req.Header.Get("Authorization")
	p := &post{w: w, req: req, m: m, purse: f.purse(req), says: saidVersion(m), json: asJSON, extra: &mcp.RequestExtra{Header: req.Header, TokenInfo: callerOf(req.Header)}}
	if version := cmp.Or(p.says, req.Header.Get(versionHeader)); version >= modern {
		f.modern(p, version)
		return
	}
	f.older(p)
}

// A post is one message that came over HTTP.
type post struct {
	w     http.ResponseWriter
	req   *http.Request
	m     *rpc.Message
	purse purse
	says  string // the version of the protocol that the message names, "" if it names none
	json  bool   // the client takes an answer as JSON
	extra *mcp.RequestExtra
}

// older serves a message of a client that has a session, or wants one.
func (f *Front) older(p *post) {
	id := p.req.Header.Get(sessionHeader)
	s := f.session(id)
	switch {
	case id != "" && (s == nil || !f.admits(s, p)):
		noSession(p.w, p.m.ID)
		return
	case id == "" && p.m.Method != "initialize":
		fail(p.w, http.StatusBadRequest, p.m.ID, jsonrpc.CodeInvalidRequest, "Invalid message: a session begins with initialize, and its ID has to stand in the header Mcp-Session-Id.")
		return
	case id == "":
		var err error
		if s, err = f.begin(p.req, false); err != nil {
			f.Logger.Warn("no session can begin", slog.String("error", err.Error()), slog.Int("sessions", f.Sessions))
			unavailable(p.w, p.m.ID, err)
			return
		}
		p.w.Header().Set(sessionHeader, s.id)
	}
	s.take(p)
	if id == "" && !s.initialized.Load() { // it did not even begin
		f.leave(s)
	}
}

// admits reports whether a message may pass to the server of a session. A request of credentials that the session does
// not belong to may, if the server gets them: it says whether they are any good.
func (f *Front) admits(s *session, p *post) bool {
	switch {
	case s.belongs(nameOf(p.m.Authorization)):
		return true
	case f.Start == nil:
		return false
	default:
		return p.m.IsRequest() || s.proves(p)
	}
}

// unavailable answers what finds no place: with 429 if the caller has too much, with 503 if all have.
func unavailable(w http.ResponseWriter, id rpc.ID, err error) {
	status, what := noPlace(err)
	w.Header().Set("Retry-After", "10")
	fail(w, status, id, int64(status), what+err.Error()+".\nRetry: yes, after 10 s. Nothing was changed by this call.")
}

func noSession(w http.ResponseWriter, id rpc.ID) {
	// By this status clients know that they have to begin a new session.
	fail(w, http.StatusNotFound, id, -32001, "Session not found")
}

func refuse(w http.ResponseWriter, status int, refused *rpc.RefusedError) {
	writeMessage(w, status, refused.Answer())
}

func fail(w http.ResponseWriter, status int, id rpc.ID, code int64, text string) {
	writeMessage(w, status, rpc.Failed(id, &jsonrpc.Error{Code: code, Message: text}))
}

func writeMessage(w http.ResponseWriter, status int, m *rpc.Message) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(m.Line)))
	w.WriteHeader(status)
	_, _ = w.Write(m.Line) // a client that has gone needs no answer
}

// saidVersion returns the version of the protocol that a message says it is of, "" if it says none.
func saidVersion(m *rpc.Message) string {
	return m.Text("params", "_meta", "io.modelcontextprotocol/protocolVersion")
}

// olderVersions are those that a client of modern may take, if no server speaks modern.
var olderVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}

// modern is the first version without sessions.
const modern = "2026-07-28"

func isOlder(version string) bool { return slices.Contains(olderVersions, version) }
