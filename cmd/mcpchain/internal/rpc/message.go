package rpc

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/internal/jsons"
)

// An ID is the ID of a request, as it stands in the message.
type ID json.RawMessage

// Key returns what all spellings of an ID have in common, and "" if it is illegal: MCP allows texts and whole
// numbers.
func (id ID) Key() string {
	if text, ok := jsons.Text(json.RawMessage(id)); ok {
		return "s" + text
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return "n" + strconv.FormatInt(n, 10) // of -0, too
	}
	if f, err := strconv.ParseFloat(string(id), 64); err == nil && math.Abs(f) <= 1<<53 && f == math.Trunc(f) {
		return "n" + strconv.FormatInt(int64(f), 10) // such as 1.0 or 1e3
	}
	return ""
}

// A Message was read once, by [Parse] or [ParseServer], or is one that this program wrote. It is passed on as
// what was read, and never changed.
type Message struct {
	Line []byte // the whole message

	ID     ID // nil if there is none
	Method string
	Params json.RawMessage // nil if there are none

	Result json.RawMessage // of an answer
	Error  json.RawMessage

	// Authorization is the header of the POST that brought the message, "" if there was none.
	Authorization string

	// Mended says what was put right in a message of a server, "" if nothing was.
	Mended string

	doc *jsons.Document
}

// shape has the objects of a message whose members this program reads.
var shape = jsons.Shape{"params": {"_meta": {}}, "result": {"_meta": {}}, "error": {}}

// asked is the shape of what clients send: the results that they answer with are for the server.
var asked = jsons.Shape{"params": {"_meta": {}}}

func message(doc *jsons.Document) *Message {
	m := &Message{
		Line: doc.Text, ID: ID(doc.Value("id")), Params: doc.Value("params"),
		Result: doc.Value("result"), Error: doc.Value("error"), doc: doc,
	}
	m.Method, _ = jsons.Text(doc.Value("method"))
	return m
}

// IsRequest reports whether the message wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification reports whether the message is one that is never answered.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// Value returns the value of a member, nil if there is none. A path leads to a member of the message, of its params,
// result or error, or of the _meta in those.
func (m *Message) Value(path ...string) json.RawMessage { return m.doc.Value(path...) }

// Text returns the text at a path of [Message.Value], "" if there is none.
func (m *Message) Text(path ...string) string {
	text, _ := jsons.Text(m.doc.Value(path...))
	return text
}

// Token returns the token under which a request wants to hear of its progress, nil if there is none.
func (m *Message) Token() ID { return m.id("params", "_meta", "progressToken") }

// Cancels returns the ID of the request that a notification cancels, nil if it names none.
func (m *Message) Cancels() ID { return m.id("params", "requestId") }

// id returns the ID at a path of [Message.Value], nil if there is no legal one.
func (m *Message) id(path ...string) ID {
	if id := ID(m.doc.Value(path...)); id.Key() != "" {
		return id
	}
	return nil
}

// IsError reports whether the message is the answer of a tool that says that it has failed.
func (m *Message) IsError() bool { return string(m.doc.Value("result", "isError")) == "true" }

// Code returns the code of the error of an answer, false if it has none.
func (m *Message) Code() (code int64, ok bool) {
	code, err := strconv.ParseInt(string(m.doc.Value("error", "code")), 10, 64)
	return code, err == nil
}

// Wire returns the error of an answer, nil if it lacks the code or the message.
func (m *Message) Wire() *jsonrpc.Error {
	code, coded := m.Code()
	said, ok := jsons.Text(m.doc.Value("error", "message"))
	if !coded || !ok {
		return nil
	}
	return &jsonrpc.Error{Code: code, Message: strings.ToValidUTF8(said, "\ufffd"), Data: m.doc.Value("error", "data")}
}

// With returns the message with another value at a path of [Message.Value]. The rest keeps its bytes. Without
// such a member it returns the message itself.
func (m *Message) With(value []byte, path ...string) *Message {
	doc := m.doc.With(value, path...)
	if doc == m.doc {
		return m
	}
	cp := message(doc)
	cp.Authorization = m.Authorization
	return cp
}

