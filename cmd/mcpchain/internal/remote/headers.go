package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/headers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// newRequest returns a request of HTTP with what is the same for all messages. authorization is that of the message
// that causes it.
func (s *Session) newRequest(ctx context.Context, method string, line []byte, version, session, authorization string) (*http.Request, error) {
	var body io.Reader
	if line != nil {
		body = bytes.NewReader(line)
	}
	s.mu.Lock()
	place := cmp.Or(s.place, s.client.URL)
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, method, place, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "mcpchain")
	maps.Copy(req.Header, s.client.Header)
	if s.accepted != nil && authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	if line != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if version != "" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
	if session != "" && hasSessions(version) {
		req.Header.Set("Mcp-Session-Id", session)
	}
	return req, nil
}

// accepts notes that the server has answered the POST of a message with 2xx.
func (s *Session) accepts(m *rpc.Message) {
	if s.accepted == nil {
		return
	}
	s.mu.Lock()
	s.own = m.Authorization
	s.mu.Unlock()
	s.accepted(m.Authorization)
}

// credentials are those for what no message causes.
func (s *Session) credentials() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own
}

// describe adds what versions without sessions want to see of a message in the headers. Some servers
// compare the name as it stands: raw says to send it so.
func (s *Session) describe(header http.Header, m *rpc.Message, version string, raw bool) {
	if hasSessions(version) || m.Method == "" {
		return
	}
	header.Set("Mcp-Method", headers.Encoded(m.Method))
	name := m.Text("params", "name")
	switch m.Method {
	case "tools/call":
		s.mu.Lock()
		bound := s.tools.Of(name)
		s.mu.Unlock()
		var args map[string]json.RawMessage
		if raw := m.Value("params", "arguments"); len(bound) > 0 && raw != nil && rpc.Unmarshal(raw, &args) != nil {
			return
		}
		for _, b := range bound {
			if value, ok := b.Value(args); ok {
				header.Set(headers.Param+b.Header, headers.Encoded(value))
			}
		}
	case "prompts/get":
	case "resources/read":
		name = m.Text("params", "uri")
	default:
		return
	}
	if !raw || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		name = headers.Encoded(name)
	}
	header.Set("Mcp-Name", name)
}
