// Package conduct is what package mcptest and "mcpchain check" require of any server alike: answers that
// are legal on the wire, with nothing in them that must not leave.
package conduct

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The versions of the protocol that are spoken.
const (
	Current = "2026-07-28"
	Older   = "2025-11-25"
)

// A Message is one JSON-RPC message.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// A Result is the result of a method; most fields are those of a tool's.
type Result struct {
	Type    string `json:"resultType"`
	IsError bool   `json:"isError"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

func (m Message) String() string {
	switch {
	case m.Method == "":
		return "no request"
	case m.Params.Name == "":
		return m.Method
	default:
		return m.Method + " " + m.Params.Name
	}
}

// Wrong is what clients cannot understand in an answer: the rule that it breaks, and how.
type Wrong struct{ Rule, Text string }

func (w Wrong) String() string { return w.Text }

// The rules of [Message.Illegal]. They are names of checks.
const (
	RuleMessages   = "legal-messages"
	RuleCodes      = "legal-codes"
	RuleResultType = "result-type"
	RuleOneText    = "one-text"
	RuleStructured = "structured-content"
)

// Illegal returns what clients of a protocol version cannot understand in the answer m to a request.
// fits returns why the output schema of the called tool refuses structured content; it is nil if the
// tool declares no schema.
func (m Message) Illegal(version string, request Message, fits func(structured any) error) []Wrong {
	var all []Wrong
	wrong := func(rule, format string, args ...any) {
		all = append(all, Wrong{rule, fmt.Sprintf(format, args...)})
	}
	if m.Version != "2.0" {
		wrong(RuleMessages, `"jsonrpc" is not "2.0"`)
	}
	if (m.Result == nil) == (m.Error == nil) {
		wrong(RuleMessages, "it has not one of result and error")
		return all
	}
	if e := m.Error; e != nil {
		if why := reserved(version, e.Code); why != "" {
			wrong(RuleCodes, "%s", why)
		}
		if e.Message == "" {
			wrong(RuleMessages, "the message is empty")
		}
		return all
	}
	var res Result
	if err := json.Unmarshal(m.Result, &res); err != nil {
		wrong(RuleMessages, "the result cannot be read: %v", err)
		return all
	}
	if version >= Current && res.Type == "" && string(m.Result) != "{}" { // as the SDK answers a ping
		wrong(RuleResultType, "resultType is missing")
	}
	if request.Method != "tools/call" || res.Type != "" && res.Type != "complete" {
		return all // an input request, or a task: the result comes later
	}
	if res.IsError && (len(res.Content) != 1 || res.Content[0].Type != "text") {
		wrong(RuleOneText, "a failure has %d blocks of content, want one text", len(res.Content))
	} else if res.IsError && res.Content[0].Text == "" {
		wrong(RuleOneText, "the text of a failure is empty")
	}
	if fits == nil {
		return all
	}
	if res.Structured == nil {
		if !res.IsError {
			wrong(RuleStructured, "structuredContent is missing, and the tool declares an output schema")
		}
		return all
	}
	var structured any
	if err := json.Unmarshal(res.Structured, &structured); err != nil {
		wrong(RuleStructured, "structuredContent cannot be read: %v", err)
	} else if err := fits(structured); err != nil {
		wrong(RuleStructured, "structuredContent does not fit the output schema: %v", err)
	}
	return all
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
