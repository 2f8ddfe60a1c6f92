package rpc

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// RefusedError says why a line is not passed on. It is the error of [Read]: what comes after the line can be read.
type RefusedError struct {
	Line   []byte // nil if it is not kept
	Code   int64
	Reason string
	ID     ID   // of the message, nil if it is not known
	Method bool // it is a request or a notification
	Silent bool // nobody waits for an answer
}

// Answer returns what a refused message is answered with.
func (r *RefusedError) Answer() *Message {
	return Failed(r.ID, &jsonrpc.Error{Code: r.Code, Message: "Invalid message: " + r.Reason + "."})
}

func (r *RefusedError) Error() string { return "rpc: " + r.Reason }

// Read is [ParseServer] with an error, which is a *[RefusedError].
func Read(line []byte) (*Message, error) {
	m, refused := ParseServer(line)
	if refused != nil {
		return nil, refused
	}
	return m, nil
}

// Parse reads a line of a client strictly: what two servers could read in two ways, what many of them would end
// of, or never answer, is refused. The message is returned with the reason if it could be read at all; it must
// not be passed on then. Parameters that are null become an empty object, as they mean nothing.
func Parse(line []byte) (m *Message, refused *RefusedError) {
	doc, err := jsons.Strict(line, asked)
	if doc == nil {
		return nil, unreadable(line, err)
	}
	m = message(doc)
	reason := ""
	if odd, ok := errors.AsType[*jsons.Error](err); ok {
		reason = odd.Reason
	}
	if reason == "" {
		reason = misspelt(doc)
	}
	if reason == "" {
		reason = m.illegal()
	}
	if reason == "" && m.Method != "" && m.decoded() > maxDecoded {
		reason = "it has more than " + strconv.Itoa(maxDecoded) + " values beside the arguments of a tool"
	}
	if reason != "" {
		return m, m.refused(jsonrpc.CodeInvalidRequest, reason)
	}
	if m.Method == "" {
		return m, nil
	}
	if kept[m.Method] && len(m.Line) > maxKept {
		return m, m.refused(jsonrpc.CodeInvalidRequest, "it is longer than "+strconv.Itoa(maxKept)+" bytes, which is the most for "+m.Method)
	}
	if string(m.Params) == "null" {
		m = m.With([]byte(`{}`), "params")
	}
	if reason = m.oddParams(); reason != "" {
		return m, m.refused(jsonrpc.CodeInvalidParams, reason)
	}
	return m, nil
}

// maxDecoded bounds the values of a message that are decoded for the guards: each takes many times its bytes.
const maxDecoded = 10_000

// kept are the methods whose messages are kept for the next run of the server.
var kept = map[string]bool{"initialize": true, "notifications/initialized": true, "logging/setLevel": true, "resources/subscribe": true}

// maxKept bounds such a message.
const maxKept = 256 << 10 // a client may have icons

// decoded returns how many values of a message are decoded. The arguments of a tool are kept as bytes.
func (m *Message) decoded() int {
	n := m.doc.Count()
	if m.Method == "tools/call" {
		n -= m.doc.Count("params", "arguments")
	}
	return n
}

// ParseServer reads a line of a server, which is passed on whatever stands in it, if it is a message. What this
// program decides by must stand in it once.
func ParseServer(line []byte) (m *Message, refused *RefusedError) {
	doc, err := jsons.Tolerant(line, shape)
	if doc == nil {
		return nil, unreadable(line, err)
	}
	m = message(doc)
	for _, path := range decisive {
		if len(doc.Values(path...)) > 1 {
			return nil, m.refused(jsonrpc.CodeInvalidRequest, "the name "+strconv.Quote(path[len(path)-1])+" stands twice in it")
		}
	}
	reason := m.envelope()
	switch {
	case reason != "":
	case m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil):
		reason = "the message has no method and is no answer"
	}
	if reason != "" {
		refused = m.refused(jsonrpc.CodeInvalidRequest, reason)
		if !refused.Method && doc.Value("jsonrpc") == nil && m.Result == nil && (m.Error == nil || m.Error[0] != '{') {
			refused.ID = nil // a log has an ID, too, of a request whose answer comes
		}
		return nil, refused
	}
	return m, nil
}

// decisive are the members by which this program decides what a message of a server is.
var decisive = [][]string{{"id"}, {"method"}, {"result"}, {"error"}, {"result", "isError"}}

func unreadable(line []byte, err error) *RefusedError {
	var odd *jsons.Error
	switch errors.As(err, &odd); {
	case odd.Syntax:
		return &RefusedError{Line: line, Code: jsonrpc.CodeParseError, Reason: "the line is no JSON"}
	case line[0] == '[':
		return &RefusedError{Line: line, Code: jsonrpc.CodeInvalidRequest, Reason: "batches are not supported"}
	default:
		return &RefusedError{Line: line, Code: jsonrpc.CodeInvalidRequest, Reason: "the line is no JSON-RPC message"}
	}
}

