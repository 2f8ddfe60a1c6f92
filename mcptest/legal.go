package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A message is one JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Name string `json:"name"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// A result is the result of a method; most fields are those of a tool's.
type result struct {
	Type    string `json:"resultType"`
	IsError bool   `json:"isError"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

// Legal requires that clients understand every answer that the server has sent so far:
//
//   - a request has one answer, a result or an error;
//   - a failed tool call has exactly one text block, which says something: some clients
//     show no other;
//   - structured content fits the tool's output schema, in failures too, and is there
//     if there is such a schema;
//   - a result of protocol version 2026-07-28 has a resultType;
//   - an error has a message, and a code that JSON-RPC or MCP defines, or that is not
//     reserved. The code 0 is not legal: the SDK sends it for errors without a code.
func Legal(t testing.TB, s *Session) {
	t.Helper()
	tools, err := s.tools() // first, so that what the server sends meanwhile is checked too
	if err != nil {
		t.Errorf("mcptest.Legal: %v", err)
	}
	asked := map[string]message{}
	for line := range bytes.Lines(s.Received()) {
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method != "" && m.ID != nil {
			asked[string(m.ID)] = m
		}
	}
	answered := map[string]bool{}
	for line := range s.messages() {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Errorf("mcptest.Legal: the server sent what is no message: %v\n%s", err, indent(clip(string(line), 500)))
			continue
		}
		if m.Method != "" {
			continue // a notification, or a request of the server's
		}
		request := asked[string(m.ID)]
		for _, wrong := range m.illegal(s.version, request, tools) {
			t.Errorf("mcptest.Legal: the answer to %s: %s:\n%s", request, wrong, indent(clip(string(line), 500)))
		}
		if answered[string(m.ID)] {
			t.Errorf("mcptest.Legal: the answer to %s: it was answered before:\n%s", request, indent(clip(string(line), 500)))
		}
		answered[string(m.ID)] = true
	}
}

func (m message) String() string {
	switch {
	case m.Method == "":
		return "no request"
	case m.Params.Name == "":
		return m.Method
	default:
		return m.Method + " " + m.Params.Name
	}
}

// illegal returns what is wrong with an answer.
func (m message) illegal(version string, request message, tools map[string]*mcp.Tool) []string {
	var wrong []string
	if m.Version != "2.0" {
		wrong = append(wrong, `"jsonrpc" is not "2.0"`)
	}
	if (m.Result == nil) == (m.Error == nil) {
		return append(wrong, "it has not one of result and error")
	}
	if e := m.Error; e != nil {
		if why := reserved(version, e.Code); why != "" {
			wrong = append(wrong, why)
		}
		if e.Message == "" {
			wrong = append(wrong, "the message is empty")
		}
		return wrong
	}
	var res result
	if err := json.Unmarshal(m.Result, &res); err != nil {
		return append(wrong, "the result cannot be read: "+err.Error())
	}
	if version >= Current && res.Type == "" && string(m.Result) != "{}" { // as the SDK answers a ping
		wrong = append(wrong, "resultType is missing")
	}
	if request.Method != "tools/call" || res.Type != "" && res.Type != "complete" {
		return wrong // an input request, or a task: the result comes later
	}
	if res.IsError && (len(res.Content) != 1 || res.Content[0].Type != "text") {
		wrong = append(wrong, fmt.Sprintf("a failure has %d blocks of content, want one text", len(res.Content)))
	} else if res.IsError && res.Content[0].Text == "" {
		wrong = append(wrong, "the text of a failure is empty")
	}
	tool := tools[request.Params.Name]
	if tool == nil || tool.OutputSchema == nil {
		return wrong
	}
	if res.Structured == nil {
		if !res.IsError {
			wrong = append(wrong, "structuredContent is missing, and the tool declares an output schema")
		}
		return wrong
	}
	var structured any
	if err := json.Unmarshal(res.Structured, &structured); err != nil {
		wrong = append(wrong, "structuredContent cannot be read: "+err.Error())
	} else if err := fits(tool.OutputSchema, structured); err != nil {
		wrong = append(wrong, "structuredContent does not fit the output schema: "+err.Error())
	}
	return wrong
}

// reserved returns why a code is not legal, "" if it is legal.
func reserved(version string, code int64) string {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound,
		jsonrpc.CodeInvalidParams, jsonrpc.CodeInternalError,
		mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapabilities,
		mcp.CodeUnsupportedProtocolVersion, mcp.CodeURLElicitationRequired:
		return ""
	case 0:
		return "the code is 0"
	}
	lowest, highest := int64(-32768), int64(-32000)
	if version < Current {
		highest = -32100 // JSON-RPC leaves the last hundred to servers
	}
	if code >= lowest && code <= highest {
		return fmt.Sprintf("the code %d is reserved", code)
	}
	return ""
}
