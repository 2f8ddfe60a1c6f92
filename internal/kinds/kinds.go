// Package kinds is the one table of the kinds of failures. A row has the text of a failure of which
// only the kind is known, the codes, the outcome, whether to try again, and the party to blame.
package kinds

import "slices"

// A Retry says whether a second try can succeed, as far as the kind decides it.
type Retry uint8

// The answers of a kind.
const (
	Unknown Retry = iota // a conflict, a tool's own words, a kind of the program's own
	Yes
	No
)

// A Row holds everything that a kind decides.
type Row struct {
	Kind string

	Label      string // opens the text of a failure: "Rate limited"
	Message    string // a sentence that is true of every failure of the kind, without a full stop
	Suggestion string // what to do about it, or ""

	Code   int64 // of JSON-RPC: the 2026-07-28 specification closes -32768 to -32000 to applications
	Legacy int64 // the code of the older table that some clients know

	Arrives []int64 // the codes of foreign protocol errors that mean this kind, if their data does not name one

	Outcome string // how the record in the log sums up the call

	Retry  Retry
	Reason string // why a repetition does not help, a sentence without a full stop, or ""
	Again  string // the same if nothing else is known, or ""
	Final  bool   // no private cause makes a second try worth while

	// Refuses means that a handler that returns a fault of this kind has refused the call and done
	// nothing. The kind of any other error says nothing about an effect.
	Refuses bool

	Party string // the party to blame: "caller", "server", "upstream", or "" if the kind does not decide it
}

// Known reports whether the kind is in the table.
func Known(kind string) bool { return Of(kind) != &open }

// Of returns the row of a kind, which must not be written to. The row of a kind that is not in
// the table has no kind, no label and no message.
//
//go:noinline
func Of(kind string) *Row { // in too many places to be inlined
	for i := range table {
		if table[i].Kind == kind {
			return &table[i]
		}
	}
	return &open
}

// All yields every kind in the table.
func All(yield func(kind string, row *Row) bool) {
	for i := range table {
		if !yield(table[i].Kind, &table[i]) {
			return
		}
	}
}

// CodeOf returns the JSON-RPC code of a failure of a kind. again means that the call may be repeated:
// for an open kind only the code can say that.
func CodeOf(kind string, legacy, again bool) int64 {
	row := Of(kind)
	switch {
	case legacy:
		return row.Legacy
	case row == &open && again:
		return later
	default:
		return row.Code
	}
}

// OfCode returns the kind of a protocol error that arrives with a code, "" for a code without a
// kind.
func OfCode(code int64) string {
	for i := range table {
		if slices.Contains(table[i].Arrives, code) {
			return table[i].Kind
		}
	}
	return ""
}

// Unsupported reports whether a code means that the other side does not know the request.
func Unsupported(code int64) bool {
	return code == parseError || code == invalidRequest || code == methodNotFound
}

// Steers reports whether a protocol error with this code tells a client what to do next.
func Steers(code int64) bool {
	return code == urlElicitation || code == missingCapability || code == unsupportedVersion
}

// Rejected is the code of the error in which go-sdk v1.8 wraps the errors of a transport. The SDK
// does not export it, see https://github.com/modelcontextprotocol/go-sdk/pull/723.
const Rejected = -32005

// later is the code of a failure of an open kind whose call may be repeated.
const later = 503

// The codes of JSON-RPC and of MCP. Applications may use those of HTTP.
const (
	parseError         = -32700
	invalidRequest     = -32600
	methodNotFound     = -32601
	invalidParams      = -32602
	internalError      = -32603
	resourceNotFound   = -32002 // until 2025-11-25
	missingCapability  = -32021
	unsupportedVersion = -32022
	urlElicitation     = -32042
)

// The results of a repetition.
const (
	failsAgain   = "The same call will fail again"
	failsTheSame = "The same call will fail again unless something changes"
)

// open is the row of a program's own kind.
var open = Row{Code: 409, Legacy: 409, Outcome: "tool_error"}

