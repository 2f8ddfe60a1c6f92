package validate

import (
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
)

// fault makes one fault of a report. Without a report it is the generic one: what
// the SDK says of wrong arguments is not for a caller.
func (r *room) fault(report *explain.Report) *fault.Error {
	if report == nil || len(report.Violations) == 0 {
		return fault.Generic(fault.KindValidation)
	}
	violations := make([]fault.Violation, len(report.Violations))
	for i, v := range report.Violations {
		violations[i] = fault.Violation{
			Field: v.Field, Pointer: v.Pointer, Rule: v.Rule, Expected: v.Expected, Received: v.Received,
			Suggestion: v.Suggestion, Message: v.Sentence,
		}
	}
	return r.violationsFault(violations, report.Total, report.Example)
}

// violationsFault makes one fault of the violations, of which there are total in
// all, as many of them as fit.
func (r *room) violationsFault(violations []fault.Violation, total int, example json.RawMessage) *fault.Error {
	total = max(total, len(violations))
	violations = violations[:min(len(violations), r.MaxViolations)]
	for {
		e := r.worded(violations, total)
		if with := e.Suggest(exampleText(example)); len(example) > 0 && len(violations) > 0 && e.Data().Suggestion == "" && r.fits(with) {
			return with
		}
		switch {
		case r.fits(e):
			return e
		case len(violations) > 1:
			violations = violations[:len(violations)-1-len(violations)/8]
		case violations[0].Received != nil || violations[0].Suggestion != "":
			violations = []fault.Violation{{
				Field: violations[0].Field, Pointer: violations[0].Pointer, Rule: violations[0].Rule, Expected: violations[0].Expected,
				Message: violations[0].Message,
			}}
		default:
			return fault.Generic(fault.KindValidation)
		}
	}
}

// worded makes the fault in the default words or in those of Options.Format.
func (r *room) worded(violations []fault.Violation, total int) *fault.Error {
	e := fault.FirstViolations(total, violations...)
	if total >= explain.MaxCounted {
		e = e.WithMessage("At least " + e.Message())
	}
	if v := violations[0]; total == 1 && v.Suggestion != "" {
		// In the line of its sentence, as it is where there are several.
		e = e.Suggest("").WithMessage(e.Message() + " " + v.Suggestion)
	}
	if r.Format == nil {
		return e
	}
	if own := guarded(func() string { return r.Format(append([]fault.Violation(nil), violations...), total) }); own != "" {
		e = e.WithMessage(own)
	}
	return e
}

// fits reports whether the text and the machine form together are short enough.
func (r *room) fits(e *fault.Error) bool {
	machine, err := json.Marshal(e)
	if err != nil {
		return false
	}
	text, err := json.Marshal(e.Text())
	return err == nil && len(machine)+len(text) <= r.MaxBytes
}

func exampleText(example json.RawMessage) string {
	return "Valid arguments look like this: " + strings.TrimSpace(string(example))
}
