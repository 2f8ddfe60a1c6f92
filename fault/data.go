package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"

	"github.com/mcpchain/mcpchain/internal/scrub"
)

// Data is the public part of a fault, in the form that it has on the wire. There, zero values
// are absent, never null.
type Data struct {
	Type               Kind           `json:"type"`
	Message            string         `json:"message"`
	Suggestion         string         `json:"suggestion,omitempty"`
	Code               string         `json:"code,omitempty"`
	Field              string         `json:"field,omitempty"`
	Received           any            `json:"received,omitempty"`
	Expected           string         `json:"expected,omitempty"`
	Examples           []string       `json:"examples,omitempty"`
	Violations         []Violation    `json:"violations,omitempty"`
	ResourceType       string         `json:"resource_type,omitempty"`
	Identifier         string         `json:"identifier,omitempty"`
	SimilarMatches     []string       `json:"similar_matches,omitempty"`
	Action             string         `json:"action,omitempty"`
	Resource           string         `json:"resource,omitempty"`
	RequiredPermission string         `json:"required_permission,omitempty"`
	Retry              *Retry         `json:"retry,omitempty"`
	RecoverySteps      []Step         `json:"recovery_steps,omitempty"`
	CorrectedArguments map[string]any `json:"corrected_arguments,omitempty"` // the complete arguments that were meant, if that is certain and nothing in them is hidden
	CorrectedTool      string         `json:"corrected_tool,omitempty"`      // the tool that takes them
	Party              Party          `json:"party,omitempty"`
	Details            map[string]any `json:"details,omitempty"`
	ReferenceID        string         `json:"reference_id,omitempty"`
}

// A Violation is one error in the arguments of a call.
type Violation struct {
	Field      string `json:"field"`                // the argument, as a path: items[1].sku
	Pointer    string `json:"pointer,omitempty"`    // the same as a JSON Pointer (RFC 6901): /items/1/sku
	Rule       string `json:"rule,omitempty"`       // what was broken: type, required, maximum ...
	Expected   string `json:"expected,omitempty"`   // what would be right: "an integer"
	Received   any    `json:"received,omitempty"`   // the value, if it may be shown
	Suggestion string `json:"suggestion,omitempty"` // what to do about it

	// Message, if set, replaces the sentence that [Violations] would write. It ends up in the
	// fault's message and is cleared in its Data.
	Message string `json:"message,omitempty"`
}

// An Effect says whether a failed call changed something.
type Effect string

// The effects that a failed call can have.
const (
	EffectNone      Effect = "none"      // the call changed nothing: a repetition is safe
	EffectUnknown   Effect = "unknown"   // something may have been changed: check first
	EffectCommitted Effect = "committed" // the change or a part of it was made, see [Retry]: do not repeat it
)

// A Party can be to blame for a failure.
type Party string

// The parties.
const (
	PartyCaller   Party = "caller"   // the caller's request is wrong
	PartyServer   Party = "server"   // this server, its files and its credentials
	PartyUpstream Party = "upstream" // a service that this server needs
)

// known returns p if it is one of the parties, and "" if it is not.
func (p Party) known() Party {
	if p == PartyCaller || p == PartyServer || p == PartyUpstream {
		return p
	}
	return ""
}

// Retry says whether, when and how often a failed call may be repeated. A Retry with
// RetryAfterSeconds alone says only that a service asked to wait so long: it counts as Unknown.
type Retry struct {
	ShouldRetry       bool    `json:"should_retry"`                  // not in JSON if it is Unknown
	Unknown           bool    `json:"-"`                             // nobody knows whether the call may be repeated
	RetryAfterSeconds float64 `json:"retry_after_seconds,omitempty"` // zero: not said
	NextAttempt       int     `json:"next_attempt,omitempty"`        // the number of the next attempt, from 2
	MaxAttempts       int     `json:"max_attempts,omitempty"`        // the first one included; zero: no limit is known
	Reason            string  `json:"reason,omitempty"`              // [NotNow], [StillRunning] or a sentence
	Fact              string  `json:"fact,omitempty"`                // a sentence of what the server knows, such as since when the call fails
	Effect            Effect  `json:"effect,omitempty"`
	Partial           bool    `json:"partial,omitempty"` // with EffectCommitted: a part of the change was made; the rest is unknown
}

// The reasons of a Retry for which a program may look. A Retry with one of them has no ShouldRetry.
const (
	// NotNow: the call has failed for so long that a person has to know. It may work again after
	// RetryAfterSeconds.
	NotNow = "not_now"

	// StillRunning: the same call is still running, so it must not be made a second time.
	StillRunning = "still_running"
)