// table is a list, which the compiler lays out; code would fill a map at each start.
var table = []Row{
	{
		Kind: "validation_error", Label: "Validation Error", Message: "the arguments of this call are not valid",
		Suggestion: "Correct the arguments and call again.",
		Code:       invalidParams, Legacy: -32004, Outcome: "validation",
		Arrives: []int64{invalidParams},
		Retry:   No, Final: true, Refuses: true, Party: "caller",
	},
	{
		Kind: "not_found", Label: "Not found", Message: "the requested item does not exist",
		Suggestion: "Check the name. If a tool lists what exists, call it first.",
		Code:       invalidParams, Legacy: -32000, Outcome: "not_found",
		Arrives: []int64{resourceNotFound, methodNotFound, 404},
		Retry:   No, Final: true, Party: "caller",
		Again: failsAgain,
	},
	{
		Kind: "already_exists", Label: "Already exists", Message: "an item with this identifier exists already",
		Suggestion: "Choose another identifier, or use the item that exists.",
		Code:       409, Legacy: 409, Outcome: "conflict",
		Retry: No, Final: true, Party: "caller",
		Again: failsAgain,
	},
	{
		Kind: "unauthenticated", Label: "Not authenticated", Message: "this call needs valid credentials",
		Suggestion: "Ask the user to sign in or to renew the credentials, then call again.",
		Code:       403, Legacy: -32001, Outcome: "denied",
		Retry: No, Final: true, Refuses: true, Party: "caller",
	},
	{
		Kind: "permission_denied", Label: "Permission denied", Message: "this call is not permitted",
		Suggestion: "Ask the user to obtain the permission or to choose another way.",
		Code:       403, Legacy: -32001, Outcome: "denied",
		Arrives: []int64{403},
		Retry:   No, Final: true, Refuses: true, Party: "caller",
	},
	{
		Kind: "rate_limited", Label: "Rate limited", Message: "too many calls were made in a short time",
		Suggestion: "Make fewer calls.",
		Code:       429, Legacy: -32002, Outcome: "rate_limited",
		Arrives: []int64{429},
		Retry:   Yes, Refuses: true,
		Again: failsTheSame,
	},
	{
		Kind: "repeated_failure", Label: "Repeated failure", Message: "this call has failed several times and was not made again",
		Code: 508, Legacy: 508, Outcome: "refused", // 508: Loop Detected (RFC 5842)
		Retry: No, Final: true, Refuses: true, Party: "caller",
		Again: failsTheSame,
	},
	{
		Kind: "timeout", Label: "Timeout", Message: "the operation did not finish in time",
		Suggestion: "Ask for less at a time, if the tool allows it.",
		Code:       504, Legacy: -32003, Outcome: "timeout",
		Arrives: []int64{504},
		Retry:   Yes,
		Again:   failsTheSame,
	},
	{
		Kind: "cancelled", Label: "Cancelled", Message: "the operation was cancelled before it finished",
		Code: 499, Legacy: 499, Outcome: "cancelled",
		Arrives: []int64{499},
		Retry:   No, Final: true, Reason: "The call was cancelled",
	},
	{
		Kind: "connection_failed", Label: "Connection failed", Message: "a service that is needed could not be reached",
		Suggestion: "Keep the arguments: they are not the cause.",
		Code:       503, Legacy: -32003, Outcome: "unavailable",
		Retry: Yes, Party: "upstream",
		Again: failsTheSame,
	},
	{
		Kind: "service_unavailable", Label: "Service unavailable", Message: "a service that is needed is not available now",
		Suggestion: "Keep the arguments: they are not the cause.",
		Code:       503, Legacy: -32003, Outcome: "unavailable",
		Arrives: []int64{503},
		Retry:   Yes, Party: "upstream",
		Again: failsTheSame,
	},
	{
		Kind: "server_error", Label: "Server error", Message: "a service that is needed failed to answer properly",
		Code: 503, Legacy: -32003, Outcome: "unavailable",
		Retry: Yes, Party: "upstream",
		Again: failsTheSame,
	},
	{
		Kind: "client_error", Label: "Client error", Message: "this call cannot succeed as it is",
		Suggestion: "Change the arguments before you call again.",
		Code:       invalidParams, Legacy: invalidParams, Outcome: "tool_error",
		Arrives: []int64{invalidRequest, parseError, missingCapability, unsupportedVersion},
		Retry:   No, Reason: "The same call will fail again: change it", Party: "caller",
	},
	{
		Kind: "conflict", Label: "Conflict", Message: "the current state does not allow this operation",
		Suggestion: "Read the current state, then decide whether to call again.",
		Code:       409, Legacy: 409, Outcome: "conflict",
		Arrives: []int64{409},
		Again:   failsTheSame,
	},
	{
		Kind: "precondition_failed", Label: "Precondition failed", Message: "something else must be done before this call can succeed",
		Code: 409, Legacy: 409, Outcome: "conflict",
		Arrives: []int64{urlElicitation},
		Retry:   No,
		Again:   failsTheSame,
	},
	{
		Kind: "internal_error", Label: "Internal error", Message: "the server failed unexpectedly",
		Code: internalError, Legacy: internalError, Outcome: "internal_error",
		Arrives: []int64{internalError},
		Retry:   No, Party: "server",
	},
	{
		Kind: "tool_error", Label: "Tool error", Message: "the tool reported a failure",
		Code: internalError, Legacy: internalError, Outcome: "tool_error",
	},
}
