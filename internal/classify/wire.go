package classify

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// FromMeta reads the machine form from a result's _meta: the value that a
// server put there, or what arrived at a client.
func FromMeta(meta mcp.Meta) (*fault.Error, bool) {
	switch v := meta[wire.ErrorKey].(type) {
	case nil:
		return nil, false
	case *fault.Error:
		return v, v != nil
	default:
		raw, _ := safe.JSON(v)
		return FromJSON(raw)
	}
}

// FromJSON reads the machine form of a failure.
func FromJSON(raw []byte) (*fault.Error, bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var e fault.Error
	if err := e.UnmarshalJSON(raw); err != nil || e.Message() == "" {
		return nil, false
	}
	return &e, true
}

// FromWire reads a protocol error.
func FromWire(e *jsonrpc.Error) *fault.Error {
	if public, ok := FromJSON(e.Data); ok {
		return public
	}
	if e.Code == jsonrpc.CodeInvalidParams && notFound(e) {
		return fault.New(fault.KindNotFound, e.Message)
	}
	kind, ok := wireKinds[e.Code]
	if !ok {
		kind = fault.KindServerError
	}
	return fault.New(kind, e.Message)
}

// notFound reports whether a protocol error with the code of wrong parameters says
// that a resource, a tool or a prompt does not exist, as the 2026-07-28
// specification and go-sdk v1.8 do.
func notFound(e *jsonrpc.Error) bool {
	var data struct {
		URI string `json:"uri"`
	}
	return strings.HasPrefix(e.Message, `unknown tool "`) || strings.HasPrefix(e.Message, `unknown prompt "`) ||
		json.Unmarshal(e.Data, &data) == nil && data.URI != ""
}

// wireKinds tells the kind by the code where the data do not tell it.
var wireKinds = map[int64]fault.Kind{
	jsonrpc.CodeInvalidParams:                 fault.KindValidation,
	jsonrpc.CodeInvalidRequest:                fault.KindClientError,
	jsonrpc.CodeParseError:                    fault.KindClientError,
	jsonrpc.CodeMethodNotFound:                fault.KindNotFound,
	jsonrpc.CodeInternalError:                 fault.KindInternal,
	-32002:                                    fault.KindNotFound, // resource not found, until 2025-11-25
	mcp.CodeURLElicitationRequired:            fault.KindPreconditionFailed,
	mcp.CodeMissingRequiredClientCapabilities: fault.KindClientError,
	mcp.CodeUnsupportedProtocolVersion:        fault.KindClientError,
	403:                                       fault.KindPermissionDenied,
	404:                                       fault.KindNotFound,
	409:                                       fault.KindConflict,
	429:                                       fault.KindRateLimited,
	499:                                       fault.KindCancelled,
	503:                                       fault.KindServiceUnavailable,
	504:                                       fault.KindTimeout,
}

// ofWire returns what a protocol error means that another server answered. The codes of
// HTTP that applications use mean what they mean there.
func ofWire(e *jsonrpc.Error) clue {
	if public, ok := FromJSON(e.Data); ok {
		f := Finding{Fault: public}
		return f.said()
	}
	switch code := e.Code; {
	case code == jsonrpc.CodeInvalidParams && !notFound(e):
		return wrongRequest
	case code == jsonrpc.CodeMethodNotFound, code == jsonrpc.CodeInvalidRequest, code == jsonrpc.CodeParseError:
		return unimplemented
	case code == 499:
		return stopped
	case isFailure(int(code)):
		return statusClue(int(code))
	case code == jsonrpc.CodeInvalidParams, wireKinds[code] == fault.KindNotFound:
		return missing
	default:
		return failed
	}
}

// codeRejected is the code of what go-sdk v1.8 wraps the errors of a transport with.
const codeRejected = -32005
