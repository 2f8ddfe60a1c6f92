package mcptest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

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
	asked := map[string]conduct.Message{}
	for line := range bytes.Lines(s.Received()) {
		var m conduct.Message
		if json.Unmarshal(line, &m) == nil && m.Method != "" && m.ID != nil {
			asked[string(m.ID)] = m
		}
	}
	answered := map[string]bool{}
	for line := range s.messages() {
		var m conduct.Message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Errorf("mcptest.Legal: the server sent something that is not a message: %v\n%s", err, indent(clip(string(line), 500)))
			continue
		}
		if m.Method != "" {
			continue // a notification, or a request of the server's
		}
		request := asked[string(m.ID)]
		for _, wrong := range m.Illegal(s.version, request, fitsOutput(tools[request.Params.Name])) {
			t.Errorf("mcptest.Legal: the answer to %s: %s:\n%s", request, wrong, indent(clip(string(line), 500)))
		}
		if answered[string(m.ID)] {
			t.Errorf("mcptest.Legal: the answer to %s: it was answered before:\n%s", request, indent(clip(string(line), 500)))
		}
		answered[string(m.ID)] = true
	}
}

// fitsOutput returns the check of a tool's structured content, nil if the tool declares no schema.
func fitsOutput(tool *mcp.Tool) func(structured any) error {
	if tool == nil || tool.OutputSchema == nil {
		return nil
	}
	return func(structured any) error { return fits(tool.OutputSchema, structured) }
}
