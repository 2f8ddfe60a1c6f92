package fault

import (
	"strings"

	"github.com/mcpchain/mcpchain/internal/kinds"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Kind is the sort of failure that a fault is, in the form that it has on the wire. The
// set is open: a program adds its own, such as Kind("deployment_in_progress").
//
// A Kind is an error, so that errors.Is(err, fault.KindNotFound) works.
type Kind string

// The predefined kinds. They are part of the wire form and never change.
const (
	KindValidation         Kind = "validation_error"    // the arguments are wrong
	KindNotFound           Kind = "not_found"           // what was asked for does not exist
	KindAlreadyExists      Kind = "already_exists"      // what was to be created exists
	KindUnauthenticated    Kind = "unauthenticated"     // the caller is unknown
	KindPermissionDenied   Kind = "permission_denied"   // the caller may not do this
	KindRateLimited        Kind = "rate_limited"        // too many calls
	KindRepeatedFailure    Kind = "repeated_failure"    // the same call failed too often and was not made again
	KindTimeout            Kind = "timeout"             // it took too long
	KindCancelled          Kind = "cancelled"           // the call was stopped
	KindConnectionFailed   Kind = "connection_failed"   // a connection could not be made or broke
	KindServiceUnavailable Kind = "service_unavailable" // a service that is needed is down
	KindServerError        Kind = "server_error"        // a service that is needed failed
	KindClientError        Kind = "client_error"        // the call cannot succeed as it is
	KindConflict           Kind = "conflict"            // the state forbids it, or another change was faster
	KindPreconditionFailed Kind = "precondition_failed" // something else must be done first
	KindInternal           Kind = "internal_error"      // a bug or an unknown failure in this server
)

// KindTool marks a failure that a tool reported in its own words: its result has IsError set, and
// there is no error.
const KindTool Kind = "tool_error"

// Error returns the kind as it stands on the wire.
func (k Kind) Error() string { return string(k) }

// Label returns the words that open the text of a fault of this kind, such as "Rate
// limited". The label of your own kind is made from its name.
func (k Kind) Label() string {
	if label := kinds.Of(string(k)).Label; label != "" {
		return label
	}
	name := strings.FieldsFunc(words.Cut(string(k), maxName), func(r rune) bool { return r == '_' || r == ' ' })
	if len(name) == 0 {
		return KindInternal.Label()
	}
	return words.Capital(strings.Join(name, " "))
}

// genericFaults holds the faults of [Generic] for the kinds of the table.
var genericFaults = func() map[Kind]*Error {
	faults := map[Kind]*Error{}
	for kind, row := range kinds.All {
		e := New(Kind(kind), row.Message).Suggest(row.Suggestion)
		e.general = true
		faults[Kind(kind)] = e
	}
	return faults
}()

// Generic returns the fault with the general text of its kind, which suits every failure
// of that kind. For a kind of your own it says only that the call failed. The label is made
// from the kind's name.
//
//go:noinline
func Generic(kind Kind) *Error {
	if e, ok := genericFaults[kind]; ok {
		return e
	}
	return New(kind, "the call failed")
}
