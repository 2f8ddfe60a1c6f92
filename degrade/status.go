package degrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Status says what an answer lacks, and what in it comes from a substitute. It is made to be
// embedded in the output of a typed tool: its members then stand beside the output's own,
// and the tool's output schema has them. The zero value says that nothing is known.
type Status struct {
	Degraded bool      `json:"degraded" jsonschema:"true when a component of this answer is missing or not the real one"`
	Warnings []Warning `json:"warnings,omitempty" jsonschema:"one for each component that is missing or not the real one"`
	Metadata Metadata  `json:"metadata" jsonschema:"which components this answer has"`
}

// A Warning says what is wrong with one component of an answer.
type Warning struct {
	Component string `json:"component"`
	Reason    string `json:"reason" jsonschema:"why it is missing or not the real one"`
	Impact    string `json:"impact" jsonschema:"what that means for this answer"`

	// Type is the kind of the failure, or "skipped".
	Type fault.Kind `json:"type,omitempty"`

	// Fallback says what is served instead, "" when nothing is: "source" (another one) or
	// "stale" (a copy from before). Source names where that is from. AgeSeconds and AsOf, in
	// RFC 3339, are there for stale copies.
	Fallback   string  `json:"fallback,omitempty" jsonschema:"what is served instead: source or stale"`
	Source     string  `json:"source,omitempty"`
	AgeSeconds float64 `json:"age_seconds,omitempty"`
	AsOf       string  `json:"as_of,omitempty"`

	// Retry is what is known about trying again, nil when nothing is.
	Retry *fault.Retry `json:"retry,omitempty"`

	// ReferenceID leads to the record in the operator's log, "" when there is none.
	ReferenceID string `json:"reference_id,omitempty"`

	shown bool // the reference belongs into the text
}

// kindSkipped is the type of the warning of a part that was skipped.
const kindSkipped fault.Kind = "skipped" //nolint:errname // a kind, named as those of package fault are

// Metadata says which components were asked for and which the answer has. A component
// that comes from another source, or is a stale copy, counts as one that the answer has.
// It also has a [Warning].
type Metadata struct {
	ComponentsRequested []string `json:"components_requested"`
	ComponentsReturned  []string `json:"components_returned"`
	Completeness        float64  `json:"completeness" jsonschema:"the share of the requested components that this answer has, from 0 to 1"`
}

func statusOf(outcomes []outcome) Status {
	s := Status{Metadata: Metadata{
		ComponentsRequested: make([]string, 0, len(outcomes)), ComponentsReturned: make([]string, 0, len(outcomes)),
	}}
	for i := range outcomes {
		o := &outcomes[i]
		s.Metadata.ComponentsRequested = append(s.Metadata.ComponentsRequested, o.plan.name)
		if o.served != nil {
			s.Metadata.ComponentsReturned = append(s.Metadata.ComponentsReturned, o.plan.name)
		}
		if o.err != nil || o.skipped {
			s.Warnings = append(s.Warnings, o.warning())
		}
	}
	s.complete()
	return s
}

// complete fills in what follows from the rest.
func (s *Status) complete() {
	s.Degraded, s.Metadata.Completeness = len(s.Warnings) > 0, 1
	if n := len(s.Metadata.ComponentsRequested); n > 0 {
		s.Metadata.Completeness = float64(len(s.Metadata.ComponentsReturned)*1000/n) / 1000
	}
}

func (o *outcome) warning() Warning {
	w := Warning{Component: o.plan.name, Reason: reason(o.public), Impact: o.plan.impact, Type: o.public.Kind()}
	if w.Impact == "" {
		w.Impact = "This answer comes without " + o.plan.name + "."
	}
	data := o.public.Data()
	w.Retry, w.ReferenceID, w.shown = data.Retry, data.ReferenceID, o.shown
	if o.served == nil {
		return w
	}
	w.Fallback, w.Source = o.served.form, o.served.name
	switch w.Fallback {
	case fromSource:
		w.Impact = words.Ended(o.plan.name + " comes from another source, " + w.Source)
	case fromStale:
		age := o.age.Round(time.Second)
		w.AgeSeconds, w.AsOf = age.Seconds(), o.asOf.UTC().Format(time.RFC3339)
		w.Impact = o.plan.name + " is not fresh: a copy from " + w.Source + " that is " + words.Duration(age) + " old."
	}
	return w
}

// maxReason is how many bytes of a reason are repeated.
const maxReason = 500

// reason is the first line of a fault's text, without what it suggests to the caller
// of a whole call.
func reason(e *fault.Error) string {
	if e.Kind() == kindSkipped {
		return "Skipped: " + sentence(e.Message())
	}
	return fault.New(e.Kind(), sentence(e.Message())).Text()
}

// sentence returns a text that ends like a sentence, on one line. A long one is cut.
func sentence(text string) string { return words.Sentence(words.Clip(text, maxReason)) }

// maxLines is how many warnings the text has; the structured value has them all.
const maxLines = 10

// Text returns lines for the model that say the same as the structured value, for clients
// that show text only. It is "" if nothing is missing.
func (s Status) Text() string {
	if !s.Degraded {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Partial answer: it has %d of %d components.", len(s.Metadata.ComponentsReturned), len(s.Metadata.ComponentsRequested))
	for i, w := range s.Warnings {
		if i == maxLines {
			fmt.Fprintf(&b, "\n- and %d more.", len(s.Warnings)-i)
			break
		}
		parts := slices.DeleteFunc([]string{w.Component + ": " + w.state(), w.Impact, w.Reason, w.again()}, func(s string) bool { return s == "" })
		line := strings.Join(parts, " ")
		if w.shown {
			line = strings.TrimRight(line, " ") + " Reference: " + w.ReferenceID
		}
		b.WriteString("\n- " + words.Line(line)) // a handler may have kept the warning or made it
	}
	return b.String()
}

// state returns the first word about a component, which a reader must not miss.
func (w *Warning) state() string {
	switch w.Fallback {
	case fromSource:
		return "SUBSTITUTED."
	case fromStale:
		return "STALE."
	default:
		return "MISSING."
	}
}

// again returns a sentence about doing this part again, "" if nothing is known.
func (w *Warning) again() string {
	switch r := w.Retry; {
	case r == nil:
		return ""
	case r.Effect == fault.EffectUnknown:
		return "It is not known whether it was done: check before you do it again."
	case r.Effect == fault.EffectCommitted && r.Partial:
		return "At least a part of it was done: check that before you do it again."
	case r.Effect == fault.EffectCommitted:
		return "It was done: do not do it again."
	case !r.ShouldRetry || r.RetryAfterSeconds <= 0:
		return ""
	default:
		return "Try again after " + words.Seconds(r.RetryAfterSeconds) + "."
	}
}

// add returns the status of two Runs of one call. It changes neither.
func (s Status) add(more Status) Status {
	s.Warnings = append(slices.Clip(s.Warnings), more.Warnings...)
	m := &s.Metadata
	m.ComponentsRequested = both(m.ComponentsRequested, more.Metadata.ComponentsRequested)
	m.ComponentsReturned = both(m.ComponentsReturned, more.Metadata.ComponentsReturned)
	s.complete()
	return s
}

// both returns a new list of the names in two, which is never null in JSON.
func both(a, b []string) []string {
	return append(append(make([]string, 0, len(a)+len(b)), a...), b...)
}
