package remote

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/jsons"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

func isStream(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/event-stream"
}

// messages returns the messages in a body: servers that may not stream send several at once as a list. What is
// not a list is one, whatever it is.
func messages(body []byte) [][]byte {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if !bytes.HasPrefix(body, []byte{'['}) || rpc.Unmarshal(body, &list) != nil {
		return [][]byte{body}
	}
	lines := make([][]byte, 0, len(list))
	for _, one := range list {
		lines = append(lines, one)
	}
	return lines
}

// inLine returns a message as one line, without a byte order mark. Line breaks stand between the parts of JSON, and
// not in its texts.
func inLine(message []byte) []byte {
	message = bytes.TrimPrefix(message, []byte("\ufeff"))
	if !jsons.HasBreak(message) {
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

// passed passes on what came on the stream of a request, or on that of none.
func (s *Session) passed(c *call, m *rpc.Message, refused *rpc.RefusedError) {
	answers := c != nil && !c.answered && (refused == nil && m.Method == "" && m.ID.Key() == c.key ||
		refused != nil && !refused.Method && refused.ID != nil && refused.ID.Key() == c.key)
	e := event{m: m}
	if refused != nil {
		e = event{err: refused}
	}
	if !answers {
		s.push(e)
		return
	}
	if refused == nil && c.retry {
		if code, _ := m.Code(); code == mcp.CodeHeaderMismatch {
			c.answer = m
			return
		}
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

// wire returns the error of an answer that does not name its request, with what stands in it.
func wire(m *rpc.Message) *jsonrpc.Error {
	if e := m.Wire(); e != nil {
		return e
	}
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The server gave no reason."}
	if code, ok := m.Code(); ok {
		e.Code, e.Data = code, m.Value("error", "data")
	}
	return e
}
