package rpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An ID is the ID of a request, as it stands in the message.
type ID json.RawMessage

// UnmarshalJSON keeps the JSON.
func (id *ID) UnmarshalJSON(raw []byte) error {
	*id = append(ID(nil), raw...)
	return nil
}

// Key returns what is the same for every spelling of an ID, and "" for what is none: MCP allows
// texts and whole numbers.
func (id ID) Key() string {
	switch {
	case len(id) == 0:
		return ""
	case id[0] == '"':
		var text string
		if json.Unmarshal(id, &text) != nil {
			return ""
		}
		return "s" + text
	}
	if _, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return "n" + string(id)
	}
	if f, err := strconv.ParseFloat(string(id), 64); err == nil && f == float64(int64(f)) {
		return "n" + strconv.FormatInt(int64(f), 10) // such as 1.0 or 1e3
	}
	return ""
}

// A Message is what a line says.
type Message struct {
	Line []byte // the whole message, as it came

	ID     ID // nil if there is none
	Method string
	Params json.RawMessage // nil if there are none

	Result json.RawMessage // of an answer
	Error  json.RawMessage
}

// IsRequest reports whether the message wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message is one that is never answered.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// Parse reads a line of a client, which is not passed on if many servers would die of it or never
// answer it. refused says why, with what can be said of its ID. Parameters that are null are left
// out of the line, as they mean nothing.
func Parse(line []byte) (m *Message, refused *Refused) {
	m, refused = ParseServer(line)
	if refused != nil || m.Method == "" {
		return m, refused
	}
	if string(m.Params) == "null" {
		m.Params = nil
		m.Line = without(line, "params")
	}
	reason := oddParams(m.Params)
	if reason == "" {
		reason = oddMembers(m.Params, required[m.Method])
	}
	if reason != "" {
		return nil, m.refused(jsonrpc.CodeInvalidParams, reason)
	}
	return m, nil
}

// required are the members that the protocol wants in the parameters of a method, which servers
// otherwise call an internal error, or take for what they are not. A member with "?" may be absent
// or null.
var required = map[string][]member{
	"initialize":            {{"protocolVersion", '"'}},
	"tools/call":            {{"name", '"'}, {"arguments?", '{'}},
	"prompts/get":           {{"name", '"'}, {"arguments?", '{'}},
	"resources/read":        {{"uri", '"'}},
	"resources/subscribe":   {{"uri", '"'}},
	"resources/unsubscribe": {{"uri", '"'}},
	"logging/setLevel":      {{"level", '"'}},
}

// A member has a name and the first byte of its value.
type member struct {
	name  string
	first byte
}

// oddMembers says which member of the parameters is not what the protocol wants, "" if none is.
func oddMembers(params json.RawMessage, want []member) string {
	if len(want) == 0 {
		return ""
	}
	var has map[string]json.RawMessage
	if params != nil && json.Unmarshal(params, &has) != nil {
		return ""
	}
	for _, w := range want {
		name, optional := strings.CutSuffix(w.name, "?")
		value := has[name]
		switch {
		case optional && (value == nil || string(value) == "null"):
		case value == nil:
			return strconv.Quote(name) + " is required"
		case value[0] != w.first:
			return strconv.Quote(name) + map[byte]string{'"': " is no text", '{': " is no object"}[w.first]
		}
	}
	return ""
}