// WithToken returns a request of a client, which has parameters, that wants to hear of its progress under a token. The
// rest keeps its bytes. A request that has a token is returned itself.
func (m *Message) WithToken(token ID) *Message {
	meta, named := m.Value("params", "_meta"), jsons.Member{Name: "progressToken", Value: token}
	var line []byte
	switch {
	case m.Value("params", "_meta", "progressToken") != nil:
		return m
	case meta == nil:
		line = m.doc.With(added(m.Params, jsons.Member{Name: "_meta", Value: jsons.Written(named)}), "params").Text
	default:
		line = m.doc.With(added(meta, named), "params", "_meta").Text
	}
	doc, err := jsons.Tolerant(line, asked)
	if err != nil { // cannot be: it was read before
		return m
	}
	cp := message(doc)
	cp.Authorization = m.Authorization
	return cp
}

// added returns an object with one more member.
func added(object []byte, m jsons.Member) []byte {
	rest, last := bytes.TrimRight(object[:len(object)-1], " \t\r\n"), jsons.Written(m)[1:]
	if len(rest) > 1 {
		rest = append(slices.Clip(rest), ',')
	}
	return slices.Concat(rest, last)
}

// Failed returns an answer with an error. A nil ID is null.
func Failed(id ID, err *jsonrpc.Error) *Message {
	failed := []jsons.Member{{Name: "code", Value: strconv.AppendInt(nil, err.Code, 10)}, {Name: "message", Value: jsons.Quoted(err.Message)}}
	if len(err.Data) > 0 && json.Valid(err.Data) {
		failed = append(failed, jsons.Member{Name: "data", Value: err.Data})
	}
	return written(jsons.Member{Name: "id", Value: orNull(id)}, jsons.Member{Name: "error", Value: jsons.Written(failed...)})
}

// Answered returns an answer with a result, which is valid JSON.
func Answered(id ID, result json.RawMessage) *Message {
	return written(jsons.Member{Name: "id", Value: orNull(id)}, jsons.Member{Name: "result", Value: result})
}

// Request returns a request, or a notification if there is no ID.
func Request(id ID, method string, params json.RawMessage) *Message {
	return written(jsons.Member{Name: "id", Value: id}, jsons.Member{Name: "method", Value: jsons.Quoted(method)}, jsons.Member{Name: "params", Value: params})
}

// Cancelled returns the notification that a request needs no answer any more.
func Cancelled(id ID, reason string) *Message {
	params := jsons.Written(jsons.Member{Name: "requestId", Value: id}, jsons.Member{Name: "reason", Value: jsons.Quoted(reason)})
	return Request(nil, "notifications/cancelled", params)
}

// written returns a message of valid members. One that is not valid, which cannot be, has no members.
func written(members ...jsons.Member) *Message {
	line := jsons.Written(append([]jsons.Member{{Name: "jsonrpc", Value: []byte(`"2.0"`)}}, members...)...)
	doc, err := jsons.Tolerant(line, shape)
	if err != nil {
		return &Message{Line: line}
	}
	return message(doc)
}

// TextID returns the ID that is a text.
func TextID(text string) ID { return ID(jsons.Quoted(text)) }

// RandomID returns an ID of 31 bits: some servers keep no larger numbers.
func RandomID() ID {
	var bits [4]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return NumberID(int64(binary.BigEndian.Uint32(bits[:]) >> 1))
}

// NumberID returns the ID that is a number.
func NumberID(n int64) ID { return ID(strconv.AppendInt(nil, n, 10)) }

func orNull(id ID) []byte {
	if id == nil {
		return []byte("null")
	}
	return id
}

// Spelled returns the number that an ID spells as a text, nil if it is not such a text.
func (id ID) Spelled() ID {
	text, ok := jsons.Text(json.RawMessage(id))
	if n, err := strconv.ParseInt(text, 10, 64); ok && err == nil && strconv.FormatInt(n, 10) == text {
		return NumberID(n)
	}
	return nil
}