// MarshalJSON writes the members that are said.
func (r Retry) MarshalJSON() ([]byte, error) {
	type plain Retry // without this method
	if r = r.plain(); !r.Unknown {
		return json.Marshal(plain(r))
	}
	return json.Marshal(struct {
		plain

		ShouldRetry *bool `json:"should_retry,omitempty"`
	}{plain: plain(r)})
}

// UnmarshalJSON reads the members. A "no" has no wait, unless it is a "not now".
func (r *Retry) UnmarshalJSON(raw []byte) error {
	type plain Retry // without this method
	read := struct {
		*plain

		Said *bool `json:"should_retry"`
	}{plain: &plain{}}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	switch *r = Retry(*read.plain); {
	case r.Reason == NotNow, r.Reason == StillRunning:
	case read.Said == nil:
		r.Unknown = true
	case *read.Said:
		r.ShouldRetry = true
	default:
		r.RetryAfterSeconds = 0
	}
	*r = r.plain()
	return nil
}

// attr returns the members that are not empty, by their names on the wire, for the log.
func (r Retry) attr() slog.Attr {
	attrs := saying(
		slog.Float64("retry_after_seconds", r.RetryAfterSeconds), slog.Int("next_attempt", r.NextAttempt),
		slog.Int("max_attempts", r.MaxAttempts), slog.String("reason", r.Reason), slog.String("fact", r.Fact),
		slog.String("effect", string(r.Effect)), slog.Bool("partial", r.Partial),
	)
	if !r.Unknown {
		attrs = append([]slog.Attr{slog.Bool("should_retry", r.ShouldRetry)}, attrs...)
	}
	return slog.GroupAttrs("retry", attrs...)
}

// saying removes empty texts, zero numbers and false.
func saying(attrs ...slog.Attr) []slog.Attr {
	return slices.DeleteFunc(attrs, func(a slog.Attr) bool {
		return a.Value.Equal(slog.StringValue("")) || a.Value.Equal(slog.IntValue(0)) || a.Value.Equal(slog.Float64Value(0)) || a.Value.Equal(slog.BoolValue(false))
	})
}

// A Step is one thing to do after a failure, or after a success with a natural next step.
type Step struct {
	Number      int            `json:"step"`                  // from 1
	Action      string         `json:"action"`                // what to do, for a reader
	Tool        string         `json:"tool,omitempty"`        // the tool to call, if it is a call
	Parameters  map[string]any `json:"parameters,omitempty"`  // the arguments of that call
	Missing     []string       `json:"missing,omitempty"`     // the parameters that the caller has to fill in
	Description string         `json:"description,omitempty"` // more about it
	Options     []Option       `json:"options,omitempty"`     // the choices, where the caller has to make one
}

// An Option is one of the choices of a [Step]: a text, or a call.
type Option struct {
	Action     string         `json:"action"`               // what it is, for a reader
	Tool       string         `json:"tool,omitempty"`       // the tool to call, if it is a call
	Parameters map[string]any `json:"parameters,omitempty"` // the arguments of that call
	Missing    []string       `json:"missing,omitempty"`    // the parameters that the caller has to fill in
}

// MarshalJSON writes an option without a call as a string, any other as an object.
func (o Option) MarshalJSON() ([]byte, error) {
	if o.Tool == "" {
		return json.Marshal(o.Action)
	}
	type plain Option // without this method
	return json.Marshal(plain(o))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Option) UnmarshalJSON(b []byte) error {
	type plain Option // without this method
	if len(b) > 0 && b[0] == '"' {
		*o = Option{}
		return json.Unmarshal(b, &o.Action)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode((*plain)(o))
}

// Data returns the public part of the fault. The caller may change it: nothing in it is shared.
func (e *Error) Data() Data {
	if e == nil {
		return Data{}
	}
	return e.data.mapped(valid, func(_ string, v any) any { return mapValue(v, valid) })
}

// FromData returns the fault whose public part is d, without a cause. It copies everything and
// numbers the steps. It replaces values that JSON cannot hold, and hides those under the name of
// a secret.
func FromData(d Data) *Error {
	if d.Type == "" {
		d.Type = KindInternal
	}
	if d.Received != nil && scrub.SecretName(d.Field) {
		d.Received = nil
	}
	d.Violations = mapSlice(d.Violations, func(v Violation) Violation {
		if v.Received != nil && scrub.SecretName(v.Field) {
			v.Received = nil
		}
		return v
	})
	e := fromData(d, plainMember)
	if shown, whole, ok := corrections(d); ok {
		e.showOnly(shown, whole)
	}
	return e
}

func fromData(d Data, value func(name string, v any) any) *Error {
	d = d.mapped(valid, value)
	if d.Retry != nil {
		*d.Retry = d.Retry.plain()
	}
	for i := range d.RecoverySteps {
		d.RecoverySteps[i].Number = i + 1
	}
	return &Error{data: d}
}

// MarshalJSON writes the public part, as [Data] does. The cause is never written.
func (e *Error) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	return json.Marshal(&e.data)
}