// envelope says what is wrong with the members of any message, "" if nothing is.
func (m *Message) envelope() string {
	raw := m.doc.Value("method")
	switch {
	case raw != nil && m.Method == "":
		return "the method is no text"
	case string(m.doc.Value("jsonrpc")) != `"2.0"`:
		return `the member "jsonrpc" is not "2.0"`
	case m.ID != nil && m.ID.Key() == "" && !(string(m.ID) == "null" && raw == nil && m.Error != nil):
		return "the ID is neither a text nor a whole number"
	}
	return ""
}

// illegal says why a client may not send a message, "" if it may.
func (m *Message) illegal() string {
	reason := m.envelope()
	notifies := strings.HasPrefix(m.Method, "notifications/")
	switch {
	case reason != "":
		return reason
	case strings.Contains(m.Method, "\x00"): // where it ends for readers in C
		return "the method has a NUL in it"
	case m.Method != "" && (m.Result != nil || m.Error != nil):
		return "it has a method and is an answer"
	case m.Method != "" && m.ID == nil && !notifies: // a server may run it all the same
		return "a request has an ID, and the method of a notification begins with \"notifications/\""
	case m.IsRequest() && notifies: // a server may take it for a notification
		return "a notification has no ID"
	case m.Method != "":
		return ""
	case m.ID == nil, m.Result == nil && m.Error == nil:
		return "the message has no method and is no answer"
	case m.Result != nil && m.Error != nil:
		return "it has a result and an error"
	}
	return ""
}

// refused returns why the message is refused, with its ID if that cannot be taken for another one.
func (m *Message) refused(code int64, reason string) *RefusedError {
	r := &RefusedError{Line: m.Line, Code: code, Reason: reason, Method: m.doc.Value("method") != nil}
	if m.ID.Key() != "" && !slices.ContainsFunc(m.doc.Names(), func(name string) bool { return name != "id" && mayBe(name, "id") }) {
		r.ID = m.ID
		for _, other := range m.doc.Values("id") {
			if ID(other).Key() != m.ID.Key() {
				r.ID = nil
			}
		}
	}
	r.Silent = r.Method && m.ID == nil || !r.Method && (m.Result != nil || m.Error != nil)
	return r
}

// names are the members by which this program decides: in the parameters of all methods, and in those of one. A
// server that does not mind the case of names would read other spellings.
var names = map[string][]string{
	"":                         {"_meta"},
	"initialize":               {"protocolVersion", "capabilities", "clientInfo"},
	"tools/call":               {"name", "arguments"},
	"prompts/get":              {"name", "arguments"},
	"resources/read":           {"uri"},
	"resources/subscribe":      {"uri"},
	"resources/unsubscribe":    {"uri"},
	"tools/list":               {"cursor"},
	"prompts/list":             {"cursor"},
	"resources/list":           {"cursor"},
	"resources/templates/list": {"cursor"},
	"logging/setLevel":         {"level"},
	"completion/complete":      {"ref", "argument"},
	"subscriptions/listen":     {"notifications"},
	"notifications/cancelled":  {"requestId"},
	"notifications/progress":   {"progressToken"},
}

var (
	ofMessage = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	ofMeta    = append([]string{
		"progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel", wire.AttemptKey,
	}, wire.KeyKeys...)
)

// mayBe reports whether some reader takes a name for another one: one that does not mind its case, or one in C, for
// which it ends at a NUL.
func mayBe(name, other string) bool {
	read, _, _ := strings.Cut(name, "\x00")
	return strings.EqualFold(read, other)
}

// misspelt says which name may be one of the protocol, "" if none may.
func misspelt(doc *jsons.Document) string {
	method, _ := jsons.Text(doc.Value("method"))
	for _, one := range []struct {
		in   []string
		want []string
	}{{nil, ofMessage}, {[]string{"params"}, names[""]}, {[]string{"params"}, names[method]}, {[]string{"params", "_meta"}, ofMeta}} {
		for _, name := range doc.Names(one.in...) {
			for _, want := range one.want {
				if name != want && mayBe(name, want) {
					return "the name " + strconv.QuoteToASCII(name) + " has to be spelled " + strconv.Quote(want)
				}
			}
		}
	}
	return ""
}

// required are the members that the protocol wants in the parameters of a method. Many servers call their lack an
// internal error, or misread a wrong type. A member with "?" may be absent or null.
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

// oddParams says what is wrong with the parameters, "" if nothing is. Many servers never answer such a message.
func (m *Message) oddParams() string {
	meta, token := m.Value("params", "_meta"), m.Value("params", "_meta", "progressToken")
	switch {
	case m.Params != nil && m.Params[0] != '{':
		return `"params" is no object`
	case meta != nil && meta[0] != '{':
		return `"_meta" is no object`
	case token != nil && m.Token() == nil:
		return `"progressToken" is neither a text nor a whole number`
	}
	for _, want := range required[m.Method] {
		name, optional := strings.CutSuffix(want.name, "?")
		value := m.Value("params", name)
		switch {
		case strings.Contains(m.Text("params", name), "\x00"): // where it ends for readers in C
			return strconv.Quote(name) + " has a NUL in it"
		case optional && (value == nil || isNull(value)):
		case value == nil:
			return strconv.Quote(name) + " is required"
		case value[0] != want.first:
			return strconv.Quote(name) + map[byte]string{'"': " is no text", '{': " is no object"}[want.first]
		}
	}
	return ""
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }
