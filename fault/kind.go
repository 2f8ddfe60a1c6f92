package fault

import (
	"strings"

	"github.com/mcpchain/mcpchain/internal/words"
)

// Kind says what sort of failure a fault is, as it stands on the wire. The set
// is open: a program adds its own, such as Kind("deployment_in_progress").
//
// A Kind is an error, so that errors.Is(err, fault.KindNotFound) works.
type Kind string

// The kinds known by name. They are part of the wire form and never change.
const (
	KindValidation         Kind = "validation_error"    // the arguments are wrong
	KindNotFound           Kind = "not_found"           // what was asked for does not exist
	KindAlreadyExists      Kind = "already_exists"      // what was to be made exists
	KindUnauthenticated    Kind = "unauthenticated"     // nobody knows who is calling
	KindPermissionDenied   Kind = "permission_denied"   // the caller may not do this
	KindRateLimited        Kind = "rate_limited"        // too many calls
	KindTimeout            Kind = "timeout"             // it took too long
	KindCancelled          Kind = "cancelled"           // somebody stopped it
	KindConnectionFailed   Kind = "connection_failed"   // a connection could not be made or broke
	KindServiceUnavailable Kind = "service_unavailable" // a service that is needed is down
	KindServerError        Kind = "server_error"        // a service that is needed failed
	KindClientError        Kind = "client_error"        // the call cannot succeed as it is
	KindConflict           Kind = "conflict"            // the state forbids it, or somebody else was faster
	KindPreconditionFailed Kind = "precondition_failed" // something else must be done first
	KindInternal           Kind = "internal_error"      // a bug or an unknown failure in this server
)

// KindTool marks a failure that a tool told in its own words, with a result
// whose IsError is set and no error; nothing more is known about it.
const KindTool Kind = "tool_error"

// Error returns the kind as it stands on the wire.
func (k Kind) Error() string { return string(k) }

// Label returns the words that open the text of a fault of this kind, such as
// "Rate limited". The label of a kind of your own is made from its name.
func (k Kind) Label() string {
	if g, ok := generic[k]; ok {
		return g.label
	}
	name := strings.FieldsFunc(words.Cut(string(k), maxName), func(r rune) bool { return r == '_' || r == ' ' })
	if len(name) == 0 {
		return generic[KindInternal].label
	}
	return words.Capital(strings.Join(name, " "))
}

// kindText is what can be said about a failure of which only the kind is known.
type kindText struct {
	label, message, suggestion string
}

var generic = map[Kind]kindText{
	KindValidation:         {"Validation Error", "the arguments of this call are not valid", "Compare the arguments with the tool's input schema, correct them and call again."},
	KindNotFound:           {"Not found", "the requested item does not exist", "Check the name or identifier; if a tool lists what exists, call it first."},
	KindAlreadyExists:      {"Already exists", "an item with this identifier exists already", "Choose another identifier, or use the item that exists."},
	KindUnauthenticated:    {"Not authenticated", "this call needs valid credentials", "Ask the user to sign in or to renew the credentials, then call again."},
	KindPermissionDenied:   {"Permission denied", "this call is not permitted", "Do not repeat the call; ask the user to obtain the permission or to choose another way."},
	KindRateLimited:        {"Rate limited", "too many calls were made in a short time", "Wait before the next call and make fewer calls."},
	KindTimeout:            {"Timeout", "the operation did not finish in time", "Ask for less at a time if the tool allows it. If the call changes something, check first whether it took effect."},
	KindCancelled:          {"Cancelled", "the operation was cancelled before it finished", ""},
	KindConnectionFailed:   {"Connection failed", "a service that is needed could not be reached", "This is usually temporary and not caused by the arguments."},
	KindServiceUnavailable: {"Service unavailable", "a service that is needed is not available now", "This is usually temporary and not caused by the arguments."},
	KindServerError:        {"Server error", "a service that is needed failed to answer properly", ""},
	KindClientError:        {"Client error", "this call cannot succeed as it is", "Change the arguments before you call again."},
	KindConflict:           {"Conflict", "the current state does not allow this operation", "Read the current state, then decide whether to call again."},
	KindPreconditionFailed: {"Precondition failed", "something else must be done before this call can succeed", ""},
	KindInternal:           {"Internal error", "the server failed unexpectedly and could not complete this call", ""},
	KindTool:               {"Tool error", "the tool reported a failure", ""},
}

var genericFaults = func() map[Kind]*Error {
	faults := make(map[Kind]*Error, len(generic))
	for kind, g := range generic {
		faults[kind] = New(kind, g.message).Suggest(g.suggestion)
	}
	faults[KindInternal] = faults[KindInternal].
		Step("Tell the user and give them the reference, so that the operator of the server can find the cause.", "", nil)
	return faults
}()

// Generic returns the fault that says of a failure only what its kind says: a
// public text that suits every failure of the kind. For a kind that is not known
// by name the text is the kind's own words.
func Generic(kind Kind) *Error {
	if e, ok := genericFaults[kind]; ok {
		return e
	}
	return New(kind, "the call failed")
}
