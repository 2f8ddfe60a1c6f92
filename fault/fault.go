// Package fault is the error model: what went wrong, for the caller, for a program, and
// for the operator.
//
// An [Error] has a public part and a private cause. The caller reads the public part, and
// it goes on the wire. Only the operator's log prints the cause. They are different fields:
// Error returns the public text, so a fault that reaches a client by another way shows
// nothing private.
//
//	var errLocked = fault.New(fault.KindConflict, "the invoice is locked").WithCode("INVOICE_LOCKED")
//
//	func load(id string) (*Invoice, error) {
//		inv, err := db.Find(id)
//		if errors.Is(err, sql.ErrNoRows) {
//			return nil, fault.NotFound("invoice", id, db.IDs()...).Because(err)
//		}
//		if inv.Locked {
//			return nil, errLocked.After(30 * time.Second).
//				Step("See who holds the lock", "get_lock", map[string]any{"invoice": id})
//		}
//		return inv, nil
//	}
//
// Every builder returns a changed copy. So a package-level fault is safe to build on, and
// goroutines may share a fault. Builders and accessors accept a nil *Error: builders return
// nil, accessors zero values.
//
// The package does not know the Model Context Protocol. Package middleware puts faults on
// the wire.
package fault

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/kinds"
)

// An Error is a failure that may be shown to a caller. It is immutable. Make one
// with [New] or one of the constructors named after what went wrong.
//
// errors.Is(err, kind) reports whether err holds a fault of that [Kind].
// errors.Is(err, other) reports whether err holds a fault with other's kind and code.
type Error struct {
	data    Data
	cause   error
	general bool // the suggestion is the general one of the kind
	refused bool // Unavailable made it, which says that nothing was done
	derived bool // no handler says it of its whole call, so its kind does not say that nothing was done

	withheld *correction // instead of CorrectedArguments, if a value in it must not be shown
}

// New returns a fault of the given kind. The message is public: one sentence
// about what failed, without a label, that the caller may read.
func New(kind Kind, message string) *Error {
	if kind == "" {
		kind = KindInternal
	}
	return &Error{data: Data{Type: kind, Message: message}}
}

// Error returns the complete public text: what failed, whether to retry, what to do next, and the
// reference if there is one. It never contains anything of the cause.
func (e *Error) Error() string {
	if e == nil {
		return ""
	}
	return e.data.text(e.tries(), true)
}

// Text returns the text of Error without the line with the reference.
func (e *Error) Text() string {
	if e == nil {
		return ""
	}
	return e.data.text(e.tries(), false)
}

// Unwrap returns the private cause, or nil.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.cause
}

// Is reports whether the target is e's [Kind], or a fault with e's kind and code.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch t := target.(type) {
	case Kind:
		return t == e.data.Type
	case *Error:
		return t != nil && t.data.Type == e.data.Type && t.data.Code == e.data.Code
	default:
		return false
	}
}

// public returns the public part of e, which is empty for a nil fault. It is only read.
func (e *Error) public() *Data {
	if e == nil {
		return &nothing
	}
	return &e.data
}

var nothing Data

// Kind returns the kind, or "" for a nil fault.
func (e *Error) Kind() Kind { return e.public().Type }

// Code returns the code for programs, such as "INVOICE_LOCKED", or "".
func (e *Error) Code() string { return valid(e.public().Code) }

// Message returns the public sentence without its label, or "" for a nil fault.
func (e *Error) Message() string { return valid(e.public().Message) }

// Suggestion returns what the caller could do differently, or "".
func (e *Error) Suggestion() string { return valid(e.public().Suggestion) }

// Retry returns what the fault says about repeating the call. It is false if the fault says
// nothing, as most do until a middleware adds it.
func (e *Error) Retry() (Retry, bool) {
	said := e.public().Retry
	if said == nil {
		return Retry{}, false
	}
	retry := *said
	retry.Reason, retry.Fact = valid(retry.Reason), valid(retry.Fact)
	return retry, true
}

// Reference returns the correlation ID, or "". The record with this ID in the operator's log has
// the whole failure.
func (e *Error) Reference() string { return valid(e.public().ReferenceID) }

// Because returns a copy with a private cause. errors.Is, errors.As and Unwrap reach the cause, and
// only the log prints it. A second cause is joined to the first.
func (e *Error) Because(cause error) *Error {
	return e.change(func(c *Error) {
		if cause != nil {
			c.cause = joinCauses(c.cause, cause)
		}
	})
}

// Suggest returns a copy with the given suggestion: one or two sentences that
// say what the caller could do differently. An empty text removes it.
func (e *Error) Suggest(text string) *Error {
	return e.change(func(c *Error) { c.data.Suggestion, c.general = text, false })
}

// WithMessage returns a copy with another public sentence.
func (e *Error) WithMessage(message string) *Error {
	return e.change(func(c *Error) { c.data.Message = message })
}

// WithCode returns a copy with a code for programs, such as "INVOICE_LOCKED".
func (e *Error) WithCode(code string) *Error {
	return e.change(func(c *Error) { c.data.Code = code })
}

// With returns a copy with one more public detail. The value is stored as encoding/json would write
// it now, within bounds; what cannot be written is replaced by a text that says so. The value of a
// key that names a secret, here or deeper in the value, is hidden. An error in the value becomes
// its public text or nothing.
func (e *Error) With(key string, value any) *Error {
	return e.change(func(c *Error) {
		details := make(map[string]any, len(c.data.Details)+1)
		maps.Copy(details, c.data.Details)
		details[valid(key)] = plainMember(key, value)
		c.data.Details = details
	})
}

