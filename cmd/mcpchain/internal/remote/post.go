package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	session, err := s.joins(c)
	if err != nil {
		return err
	}
	req, err := s.newRequest(ctx, http.MethodPost, c.Line, c.version, session)
	if err != nil {
		return brokenError(err, false)
	}
	s.describe(req.Header, c.Message, c.version, c.tries == maxTries)
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
	if !json.Valid(body) {
		return illegalError(res, "which is no message")
	}
	for _, line := range messages(body) {
		s.received(c, line)
	}
	if c.answered {
		return nil
	}
	return illegalError(res, "and not with the answer to the request")
}

// joins returns the ID of the session that a request belongs to, "" if it belongs to none. Its error
// says that there is no such session any more, so that the request is not sent.
func (s *Session) joins(c *call) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return "", errUnsent
	case c.Method == "initialize":
		return "", nil
	default:
		return s.id, nil
	}
}

// traced returns the request with a trace that notes whether the server may have read something of
// it. The client of HTTP sends a POST again by itself only if no byte of the first one was written, see [New].
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

// messages returns the messages in a body as lines: servers that may not stream send several at once
// as a list.
func messages(body []byte) [][]byte {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if len(body) == 0 || body[0] != '[' || json.Unmarshal(body, &list) != nil {
		return [][]byte{inLine(body)}
	}
	lines := make([][]byte, 0, len(list))
	for _, one := range list {
		lines = append(lines, inLine(one))
	}
	return lines
}

// inLine returns a message as one line. A text of JSON has no such bytes in it, so they stand between
// its parts.
func inLine(message []byte) []byte {
	line := message
	for i, b := range message {
		if b != '\r' && b != '\n' {
			continue
		}
		if &line[0] == &message[0] {
			line = bytes.Clone(message)
		}
		line[i] = ' '
	}
	return line
}

// received passes on a message that came on the stream of a request, or on that of none.
func (s *Session) received(c *call, line []byte) {
	m, refused := rpc.ParseServer(line)
	answers := c != nil && !c.answered && (refused == nil && m.Method == "" && m.ID.Key() == c.key ||
		refused != nil && !refused.Method && refused.ID != nil && refused.ID.Key() == c.key)
	if !answers {
		s.push(event{line: line})
		return
	}
	if refused == nil && c.retry && m.Error != nil && codeOf(m.Error) == mcp.CodeHeaderMismatch {
		c.answer = line
		return
	}
	c.answered = true
	if refused == nil && m.Result != nil {
		switch c.Method {
		case "initialize":
			var result struct {
				Version string `json:"protocolVersion"`
			}
			if json.Unmarshal(m.Result, &result) == nil {
				s.mu.Lock()
				s.version = result.Version
				s.mu.Unlock()
			}
		case "tools/list":
			s.mu.Lock()
			s.tools.Learn(c.Params, line)
			s.mu.Unlock()
		}
	}
	if c.quiet {
		c.answer = line
		return
	}
	s.push(event{line: line})
}

func codeOf(raw json.RawMessage) (code int64) {
	var e struct {
		Code int64 `json:"code"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return 0
	}
	return e.Code
}

// wire returns the error of an answer that does not name its request, with what stands in it.
func wire(raw json.RawMessage) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The server gave no reason."}
	var said struct {
		Code    *int64          `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &said) == nil && said.Code != nil {
		e.Code, e.Message, e.Data = *said.Code, said.Message, said.Data
	}
	return e
}

// maxPages bounds the lists of tools that are asked for.
const maxPages = 50

// relist asks for the tools, as a call of one does, because their schemas say which arguments stand in
// headers.
func (s *Session) relist(ctx context.Context, of *call) {
	var params struct {
		Meta json.RawMessage `json:"_meta,omitempty"`
	}
	if of.Params != nil && json.Unmarshal(of.Params, &params) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, headerTime)
	defer cancel()
	cursor := ""
	for range maxPages {
		asks := map[string]any{}
		if params.Meta != nil {
			asks["_meta"] = params.Meta
		}
		if cursor != "" {
			asks["cursor"] = cursor
		}
		raw, err := json.Marshal(asks)
		if err != nil {
			return
		}
		line := rpc.Request(rpc.TextID("mcpchain-tools"), "tools/list", raw)
		m, refused := rpc.ParseServer(line)
		if refused != nil {
			return
		}
		c := &call{Message: m, key: m.ID.Key(), version: of.version, quiet: true}
		if s.exchange(ctx, c) != nil {
			return
		}
		var page struct {
			Result struct {
				Next string `json:"nextCursor"`
			} `json:"result"`
		}
		if json.Unmarshal(c.answer, &page) != nil || page.Result.Next == "" {
			return
		}
		cursor = page.Result.Next
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
	res, err := s.do(req, m.Method != "") // an answer is sent once
	if err != nil {
		return errors.New(textOf(err))
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		_ = res.Body.Close()
		return nil
	}
	err = s.statusError(res, false)
	if res.StatusCode == http.StatusNotFound && id != "" && hasSessions(version) {
		s.loses(ctx, m, res.StatusCode, false)
	}
	return err
}
