package explain

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Options say how much a report tells. The zero value is the recommended default.
type Options struct {
	// HideReceived keeps every received value out of the report.
	HideReceived bool
	// MaxViolations bounds the violations of a report; 0 means 10. The total is
	// counted on, up to MaxCounted.
	MaxViolations int
	// MaxBytes bounds the sentences and suggestions of all violations together,
	// and the text of the report; 0 means 4096. Less than 256 is taken as 256.
	MaxBytes int
	// AssertFormats checks "format" also where the schema's draft only takes it
	// for a remark, as draft 2020-12 does.
	AssertFormats bool
	// What the values are called: "argument", which "" means, or "output".
	What string
}

// A Report says all that is wrong with the arguments of one call.
type Report struct {
	// Violations are in a stable order, at most Options.MaxViolations.
	Violations []Violation
	// Total counts the violations, also those that are not shown. It stops
	// counting at MaxCounted.
	Total int
	// Example is a minimal valid call, one line of JSON. It is nil unless the call
	// was badly wrong and an example could be built; it is valid by the schema.
	Example json.RawMessage
}

// A Violation is one thing that is wrong. All its texts are fit for one line,
// and hold nothing of what must not be shown.
type Violation struct {
	Field      string // as a model writes it, "items[1].sku"; "" for the arguments themselves
	Pointer    string // Field as a JSON Pointer, "/items/1/sku"; "" for the arguments themselves, and where it would be longer than 512 bytes
	Rule       string // the keyword of JSON Schema, "required"; or "json", "duplicate", "utf8", "depth", "budget", which are not the schema's
	Expected   string // "an integer from 1 to 10"; "" where the rule has nothing to expect
	Received   any    // a string, a bool or a json.Number of at most 64 characters, scrubbed; nil where it may not be shown or is none of them
	Sentence   string // the whole sentence: "Argument 'quantity' expected an integer, but received 'five'."
	Suggestion string // a sentence of advice, "Did you mean 'color'?"; "" if there is none
}

// Text returns the sentences and suggestions of the report: one line for one
// violation, otherwise a count and a line each. It ends without a line break.
func (r *Report) Text() string {
	if r == nil || len(r.Violations) == 0 {
		return ""
	}
	if r.Total == 1 {
		return r.Violations[0].line()
	}
	var b strings.Builder
	count := itoa(r.Total)
	if r.Total >= MaxCounted {
		count = "At least " + count
	}
	fmt.Fprintf(&b, "%s things are wrong.", count)
	for i := range r.Violations {
		b.WriteString("\n- ")
		b.WriteString(r.Violations[i].line())
	}
	if more := r.Total - len(r.Violations); more > 0 {
		fmt.Fprintf(&b, "\n- and %d more.", more)
	}
	return b.String()
}

func (v *Violation) line() string {
	if v.Suggestion == "" {
		return v.Sentence
	}
	return v.Sentence + " " + v.Suggestion
}

// MaxCounted is how many violations are counted: there may be more.
const MaxCounted = 1000

const (
	defaultViolations = 10
	defaultBytes      = 4096
	leastBytes        = 256
)
