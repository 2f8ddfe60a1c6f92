package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// unread says why a message was not read, in words of ours: the SDK's words repeat what the client sent, and
// name Go types.
type unread struct {
	code  int64
	fault *fault.Error
}

// error returns the answer to the client, with the reference of the record in the log.
func (u unread) error(reference string) *jsonrpc.Error {
	referenced := faults.WithReference(u.fault, reference)
	return &jsonrpc.Error{Code: u.code, Message: referenced.Error(), Data: words.Encode(referenced)}
}

// invalid is for a message that is not valid, or not a request.
func invalid(code int64, reason string) unread {
	return unread{code, fault.New(fault.KindValidation, reason)}
}

// unknownMethod matches the SDK's text about a method that it does not know. It has the name as %q writes it.
var unknownMethod = regexp.MustCompile(`^(?:handling '[^']*': )?(?:JSON RPC not handled|method not found): ("(?:[^"\\]|\\.)*")`)

// methodName matches names that are repeated to the client.
var methodName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.$/-]{0,63}$`)

// unknown is for a text of the SDK about a method that it does not know.
func unknown(text string) (u unread, ok bool) {
	found := unknownMethod.FindStringSubmatch(text)
	if found == nil {
		return unread{}, false
	}
	method := "the method of the request"
	name, err := strconv.Unquote(found[1])
	if err == nil && methodName.MatchString(name) && scrub.Credentials(name) == name {
		method = "the method '" + name + "'"
	}
	return unread{jsonrpc.CodeMethodNotFound, fault.New(fault.KindNotFound, "this server does not have "+method)}, true
}

// noBatches is the first version of the protocol without batches.
const noBatches = "2025-06-18"

// refused returns why the SDK did not take a body. text is the SDK's own.
func refused(body []byte, version, text string) unread {
	if u, ok := unknown(text); ok {
		return u
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return invalid(jsonrpc.CodeParseError, "the body is empty")
	}
	code, reason := broken(body, "body")
	switch {
	case code != 0:
	case body[0] == '[' && version >= noBatches:
		code, reason = jsonrpc.CodeInvalidRequest, "batches are not supported since version "+noBatches
	default:
		code, reason = jsonrpc.CodeInvalidRequest, "the server does not take such a message"
		if wrong := noRequest(body); wrong != "" {
			reason = wrong
		}
	}
	return invalid(code, reason)
}

// broken returns what is wrong with a message or a batch, and the error code; 0 if nothing is. what is
// "body" or "line".
func broken(message []byte, what string) (code int64, reason string) {
	if !json.Valid(message) {
		return jsonrpc.CodeParseError, "the " + what + " is no JSON"
	}
	if message[0] != '[' {
		if reason := noMessage(message); reason != "" {
			return jsonrpc.CodeInvalidRequest, "the " + what + " is no JSON-RPC message: " + reason
		}
		return 0, ""
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(message, &batch); err != nil || len(batch) == 0 {
		return jsonrpc.CodeInvalidRequest, "the batch is empty"
	}
	for i, one := range batch {
		if reason := noMessage(one); reason != "" {
			return jsonrpc.CodeInvalidRequest, fmt.Sprintf("item %d of the batch is no JSON-RPC message: %s", i+1, reason)
		}
	}
	return 0, ""
}

// noMessage returns why JSON is not a message, "" if the SDK takes it for one.
func noMessage(message json.RawMessage) string {
	if _, err := jsonrpc.DecodeMessage(message); err == nil {
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil || members == nil {
		return "it is no object"
	}
	is := func(name, first string) bool {
		value := members[name]
		return len(value) == 0 || strings.IndexByte(first, value[0]) >= 0
	}
	var version string
	switch {
	case json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0":
		return `"jsonrpc" is not "2.0"`
	case !is("id", `"-0123456789n`):
		return `"id" is neither a string nor a number`
	case !is("method", `"`):
		return `"method" is no string`
	case !is("error", `{n`):
		return `"error" is no object`
	case len(members["method"]) == 0 && (len(members["id"]) == 0 || string(members["id"]) == "null"):
		return `it has neither "method" nor "id"`
	default:
		return "its members are not what they should be"
	}
}

// isNone reports whether a message is neither a request nor a notification nor an answer.
func isNone(message []byte) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(message, &members) == nil && members["method"] == nil && members["result"] == nil && members["error"] == nil
}

// noRequest returns why the SDK may have refused a single message, "" if that is unknown.
func noRequest(body []byte) string {
	decoded, err := jsonrpc.DecodeMessage(body)
	request, ok := decoded.(*jsonrpc.Request)
	switch notification := ok && strings.HasPrefix(request.Method, "notifications/"); {
	case err != nil || !ok:
		return ""
	case notification && request.IsCall():
		return `a notification has no "id"`
	case !notification && !request.IsCall():
		return `the request has no "id"`
	case len(request.Params) == 0 || string(request.Params) == "null":
		return `the request has no "params"`
	}
	return ""
}

// idOf returns the ID of a single message, null if an answer cannot have it.
func idOf(body []byte) json.RawMessage {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(body, &message) == nil && len(message.ID) > 0 && len(message.ID) <= maxID {
		if strings.IndexByte(`"-0123456789`, message.ID[0]) >= 0 {
			return message.ID
		}
	}
	return json.RawMessage("null")
}

// maxID bounds an ID that is sent back.
const maxID = 256

// encodeError returns the answer to a message.
func encodeError(id json.RawMessage, e *jsonrpc.Error) []byte {
	return words.Encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, e})
}
