package validate

import (
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
)

// fault makes one fault of a report. Without a report it is the generic one: what
// the SDK says of wrong arguments is not for a caller.
func (v *validator) fault(report *explain.Report, tool string) *fault.Error {
	if report == nil || len(report.Violations) == 0 {
		return fault.Generic(fault.KindValidation)
	}
	return v.violationsFault(report.Violations, report.Total, report.More, func(e *fault.Error) *fault.Error {
		d := e.Data()
		switch {
		case tool != "" && report.Corrected != nil && json.Unmarshal(report.Corrected, &d.CorrectedArguments) == nil:
			d.CorrectedTool = tool
		case len(report.Example) > 2 && d.Suggestion == "": // "{}" would say nothing
			d.Suggestion = "Valid arguments look like this: " + strings.TrimSpace(string(report.Example))
		}
		return fault.FromData(d)
	})
}

// violationsFault makes one fault of the violations, of which there are total in all, as
// many of them as fit, or at least total. What more adds is left out first; it may be nil.
func (v *validator) violationsFault(violations []fault.Violation, total int, atLeast bool, more func(*fault.Error) *fault.Error) *fault.Error {
	total = max(total, len(violations))
	violations = violations[:min(len(violations), v.MaxViolations)]
	for {
		e := v.worded(violations, total, atLeast)
		if more != nil {
			if with := more(e); v.fits(with) {
				return with
			}
		}
		switch {
		case v.fits(e):
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
func (v *validator) worded(violations []fault.Violation, total int, atLeast bool) *fault.Error {
	e := fault.FirstViolations(total, violations...)
	if atLeast {
		e = e.WithMessage("At least " + e.Message())
	}
	if hint := violations[0].Suggestion; total == 1 && hint != "" {
		// In the line of its sentence, as it is where there are several.
		e = e.Suggest("").WithMessage(e.Message() + " " + hint)
	}
	if v.Format == nil {
		return e
	}
	if own := guarded(func() string { return v.Format(append([]fault.Violation(nil), violations...), total) }); own != "" {
		e = e.WithMessage(own)
	}
	return e
}

// fits reports whether the text and the machine form together are short enough.
func (v *validator) fits(e *fault.Error) bool {
	machine, err := json.Marshal(e)
	if err != nil {
		return false
	}
	text, err := json.Marshal(e.Text())
	return err == nil && len(machine)+len(text) <= v.MaxBytes
}
