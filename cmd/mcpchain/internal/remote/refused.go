package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// The bounds of the answer to a request that was refused.
const (
	maxRefusal  = 1 << 20
	refusalTime = 5 * time.Second
)

// refused passes on an answer with another status than one of success. An answer of JSON-RPC with the ID of
// the request is the server's own, whatever the status.
func (s *Session) refused(ctx context.Context, c *call, res *http.Response, inSession bool) error {
	body, _, _ := readAll(res.Body, maxRefusal, refusalTime)
	res.Body = io.NopCloser(bytes.NewReader(body))
	own, is := ownOf(res, body, c.key)
	c.retry = c.retry && res.StatusCode == http.StatusBadRequest // as the specification wants it of wrong headers
	lost := inSession && s.loses(ctx, c.Authorization, res.StatusCode, own != nil)
	if own == nil && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed) {
		s.moved("")
	}
	switch {
	case own != nil:
		s.passed(c, own, nil)
	case lost:
		return goneError()
	case is != nil:
		s.passed(c, rpc.Failed(c.ID, wire(is)), nil)
	case c.Method == "server/discover" && (res.StatusCode == http.StatusBadRequest || res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed):
		// What a server of an older version answers over stdio, by which clients know it.
		s.passed(c, rpc.Failed(c.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}), nil)
	default:
		return s.statusError(res, inSession)
	}
	return nil
}

// ownOf returns the answer in a body that names the request. Else it returns an error of JSON-RPC that names none.
// Both are nil if the body has neither.
func ownOf(res *http.Response, body []byte, key string) (own, is *rpc.Message) {
	for _, line := range bodyLines(res, body) {
		m, bad := rpc.ParseServer(inLine(line))
		switch {
		case bad != nil || m.Method != "":
		case m.ID.Key() == key:
			return m, nil
		case m.Error != nil:
			is = m
		}
	}
	return nil, is
}

// bodyLines returns the messages in a body, as lines.
func bodyLines(res *http.Response, body []byte) (lines [][]byte) {
	if !isStream(res) {
		return messages(body)
	}
	events := newEventReader(bytes.NewReader(body), len(body), position{})
	for {
		data, err := events.next()
		if err != nil {
			return lines
		}
		lines = append(lines, data)
	}
}

// loses reports whether the server does not have the session, after it has answered a message of it with a status.
// Later requests then go to another session. own says that the answer named the request: then only status 404 says
// something of the session.
func (s *Session) loses(ctx context.Context, authorization string, status int, own bool) bool {
	if status != http.StatusNotFound && (status != http.StatusBadRequest || own) || !s.forgotten(ctx, authorization, status) {
		return false
	}
	s.lose("the server has no such session (" + strconv.Itoa(status) + " " + http.StatusText(status) + ")")
	return true
}

// forgotten reports whether the server refuses a ping as it has refused a request of the session. 404
// says so by the specification. Many servers say 400 instead, as for other reasons.
func (s *Session) forgotten(ctx context.Context, authorization string, status int) bool {
	ctx, cancel := context.WithTimeout(ctx, refusalTime)
	defer cancel()
	s.mu.Lock()
	id, gone := s.id, s.gone
	s.mu.Unlock()
	if gone { // another request has found out
		return true
	}
	ping := rpc.Request(rpc.RandomID(), "ping", nil)
	req, err := s.newRequest(ctx, http.MethodPost, ping.Line, s.spoken(nil), id, authorization)
	if err != nil {
		return false
	}
	res, err := s.do(req, true) //nolint:bodyclose // readAll closes it
	if err != nil {
		return false
	}
	body, _, _ := readAll(res.Body, maxRefusal, refusalTime)
	if own, _ := ownOf(res, body, ping.ID.Key()); own != nil {
		return false
	}
	return res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusBadRequest && status == http.StatusBadRequest
}