// ParseServer reads a line of a server, as Parse does, but for what it says of the parameters: they
// are for the client to judge.
func ParseServer(line []byte) (m *Message, refused *Refused) {
	var members map[string]json.RawMessage // names in their own spelling, unlike in a struct
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		switch {
		case !json.Valid(line):
			return nil, &Refused{Code: jsonrpc.CodeParseError, Reason: "the line is no JSON"}
		case line[0] == '[':
			return nil, &Refused{Code: jsonrpc.CodeInvalidRequest, Reason: "batches are not supported"}
		default:
			return nil, &Refused{Code: jsonrpc.CodeInvalidRequest, Reason: "the line is no JSON-RPC message"}
		}
	}
	m = &Message{Line: line, ID: ID(members["id"]), Params: members["params"], Result: members["result"], Error: members["error"]}
	raw, called := members["method"]
	if called && (json.Unmarshal(raw, &m.Method) != nil || m.Method == "") {
		return nil, m.refused(jsonrpc.CodeInvalidRequest, "the method is no text")
	}
	switch {
	case string(members["jsonrpc"]) != `"2.0"`:
		return nil, m.refused(jsonrpc.CodeInvalidRequest, `the member "jsonrpc" is not "2.0"`)
	case m.ID != nil && m.ID.Key() == "" && !(string(m.ID) == "null" && !called && m.Error != nil):
		return nil, m.refused(jsonrpc.CodeInvalidRequest, "the ID is neither a text nor a whole number")
	case called:
	case m.ID == nil, m.Result == nil && m.Error == nil:
		return nil, m.refused(jsonrpc.CodeInvalidRequest, "the message has no method and is no answer")
	}
	return m, nil
}

// oddParams says what is wrong with the parameters of any method, "" if nothing is. Many servers
// never answer such a message.
func oddParams(params json.RawMessage) string {
	switch {
	case params == nil:
		return ""
	case params[0] != '{':
		return `"params" is no object`
	case !bytes.Contains(params, []byte(`"_meta"`)):
		return ""
	}
	var p struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil || p.Meta == nil {
		return ""
	}
	if p.Meta[0] != '{' {
		return `"_meta" is no object`
	}
	var meta struct {
		Token ID `json:"progressToken"`
	}
	if json.Unmarshal(p.Meta, &meta) == nil && meta.Token != nil && meta.Token.Key() == "" {
		return `"progressToken" is neither a text nor a whole number`
	}
	return ""
}

// Refused says why a line is not passed on.
type Refused struct {
	Code   int64
	Reason string
	ID     ID   // of the message, nil if it is not known
	Method bool // it is a request or a notification
	Silent bool // it is no request: nobody waits for an answer
}

func (m *Message) refused(code int64, reason string) *Refused {
	r := &Refused{Code: code, Reason: reason, Method: m.Method != ""}
	if m.ID.Key() != "" {
		r.ID = m.ID
	}
	r.Silent = m.Method != "" && m.ID == nil || m.Method == "" && (m.Result != nil || m.Error != nil)
	return r
}

// Answer returns the line that a refused one is answered with.
func (r *Refused) Answer() []byte {
	return Failed(r.ID, &jsonrpc.Error{Code: r.Code, Message: "Invalid message: " + r.Reason + "."})
}

// Failed returns the line of an answer with an error. A nil ID is null.
func Failed(id ID, err *jsonrpc.Error) []byte {
	if len(err.Data) > 0 && !json.Valid(err.Data) {
		err = &jsonrpc.Error{Code: err.Code, Message: err.Message}
	}
	return line(map[string]any{"jsonrpc": "2.0", "id": orNull(id), "error": struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{err.Code, err.Message, err.Data}})
}

// Answered returns the line of an answer with a result.
func Answered(id ID, result json.RawMessage) []byte {
	return line(map[string]any{"jsonrpc": "2.0", "id": orNull(id), "result": result})
}

// Request returns the line of a request, or of a notification if there is no ID.
func Request(id ID, method string, params json.RawMessage) []byte {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != nil {
		m["id"] = json.RawMessage(id)
	}
	if params != nil {
		m["params"] = params
	}
	return line(m)
}

// without returns the line of an object without one of its members.
func without(object []byte, name string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	delete(members, name)
	return line(members)
}

// Renamed returns the line of a request with another ID.
func Renamed(request []byte, id ID) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(request, &members) != nil || members == nil {
		return request
	}
	members["id"] = json.RawMessage(id)
	return line(members)
}

// Cancelled returns the line that says that a request needs no answer any more.
func Cancelled(id ID, reason string) []byte {
	return line(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{
		"requestId": json.RawMessage(id), "reason": reason,
	}})
}

// TextID returns the ID that is a text.
func TextID(text string) ID { return line(text) }

func orNull(id ID) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(id)
}

// line writes a value that consists of valid JSON.
func line(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error."}}`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
