package middleware

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
)

// FaultOf reads the failure that a call ended with, given what the call returned.
// It works on a server, in a middleware, and on a client, with what
// ClientSession.CallTool and the other methods return:
//
//	res, err := session.CallTool(ctx, params)
//	if f, failed := middleware.FaultOf(res, err); failed {
//		...
//	}
//
// It reports false for a success. On a server, rules (see mask.Options) have no part
// in it; in a middleware, [Call.Failure] knows them. The failures of servers that know nothing of
// mcpchain are read as well as they allow: the kind from the JSON-RPC code, or
// [fault.KindTool] with the tool's own text.
func FaultOf(res mcp.Result, err error) (*fault.Error, bool) {
	if err != nil {
		return Classify(err), true
	}
	tool, ok := res.(*mcp.CallToolResult)
	if !ok || !isError(res) {
		return nil, false
	}
	if e, ok := faultFromMeta(tool.Meta); ok {
		return e, true
	}
	if err := tool.GetError(); err != nil && !toldApart(tool, err) {
		return Classify(err), true
	}
	return told(tool, finding{}), true
}

// faultFromMeta reads the machine form from a result's _meta: the value that a
// server put there, or what arrived at a client.
func faultFromMeta(meta mcp.Meta) (*fault.Error, bool) {
	switch v := meta[MetaKey].(type) {
	case nil:
		return nil, false
	case *fault.Error:
		return v, v != nil
	case *fault.Data:
		if v == nil {
			return nil, false
		}
		return fault.FromData(*v), true
	case fault.Data:
		return fault.FromData(v), true
	case json.RawMessage:
		return faultFromJSON(v)
	case map[string]any:
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, false
		}
		return faultFromJSON(raw)
	default:
		return nil, false
	}
}

func faultFromJSON(raw []byte) (*fault.Error, bool) {
	if len(raw) == 0 {
		return nil, false
	}
	var e fault.Error
	if err := e.UnmarshalJSON(raw); err != nil || e.Message() == "" {
		return nil, false
	}
	return &e, true
}

// wireFault reads a protocol error.
func wireFault(wire *jsonrpc.Error) *fault.Error {
	if e, ok := faultFromJSON(wire.Data); ok {
		return e
	}
	if wire.Code == jsonrpc.CodeInvalidParams && notFound(wire) {
		return fault.New(fault.KindNotFound, wire.Message)
	}
	kind, ok := wireKinds[wire.Code]
	if !ok {
		kind = fault.KindServerError
	}
	return fault.New(kind, wire.Message)
}

// notFound reports whether a protocol error with the code of wrong parameters says
// that a resource, a tool or a prompt does not exist, as the 2026-07-28
// specification and go-sdk v1.8 do.
func notFound(wire *jsonrpc.Error) bool {
	var data struct {
		URI string `json:"uri"`
	}
	return strings.HasPrefix(wire.Message, `unknown tool "`) || strings.HasPrefix(wire.Message, `unknown prompt "`) ||
		json.Unmarshal(wire.Data, &data) == nil && data.URI != ""
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

// NextSteps returns a copy of a successful result that tells the model what to do
// next: a text block "Next: 1. ..." at the end of the content, and the steps under
// _meta[[StepsKey]]. A nil result is an empty one; without steps the result is
// returned as it is.
//
// The SDK writes the output of a typed handler as text only where the handler's
// result has no content, so a typed handler puts its own text into the result
// before it adds steps.
func NextSteps(res *mcp.CallToolResult, steps ...fault.Step) *mcp.CallToolResult {
	if len(steps) == 0 {
		return res
	}
	var out mcp.CallToolResult
	if res != nil {
		out = *res
	}
	// A fault numbers the steps and makes their values fit for JSON.
	steps = fault.New(fault.KindInternal, "").WithSteps(steps...).Data().RecoverySteps
	out.Content = append(slices.Clone(out.Content), &mcp.TextContent{Text: fault.StepsText(steps)})
	out.Meta = withMeta(out.Meta, StepsKey, steps)
	return &out
}
