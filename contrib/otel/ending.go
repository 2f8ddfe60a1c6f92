package otel

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// An ending is how a call ended.
type ending struct {
	fault     *fault.Error // nil for a success, for a JSON-RPC error that mcpchain did not make, and if nothing was returned
	code      string       // that of a JSON-RPC error, "" for none
	errorType string       // "" for what is no failure by the conventions
	failed    bool         // the status of the span is an error
	attempts  int          // how often the handler was run, 0 for once
}

// endOf reads an ending from an answer.
func (t *tracer) endOf(ctx context.Context, res mcp.Result, err error) ending {
	f, failed := middleware.FaultOf(res, err)
	end := ending{attempts: attemptsOf(res)}
	if !failed {
		return end
	}
	end.fault = f
	end.failed = servers(f)
	code, ok := int64(0), false
	if err != nil {
		code, ok = codeOf(err)
	}
	if ok {
		end.code = strconv.FormatInt(code, 10)
		end.failed = end.failed && !callersCode(code)
		if t.kind == trace.SpanKindServer && f.Reference() == "" {
			// Of a JSON-RPC error that the handler or the SDK made, only the code is used.
			end.fault, end.failed = nil, !callersCode(code)
		}
	}
	switch {
	case t.kind == trace.SpanKindClient:
		end.failed = true
	case errors.Is(ctx.Err(), context.Canceled):
		end.failed = false // nobody waits for the answer
	}
	switch {
	case err == nil:
		end.errorType = toolError
	case !end.failed:
	case ok:
		end.errorType = boundedCode(code, otherErrorType)
	default:
		end.errorType = kindOf(f, otherErrorType)
	}
	return end
}

// callersCode reports whether the code of a JSON-RPC error does not blame the server: by
// the conventions, because MCP asks the caller for something with it, or as a code 4xx of
// HTTP.
func callersCode(code int64) bool {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams,
		-32002, // resource not found, before 2026-07-28
		mcp.CodeURLElicitationRequired, mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapabilities, mcp.CodeUnsupportedProtocolVersion:
		return true
	default:
		return 400 <= code && code <= 499
	}
}

// servers reports whether the server, or a service that it needs, is to blame for a failure.
// If the failure does not say so, a timeout and a failure in a tool's own words are blamed on
// the server.
func servers(f *fault.Error) bool {
	switch f.Party() {
	case fault.PartyCaller:
		return false
	case fault.PartyServer, fault.PartyUpstream:
		return true
	}
	switch f.Kind() {
	case fault.KindTimeout, fault.KindCancelled, fault.KindTool, fault.KindInternal,
		fault.KindConnectionFailed, fault.KindServiceUnavailable, fault.KindServerError:
		return true
	default:
		return false
	}
}

// codeOf returns the code of the JSON-RPC error in err.
func codeOf(err error) (code int64, ok bool) {
	defer func() {
		if recover() != nil { // an untrusted Unwrap or As method
			code, ok = 0, false
		}
	}()
	var wire *jsonrpc.Error
	if errors.As(err, &wire) && wire != nil {
		return wire.Code, true
	}
	return 0, false
}

// boundedCode returns a code as text: those of JSON-RPC and of HTTP, otherwise other.
func boundedCode(code int64, other string) string {
	if code == jsonrpc.CodeParseError || -32699 <= code && code <= -32600 || -32099 <= code && code <= -32000 ||
		400 <= code && code <= 599 {
		return strconv.FormatInt(code, 10)
	}
	return other
}

// kinds are the values of the attribute in metrics. Programs and services can make more
// kinds of their own.
var kinds = []fault.Kind{
	fault.KindValidation, fault.KindNotFound, fault.KindAlreadyExists, fault.KindUnauthenticated, fault.KindPermissionDenied,
	fault.KindRateLimited, fault.KindRepeatedFailure, fault.KindTimeout, fault.KindCancelled, fault.KindConnectionFailed,
	fault.KindServiceUnavailable, fault.KindServerError, fault.KindClientError, fault.KindConflict, fault.KindPreconditionFailed,
	fault.KindInternal, fault.KindTool,
}

// kindOf returns the kind of a failure, or other where it is not one of [kinds].
func kindOf(f *fault.Error, other string) string {
	if slices.Contains(kinds, f.Kind()) {
		return string(f.Kind())
	}
	return other
}

// attemptsOf returns the number of attempts that retry.Server wrote into an answer, 0 if
// there is none.
func attemptsOf(res mcp.Result) int {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil {
		return 0
	}
	switch n := r.Meta[retry.AttemptsKey].(type) {
	case int:
		return n
	case float64:
		return int(n)
	default:
		return 0
	}
}

// attributes are those of the span.
func (e ending) attributes() []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 8)
	if e.attempts > 1 {
		attrs = append(attrs, attribute.Int(attrAttempts, e.attempts))
	}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, attribute.String(key, clean(value, maxName)))
		}
	}
	add(attrErrorType, e.errorType)
	add(attrStatusCode, e.code)
	if e.fault == nil {
		return attrs
	}
	add(attrKind, string(e.fault.Kind()))
	add(attrParty, string(e.fault.Party()))
	add(attrReference, e.fault.Reference())
	if retry, ok := e.fault.Retry(); ok {
		add(attrEffect, string(retry.Effect))
	}
	return attrs
}

// measured are the attributes of a measurement.
func (e ending) measured() []attribute.KeyValue {
	if e.fault == nil && e.errorType == "" {
		return nil
	}
	attrs := make([]attribute.KeyValue, 0, 4)
	if e.errorType != "" {
		attrs = append(attrs, attribute.String(attrErrorType, e.errorType))
	}
	if code, err := strconv.ParseInt(e.code, 10, 64); err == nil {
		attrs = append(attrs, attribute.String(attrStatusCode, boundedCode(code, other)))
	}
	if e.fault != nil {
		attrs = append(attrs, attribute.String(attrKind, kindOf(e.fault, other)))
		if party := e.fault.Party(); party != "" {
			attrs = append(attrs, attribute.String(attrParty, string(party)))
		}
	}
	return attrs
}

// description is that of the status of a failed span.
func (e ending) description(message bool) string {
	switch {
	case e.fault == nil && e.code == "":
		return "the handler did not return"
	case e.fault == nil:
		return ""
	case message:
		return clean(e.fault.Message(), maxDescription)
	default:
		return clean(fault.Generic(e.fault.Kind()).Message(), maxDescription)
	}
}