// UnmarshalJSON reads what MarshalJSON wrote; it is the only method that changes its receiver.
// It ignores unknown members. It fails if a known member has the wrong type. It also fails if there
// is no type, and so for null.
func (e *Error) UnmarshalJSON(b []byte) error {
	if e == nil {
		return errors.New("fault: UnmarshalJSON of a nil *Error")
	}
	var d Data
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		return fmt.Errorf("fault: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("fault: more than one JSON value")
	}
	if d.Type == "" {
		return errors.New("fault: type is missing")
	}
	*e = *fromData(d, func(_ string, v any) any { return decoded(v) })
	e.derived = true
	return nil
}

// mapped returns a copy of d that shares nothing with it. Every text passes through text, and
// every value, with its name, through value. Empty members become nil, as they would on the
// wire. Kind, effect and reference are compared by programs rather than read, so only their
// broken UTF-8 is replaced.
func (d Data) mapped(text func(string) string, value func(name string, v any) any) Data {
	d.Type, d.ReferenceID, d.Party = Kind(valid(string(d.Type))), valid(d.ReferenceID), d.Party.known()
	for _, s := range []*string{
		&d.Message, &d.Suggestion, &d.Code, &d.Field, &d.Expected, &d.ResourceType, &d.Identifier,
		&d.Action, &d.Resource, &d.RequiredPermission, &d.CorrectedTool,
	} {
		*s = text(*s)
	}
	d.Received = value("", d.Received)
	d.Examples = mapSlice(d.Examples, text)
	d.SimilarMatches = mapSlice(d.SimilarMatches, text)
	d.Violations = mapSlice(d.Violations, func(v Violation) Violation {
		return Violation{
			Field: text(v.Field), Pointer: text(v.Pointer), Rule: text(v.Rule), Expected: text(v.Expected),
			Received: value("", v.Received), Suggestion: text(v.Suggestion), Message: text(v.Message),
		}
	})
	if d.Retry != nil {
		retry := *d.Retry
		retry.Reason, retry.Fact, retry.Effect = text(retry.Reason), text(retry.Fact), Effect(valid(string(retry.Effect)))
		d.Retry = &retry
	}
	d.RecoverySteps = mapSlice(d.RecoverySteps, func(s Step) Step { return s.mapped(text, value) })
	d.Details = mapOrNil(d.Details, text, value)
	d.CorrectedArguments = mapOrNil(d.CorrectedArguments, text, func(_ string, v any) any { return value("", v) })
	return d
}

func (s Step) mapped(text func(string) string, value func(name string, v any) any) Step {
	return Step{
		Number: s.Number, Action: text(s.Action), Tool: text(s.Tool),
		Parameters: mapOrNil(s.Parameters, text, value), Missing: mapSlice(s.Missing, text),
		Description: text(s.Description), Options: mapSlice(s.Options, func(o Option) Option {
			return Option{Action: text(o.Action), Tool: text(o.Tool), Parameters: mapOrNil(o.Parameters, text, value), Missing: mapSlice(o.Missing, text)}
		}),
	}
}

// plain returns r without a wait that JSON cannot hold, and without what contradicts its reason. A wait alone is
// Unknown.
func (r Retry) plain() Retry {
	switch r.Reason {
	case StillRunning:
		r.ShouldRetry, r.Unknown, r.RetryAfterSeconds = false, false, 0
	case NotNow:
		r.ShouldRetry, r.Unknown = false, false
	}
	if !(r.RetryAfterSeconds > 0 && r.RetryAfterSeconds <= math.MaxFloat64) { // also NaN
		r.RetryAfterSeconds = 0
	}
	r.Unknown = !r.ShouldRetry && (r.Unknown || r.RetryAfterSeconds > 0 && r == Retry{RetryAfterSeconds: r.RetryAfterSeconds})
	return r
}

func mapSlice[T any](list []T, f func(T) T) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}

func mapOrNil(m map[string]any, text func(string) string, value func(name string, v any) any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	return mapMap(m, text, value)
}
