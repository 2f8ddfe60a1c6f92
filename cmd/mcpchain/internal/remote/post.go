package remote

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// maxTries bounds how often a request is sent, if the server finds its headers wrong.
const maxTries = 3

// exchange sends a request and passes on what comes back. The error says why the answer is not among
// that.
func (s *Session) exchange(ctx context.Context, c *call) error {
	for {
		c.tries++
		c.retry = c.tries < maxTries && !c.quiet && !hasSessions(c.version)
		switch err := s.post(ctx, c); {
		case err != nil || c.answered:
			return err
		case c.tries == 1 && c.Method == "tools/call":
			s.relist(ctx, c) // the client may never have listed the tools, or they have changed
		}
		if !s.otherwise(c) { // the same headers would be refused once more
			c.answered = true
			s.push(event{m: c.answer})
			return nil
		}
	}
}

// otherwise reports whether a request has other headers than those that were refused, with the next try.
func (s *Session) otherwise(c *call) bool {
	for ; c.tries < maxTries; c.tries++ {
		if !maps.EqualFunc(s.described(c, c.tries+1), c.described, slices.Equal) {
			return true
		}
	}
	return false
}

// described returns the headers that describe a request, with a try.
func (s *Session) described(c *call, try int) http.Header {
	header := http.Header{}
	s.describe(header, c.Message, c.version, try == maxTries)
	return header
}

// post sends a request once. It returns nil without an answer if the request should be sent again.
func (s *Session) post(ctx context.Context, c *call) error {
	session, err := s.joins(c)
	if err != nil {
		return err
	}
	req, err := s.newRequest(ctx, http.MethodPost, c.Line, c.version, session, c.Authorization)
	if err != nil {
		return brokenError(err, false)
	}
	c.described = s.described(c, c.tries)
	maps.Copy(req.Header, c.described)
	var began atomic.Bool
	res, err := s.do(traced(req, &began), rpc.Reads(c.Method)) //nolint:bodyclose // whoever reads it closes it
	if err != nil {
		return brokenError(err, began.Load())
	}
	switch ok := res.StatusCode >= 200 && res.StatusCode < 300; {
	case !ok:
		return s.refused(ctx, c, res, session != "" && hasSessions(c.version))
	case c.Method == "initialize":
		s.mu.Lock()
		s.id = res.Header.Get("Mcp-Session-Id")
		s.mu.Unlock()
	}
	s.accepts(c.Message)
	c.retry = false // it was taken
	if isStream(res) {
		return s.stream(ctx, c, res)
	}
	body, whole, err := readAll(res.Body, s.client.MaxAnswer, 0)
	switch {
	case err != nil:
		return lostError("the answer of the server broke off", err)
	case !whole:
		return &rpc.TooLongError{Bytes: len(body) + 1}
	}
	for _, line := range messages(body) {
		m, refused := rpc.ParseServer(inLine(line))
		if refused != nil && refused.Code == jsonrpc.CodeParseError { // such as a page
			return s.illegalError(res, "which is no message")
		}
		s.passed(c, m, refused)
	}
	if c.answered {
		return nil
	}
	return s.illegalError(res, "and not with the answer to the request")
}

// joins returns the ID of the session that a request belongs to, "" if it belongs to none. Its error says that the
// session has gone, so the request is not sent.
func (s *Session) joins(c *call) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return "", rpc.ErrUnsent
	case c.Method == "initialize":
		return "", nil
	default:
		return s.id, nil
	}
}

// traced returns the request with a trace that notes whether the server may have read something of it. The client of
// HTTP repeats a POST by itself only if no byte of it was written, see [New].
func traced(req *http.Request, began *atomic.Bool) *http.Request {
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:          func(string) { began.Store(false) },
		WroteHeaderField: func(string, []string) { began.Store(true) },
		WroteHeaders:     func() { began.Store(true) },
	}))
}

// maxPages bounds the lists of tools that are asked for.
const maxPages = 50

// relist asks for the tools, as a call of one does, because their schemas say which arguments stand in
// headers.
func (s *Session) relist(ctx context.Context, of *call) {
	meta := of.Value("params", "_meta")
	ctx, cancel := context.WithTimeout(ctx, headerTime)
	defer cancel()
	cursor := ""
	for range maxPages {
		asks := map[string]any{}
		if meta != nil {
			asks["_meta"] = meta
		}
		if cursor != "" {
			asks["cursor"] = cursor
		}
		raw, err := json.Marshal(asks)
		if err != nil {
			return
		}
		m := rpc.Request(rpc.RandomID(), "tools/list", raw)
		m.Authorization = of.Authorization
		c := &call{Message: m, key: m.ID.Key(), version: of.version, quiet: true}
		if s.exchange(ctx, c) != nil || c.answer == nil {
			return
		}
		if cursor = c.answer.Text("result", "nextCursor"); cursor == "" {
			return
		}
	}
}

// deliver sends what has no answer.
func (s *Session) deliver(m *rpc.Message) error {
	ctx, cancel := context.WithTimeout(s.ctx, headerTime)
	defer cancel()
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	version := s.spoken(m)
	req, err := s.newRequest(ctx, http.MethodPost, m.Line, version, id, m.Authorization)
	if err != nil {
		return err
	}
	s.describe(req.Header, m, version, false)
	res, err := s.do(req, m.Method != "") // an answer is sent once
	if err != nil {
		return errors.New(textOf(err))
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		_ = res.Body.Close()
		s.accepts(m)
		return nil
	}
	err = s.statusError(res, false)
	if res.StatusCode == http.StatusNotFound && id != "" && hasSessions(version) {
		s.loses(ctx, m.Authorization, res.StatusCode, false)
	}
	return err
}
