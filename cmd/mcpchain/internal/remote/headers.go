package remote

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// newRequest returns a request of HTTP with what is the same for all messages.
func (s *Session) newRequest(ctx context.Context, method string, line []byte, version, session string) (*http.Request, error) {
	var body io.Reader
	if line != nil {
		body = bytes.NewReader(line)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.client.URL, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "mcpchain")
	maps.Copy(req.Header, s.client.Header)
	if s.authorization != nil {
		if value := s.authorization(); value != "" {
			req.Header.Set("Authorization", value)
		}
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

// describe adds what versions without sessions want to see of a message in the headers. Some servers
// compare the name as it stands: raw says to send it so.
func (s *Session) describe(header http.Header, m *rpc.Message, version string, raw bool) {
	if hasSessions(version) || m.Method == "" {
		return
	}
	header.Set("Mcp-Method", encoded(m.Method))
	var params struct {
		Name      string                     `json:"name"`
		URI       string                     `json:"uri"`
		Arguments map[string]json.RawMessage `json:"arguments"`
	}
	if m.Params == nil || json.Unmarshal(m.Params, &params) != nil {
		return
	}
	name := params.Name
	switch m.Method {
	case "tools/call":
		s.mu.Lock()
		bound := s.tools[name]
		s.mu.Unlock()
		for _, b := range bound {
			if value, ok := b.value(params.Arguments); ok {
				header.Set("Mcp-Param-"+b.header, encoded(value))
			}
		}
	case "prompts/get":
	case "resources/read":
		name = params.URI
	default:
		return
	}
	if !raw || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		name = encoded(name)
	}
	header.Set("Mcp-Name", name)
}

// encoded returns a text as it stands in a header: texts that would be changed on the way, and those
// that look as if they were encoded, are encoded.
func encoded(text string) string {
	const before, after = "=?base64?", "?="
	plain := strings.Trim(text, " \t") == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	if plain && (!strings.HasPrefix(text, before) || !strings.HasSuffix(text, after)) {
		return text
	}
	return before + base64.StdEncoding.EncodeToString([]byte(text)) + after
}

// bindings are the arguments of tools that stand in headers, too: those that the schema marks with
// x-mcp-header.
type bindings map[string][]binding

type binding struct {
	path   []string
	header string
}

// maxBindings bounds the arguments that are kept.
const maxBindings = 10_000

type property struct {
	Header     json.RawMessage     `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// learn notes what an answer to tools/list says. The first page says all anew.
func (s *Session) learn(m *rpc.Message, answer []byte) {
	var asked struct {
		Cursor string `json:"cursor"`
	}
	if m.Params != nil && json.Unmarshal(m.Params, &asked) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil || asked.Cursor == "" {
		s.tools = bindings{}
	}
	if !bytes.Contains(answer, []byte(`"x-mcp-header"`)) {
		return
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name   string   `json:"name"`
				Schema property `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &list) != nil {
		return
	}
	left := maxBindings
	for _, bound := range s.tools {
		left -= len(bound)
	}
	for _, tool := range list.Result.Tools {
		bound := tool.Schema.bindings(nil, nil)
		if left -= len(bound); len(bound) > 0 && left >= 0 {
			s.tools[tool.Name] = bound
		}
	}
}

func (p *property) bindings(path []string, all []binding) []binding {
	for name, inner := range p.Properties {
		here := slices.Concat(path, []string{name})
		var header string
		if json.Unmarshal(inner.Header, &header) == nil && header != "" && strings.Trim(header, allowedInNames) == "" {
			all = append(all, binding{here, header})
		}
		all = inner.bindings(here, all)
	}
	return all
}

// allowedInNames are the characters that names of headers consist of.
const allowedInNames = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// value returns the argument as a text, if the call has it and it can stand in a header.
func (b *binding) value(args map[string]json.RawMessage) (string, bool) {
	raw := args[b.path[0]]
	for _, name := range b.path[1:] {
		var inner map[string]json.RawMessage
		if raw == nil || json.Unmarshal(raw, &inner) != nil {
			return "", false
		}
		raw = inner[name]
	}
	var value any
	if raw == nil || json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case float64:
		const most = 1<<53 - 1 // every whole number up to it is exact
		if value == math.Trunc(value) && math.Abs(value) <= most {
			return strconv.FormatInt(int64(value), 10), true
		}
	}
	return "", false
}
