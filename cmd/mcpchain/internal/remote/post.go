package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/jsons"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// maxTries bounds how often a request is sent whose headers the server finds wrong.
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
	}
}

// post sends a request once. It returns nil without an answer if the request should be sent again.
func (s *Session) post(ctx context.Context, c *call) error {
	session := ""
	if c.Method != "initialize" {
		s.mu.Lock()
		session = s.id
		s.mu.Unlock()
	}
	req, err := s.newRequest(ctx, http.MethodPost, c.Line, c.version, session)
	if err != nil {
		return brokenError(err, false)
	}
	s.describe(req.Header, c.Message, c.version, c.tries == maxTries)
	var began atomic.Bool
	res, err := s.client.http.Do(traced(req, &began)) //nolint:bodyclose // whoever reads it closes it
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
	lines, ok := messages(body)
	if !ok {
		return illegalError(res, "which is no message")
	}
	for _, line := range lines {
		s.received(c, line)
	}
	if c.answered || c.retried() {
		return nil
	}
	return illegalError(res, "and not with the answer to the request")
}

func (c *call) retried() bool { return !c.answered && c.retry && c.answer != nil }

// traced returns the request with a trace that notes whether the server may have read something of
// it. The client of HTTP sends a request again by itself only if the first one was not read.
func traced(req *http.Request, began *atomic.Bool) *http.Request {
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:          func(string) { began.Store(false) },
		WroteHeaderField: func(string, []string) { began.Store(true) },
		WroteHeaders:     func() { began.Store(true) },
	}))
}

func isStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// messages returns the messages in a body: servers that may not stream send several at once as a list. It reports
// whether the body is JSON.
func messages(body []byte) ([][]byte, bool) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		return [][]byte{body}, len(body) > 0 && json.Valid(body)
	}
	var list []json.RawMessage
	if jsons.Unmarshal(body, &list) != nil {
		return nil, false
	}
	lines := make([][]byte, 0, len(list))
	for _, one := range list {
		lines = append(lines, one)
	}
	return lines, true
}

// inLine returns a message as one line. A text of JSON has no such bytes in it, so they stand between
// its parts.
func inLine(message []byte) []byte {
	if !bytes.ContainsAny(message, "\r\n") {
		return message
	}
	line := bytes.Clone(message)
	for i, b := range line {
		if b == '\r' || b == '\n' {
			line[i] = ' '
		}
	}
	return line
}

// received reads what came on the stream of a request, or on that of none, and passes it on.
func (s *Session) received(c *call, body []byte) {
	line := inLine(body)
	m, refused := rpc.ParseServer(line)
	s.passed(c, m, refused, line)
}

func (s *Session) passed(c *call, m *rpc.Message, refused *rpc.Refused, line []byte) {
	answers := c != nil && !c.answered && (refused == nil && m.Method == "" && m.ID.Key() == c.key ||
		refused != nil && !refused.Method && refused.ID != nil && refused.ID.Key() == c.key)
	e := event{m: m}
	if refused != nil {
		e = event{err: &rpc.RefusedError{Refused: refused, Line: line}}
	}
	if !answers {
		s.push(e)
		return
	}
	if refused == nil && c.retry && m.Error != nil && codeOf(m) == mcp.CodeHeaderMismatch {
		c.answer = m
		return
	}
	c.answered = true
	if refused == nil && m.Result != nil {
		switch c.Method {
		case "initialize":
			s.mu.Lock()
			s.version = m.Text("result", "protocolVersion")
			s.mu.Unlock()
		case "tools/list":
			s.mu.Lock()
			s.tools.Learn(c.Text("params", "cursor"), m.Result)
			s.mu.Unlock()
		}
	}
	if c.quiet {
		c.answer = m
		return
	}
	s.push(e)
}

// codeOf returns the code of an answer with an error, zero if it has none.
func codeOf(m *rpc.Message) int64 {
	if e := m.Wire(); e != nil {
		return e.Code
	}
	return 0
}

// The bounds of the answer to a request that was refused.
const (
	maxRefusal  = 1 << 20
	refusalTime = 5 * time.Second
)

// refused passes on an answer with another status than one of success. An error of JSON-RPC is the
// server's own, whatever the status.
func (s *Session) refused(ctx context.Context, c *call, res *http.Response, inSession bool) error {
	body, _, _ := readAll(res.Body, maxRefusal, refusalTime)
	res.Body = io.NopCloser(bytes.NewReader(body))
	line := inLine(bytes.TrimSpace(body))
	m, bad := rpc.ParseServer(line)
	is := bad == nil && m.Method == "" && m.Error != nil
	own := is && m.ID.Key() == c.key
	if inSession && !(own && unknown(codeOf(m))) {
		// Version 2025-11-25 wants 404 of a session that there is not. Many servers say 400, as for other
		// reasons: then any request of the session is refused.
		if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusBadRequest && !own && s.forgotten(ctx) {
			s.lose("the server has no such session (" + res.Status + ")")
			return errGone
		}
	}
	switch {
	case own:
		s.passed(c, m, nil, line)
	case is:
		s.passed(c, rpc.Failed(c.ID, wire(m)), nil, nil)
	case c.Method == "server/discover" && (res.StatusCode == http.StatusBadRequest || res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed):
		// What a server of an older version answers over stdio, by which clients know it.
		s.passed(c, rpc.Failed(c.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}), nil, nil)
	default:
		return s.statusError(res)
	}
	return nil
}

// unknown are the codes of a request that has reached the server, and names what there is not.
func unknown(code int64) bool {
	return code == jsonrpc.CodeMethodNotFound || code == jsonrpc.CodeInvalidParams
}

// wire returns the error of an answer that does not name its request, with what stands in it.
func wire(m *rpc.Message) *jsonrpc.Error {
	if e := m.Wire(); e != nil {
		return e
	}
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The server gave no reason."}
	if code, err := strconv.ParseInt(string(m.Value("error", "code")), 10, 64); err == nil {
		e.Code, e.Data = code, m.Value("error", "data")
	}
	return e
}

// forgotten reports whether the server refuses a ping as well, so that it has no such session.
func (s *Session) forgotten(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, refusalTime)
	defer cancel()
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	version := s.spoken(nil)
	req, err := s.newRequest(ctx, http.MethodPost, rpc.Request(rpc.RandomID(), "ping", nil).Line, version, id)
	if err != nil {
		return false
	}
	res, err := s.client.http.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusBadRequest
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
	req, err := s.newRequest(ctx, http.MethodPost, m.Line, version, id)
	if err != nil {
		return err
	}
	s.describe(req.Header, m, version, false)
	res, err := s.client.http.Do(req)
	if err != nil {
		return errors.New(textOf(err))
	}
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		_ = res.Body.Close()
		return nil
	case res.StatusCode == http.StatusNotFound && id != "" && hasSessions(version):
		s.lose("the server has no such session (" + res.Status + ")")
	}
	return s.statusError(res)
}
