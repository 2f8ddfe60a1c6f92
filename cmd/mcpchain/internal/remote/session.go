package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/headers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A Session is a session with the server, or, in versions without sessions, all that one client
// sends to it. It is a proxy.Server.
type Session struct {
	client *Client

	accepted func(authorization string) // see Start

	ctx    context.Context //nolint:containedctx // that of the session, not of a call
	cancel context.CancelFunc
	events chan event

	ended  chan struct{}
	places chan struct{} // of requests that are on their way

	running sync.WaitGroup // those requests

	mu      sync.Mutex
	id      string           // of the session, "" if the server gave none
	place   string           // where the server has sent its requests, see do; "" for the URL of the Client
	own     string           // the Authorization that the server has last accepted, for what no message causes
	version string           // on which initialize has agreed, or that the last request has named
	calls   map[string]*call // by the keys of IDs
	tools   headers.Tools
	gone    bool // no request is sent any more
	how     string
}

// An event is what Next returns.
type event struct {
	m   *rpc.Message
	err error
}

// A call is a request that is on its way.
type call struct {
	*rpc.Message

	key     string
	version string // of the protocol, "" before that is known
	cancel  context.CancelCauseFunc

	quiet    bool         // its answer is for this package
	answer   *rpc.Message // of a quiet one
	answered bool
	retry    bool // the headers did not fit, and may be tried in another form
	tries    int

	described http.Header // what described it in the last try
}

// Next returns the next message that the server has sent.
func (s *Session) Next() (*rpc.Message, error) {
	select {
	case e := <-s.events:
		return e.m, e.err
	case <-s.ended:
		return nil, io.EOF
	}
}

// push gives a message, or an error, to the caller of Next.
func (s *Session) push(e event) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// Write sends a message. It waits for a moment until a notification was taken, which keeps the order.
func (s *Session) Write(m *rpc.Message) error {
	switch {
	case m.IsRequest():
		return s.request(m)
	case m.Method == "notifications/cancelled":
		s.cancelled(m)
	case m.Method == "notifications/initialized":
		s.initialized(m)
	default:
		s.note(m, nil)
	}
	return nil
}

// EndInput does nothing: Stop ends the session.
func (s *Session) EndInput() {}

// Close does nothing: nothing is left of a session that has ended.
func (s *Session) Close() {}

// Ended is closed when the session has ended.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Status is that of a program that has done its work.
func (s *Session) Status() int { return 0 }

// How says how the session has ended.
func (s *Session) How() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.how
}

// Lost is what requests fail with that the session leaves.
func (s *Session) Lost() error { return lostError("the session with the server ended: "+s.How(), nil) }

// closing bounds the request that ends a session.
const closing = time.Second

// Stop tells the server that the session ends, and ends it.
func (s *Session) Stop(grace time.Duration) {
	s.mu.Lock()
	id, gone := s.id, s.gone
	s.gone, s.id = true, ""
	s.mu.Unlock()
	if id != "" && !gone {
		ctx, cancel := context.WithTimeout(s.ctx, max(grace, closing))
		defer cancel()
		if req, err := s.newRequest(ctx, http.MethodDelete, nil, s.spoken(nil), id, s.credentials()); err == nil {
			if res, err := s.do(req, true); err == nil {
				_ = res.Body.Close()
			}
		}
	}
	s.end()
}

// Kill ends the session at once, as far as anybody waits for it.
func (s *Session) Kill() { go s.Stop(0) }

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}

// lastWords is how long requests may take that are on their way when the session is gone.
const lastWords = time.Second

// lose ends a session that the server has no more.
func (s *Session) lose(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return
	}
	s.gone, s.how = true, how
	go func() {
		done := make(chan struct{})
		go func() {
			s.running.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(lastWords):
		case <-s.ctx.Done():
		}
		s.end()
	}()
}

// spoken returns the version of the protocol that a message is of, "" before that is known. A nil
// message is of that of the session.
func (s *Session) spoken(m *rpc.Message) string {
	own := ""
	if m != nil {
		own = m.Text("params", "_meta", "io.modelcontextprotocol/protocolVersion")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case own == "" && m != nil && m.Method == "initialize":
		return ""
	case own == "":
		return s.version
	case s.version == "":
		s.version = own
	}
	return own
}

// stateless is the first version without sessions. Versions are dates.
const stateless = "2026-07-28"

func hasSessions(version string) bool { return version < stateless }

// request sends a request, and returns before its answer comes.
func (s *Session) request(m *rpc.Message) error {
	c := &call{Message: m, key: m.ID.Key(), version: s.spoken(m)}
	ctx, cancel := context.WithCancelCause(s.ctx)
	c.cancel = cancel
	s.mu.Lock()
	if s.gone { // it ends soon
		s.mu.Unlock()
		cancel(nil)
		return rpc.ErrUnsent
	}
	s.calls[c.key] = c
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer s.forget(c)
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
		case <-ctx.Done():
			return
		}
		if err := s.exchange(ctx, c); err != nil && ctx.Err() == nil {
			s.push(event{err: failed(c, err)})
		}
	}()
	return nil
}

// failed is what Next returns for a request that has no answer.
func failed(c *call, err error) error {
	if long, ok := errors.AsType[*rpc.TooLongError](err); ok {
		long.ID = c.ID
		return long
	}
	f, ok := errors.AsType[*failure](err)
	return &rpc.FailedError{ID: c.ID, Err: err, Lost: ok && f.lost}
}

func (s *Session) forget(c *call) {
	c.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[c.key] == c {
		delete(s.calls, c.key)
	}
}

// Abandon ends the request of HTTP for a request that nobody waits for.
func (s *Session) Abandon(id rpc.ID) {
	s.mu.Lock()
	c := s.calls[id.Key()]
	s.mu.Unlock()
	if c != nil {
		c.cancel(errCancelled)
	}
}

var errCancelled = errors.New("the client cancelled the call")

// cancelled cancels a request. Since version 2026-07-28 the end of its stream says so; before, a
// notification does, and the end of a stream means nothing.
func (s *Session) cancelled(m *rpc.Message) {
	id := m.Cancels()
	s.mu.Lock()
	c := s.calls[id.Key()]
	s.mu.Unlock()
	version := s.spoken(nil)
	if c != nil {
		version = c.version
	}
	if hasSessions(version) {
		s.note(m, nil)
	}
	s.Abandon(id)
}

// moment is how long the lines behind a notification wait until the server has taken it.
const moment = 200 * time.Millisecond

// note sends a notification, or an answer to the server. then is called when the server has it.
func (s *Session) note(m *rpc.Message, then func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if then != nil {
			defer then()
		}
		if err := s.deliver(m); err != nil && s.ctx.Err() == nil {
			s.client.Logger.Warn("the server did not take a notification or an answer to it", slog.String("method", m.Method), slog.String("error", err.Error()))
		}
	}()
	select {
	case <-done:
	case <-time.After(moment):
	}
}

// initialized sends the notification that begins the session. Then it opens the stream for what belongs to no
// request.
func (s *Session) initialized(m *rpc.Message) {
	opened := make(chan struct{})
	s.note(m, func() { go s.listen(opened) })
	select {
	case <-opened: // what the server sends now is not lost
	case <-time.After(5 * moment): // some open it with their first message only
	}
}
