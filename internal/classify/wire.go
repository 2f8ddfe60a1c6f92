package classify

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// FromMeta reads the machine form from a result's _meta: the Go value in a server, or
// the decoded JSON in a client.
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
	kind := cmp.Or(fault.Kind(kinds.OfCode(e.Code)), fault.KindServerError)
	return fault.New(kind, e.Message)
}

// notFound reports whether a protocol error with the code of wrong parameters means
// that a resource, a tool or a prompt does not exist, as in the 2026-07-28
// specification and in go-sdk v1.8.
func notFound(e *jsonrpc.Error) bool {
	var data struct {
		URI string `json:"uri"`
	}
	return strings.HasPrefix(e.Message, `unknown tool "`) || strings.HasPrefix(e.Message, `unknown prompt "`) ||
		json.Unmarshal(e.Data, &data) == nil && data.URI != ""
}

// ofWire returns the meaning of a protocol error that another server answered. The
// codes of HTTP that applications use mean the same there.
func ofWire(e *jsonrpc.Error) clue {
	if public, ok := FromJSON(e.Data); ok {
		f := Finding{Fault: public}
		return f.said()
	}
	switch code := e.Code; {
	case code == jsonrpc.CodeInvalidParams && !notFound(e):
		return wrongRequest
	case kinds.Unsupported(code):
		return unimplemented
	case code == 499:
		return stopped
	case IsFailure(int(code)):
		return statusClue(int(code))
	case code == jsonrpc.CodeInvalidParams, kinds.OfCode(code) == string(fault.KindNotFound):
		return missing
	default:
		return failed
	}
}