// Needs returns a copy that names the permissions that the caller lacks, such as the scopes of
// its token; none removes them. Over HTTP with a bearer token, a client can be asked to obtain
// missing scopes and to send the call again, see package transport. So return such a fault only
// before the call has changed something.
func (e *Error) Needs(permissions ...string) *Error {
	return e.change(func(c *Error) { c.data.RequiredPermission = strings.Join(permissions, ", ") })
}

// Party returns the party to blame, "" if the fault names none.
func (e *Error) Party() Party { return e.public().Party }

// WithParty returns a copy that names the party to blame; "" removes it.
func (e *Error) WithParty(party Party) *Error {
	return e.change(func(c *Error) { c.data.Party = party.known() })
}

// After returns a copy that says that the call may be repeated after d. With zero or less it names
// no time. On a fault with a cause it is about the step that failed: the caller of a tool that may
// write then reads only the wait.
func (e *Error) After(d time.Duration) *Error {
	return e.change(func(c *Error) {
		retry, _ := c.Retry()
		if !retry.ShouldRetry {
			retry.Reason = "" // it said why not to repeat the call
		}
		retry.Unknown = false
		retry.ShouldRetry, retry.RetryAfterSeconds = true, max(0, d).Seconds()
		c.data.Retry = &retry
	})
}

// Never returns a copy that says that the call must not be repeated, and why. It drops the general
// suggestion of the kind.
func (e *Error) Never(reason string) *Error {
	return e.change(func(c *Error) {
		retry, _ := c.Retry()
		retry = Retry{MaxAttempts: retry.MaxAttempts, Reason: reason, Effect: retry.Effect, Partial: retry.Partial}
		c.data.Retry = &retry
		c.specific()
	})
}

// WithRetry returns a copy with the given statement about repeating the call.
func (e *Error) WithRetry(retry Retry) *Error {
	return e.change(func(c *Error) { retry := retry.plain(); c.data.Retry = &retry })
}

// Step returns a copy with one more recovery step: what to do, and, for a call, the tool and its
// parameters. An empty tool means that the step is not a call of this server. If required
// parameters are missing, the step names them when it is sent, for the caller to fill in. A server
// leaves out the tool and the parameters if its caller cannot make that call; see package
// middleware. Step drops the general suggestion of the kind.
func (e *Error) Step(action, tool string, parameters map[string]any) *Error {
	return e.WithSteps(Step{Action: action, Tool: tool, Parameters: parameters})
}

// WithSteps returns a copy with more recovery steps, for those that [Error.Step] cannot say: with
// choices, a description, or parameters for the caller to fill in. Their numbers continue those of
// the existing steps; the Number of the given steps is ignored. WithSteps drops the general
// suggestion of the kind.
func (e *Error) WithSteps(steps ...Step) *Error {
	return e.change(func(c *Error) {
		all := slices.Clip(c.data.RecoverySteps)
		for _, s := range steps {
			s = s.mapped(valid, plainMember)
			s.Number = len(all) + 1
			all = append(all, s)
		}
		c.data.RecoverySteps = all
		if len(steps) > 0 {
			c.specific()
		}
	})
}

func (e *Error) withReference(id string) *Error {
	return e.change(func(c *Error) { c.data.ReferenceID = id })
}

func (e *Error) scrubbedBy(scrubber func(string) string) *Error {
	if e == nil {
		return nil
	}
	changed := false
	text := func(s string) string {
		t := scrubber(s)
		changed = changed || t != s
		return valid(t)
	}
	data := e.data.mapped(text, func(_ string, v any) any { return mapValue(v, text) })
	whole := e.correction()
	shown := whole.mapped(text)
	if !changed {
		return e
	}
	scrubbed := &Error{data: data, cause: e.cause}
	scrubbed.showOnly(shown, whole)
	return scrubbed
}

func (e *Error) corrected(tool string, arguments map[string]any) *Error {
	return e.change(func(c *Error) { c.correct(correction{tool, arguments}) })
}

func (e *Error) hidingBy(scrubber func(string) string) *Error {
	return e.change(func(c *Error) {
		whole := c.correction()
		c.showOnly(whole.mapped(func(s string) string { return valid(scrubber(s)) }), whole)
	})
}

// specific drops the general suggestion of the kind, because this failure has a better one.
func (e *Error) specific() {
	if e.general {
		e.data.Suggestion, e.general = "", false
	}
}

// refuses reports whether a handler that returns e says that it has done nothing: by the function
// that made it, or by its kind. A temporary failure with a cause is about a step that failed: the
// handler may have done something in that step or before it.
func (e *Error) refuses() bool {
	if e == nil || e.derived {
		return false
	}
	row := kinds.Of(string(e.data.Type))
	return row.Refuses && row.Final || e.cause == nil && (row.Refuses || e.refused)
}

func (e *Error) asDerived() *Error {
	return e.change(func(e *Error) { e.derived, e.data.Retry = true, waitOf(e.data.Retry) })
}

// waitOf returns what r says of a call whose effect is unknown: only how long to wait, not to call again.
func waitOf(r *Retry) *Retry {
	switch {
	case r == nil || !r.ShouldRetry || r.Effect != "":
		return r
	case r.RetryAfterSeconds > 0:
		return &Retry{Unknown: true, RetryAfterSeconds: r.RetryAfterSeconds}
	default:
		return nil
	}
}

// change returns a copy of e to which f was applied. f must not write to what the copy shares with
// e. change is small enough to be inlined, like its callers, which keeps intermediate copies off
// the heap.
func (e *Error) change(f func(*Error)) *Error {
	if e == nil {
		return nil
	}
	c := *e
	f(&c)
	return &c
}
