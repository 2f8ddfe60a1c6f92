package validate

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/faults"
)

// maxAnswer bounds the text and the machine form together, in bytes of JSON, so that a whole
// answer stays below 4 KB.
const maxAnswer = 3584

// An answer is what is said of wrong arguments: to everybody, and to the caller alone.
type answer struct {
	public  *fault.Error
	private *classify.Correction
	beside  bool // the message of public is the tool's own words
}

// faultOf makes one fault of a report: as many of its violations as fit, and the corrected
// arguments for a tool with a name, if there is no secret in them. Without a report it is the
// generic one: what the SDK says of wrong arguments is not for a caller.
func faultOf(report *explain.Report, tool string) *fault.Error {
	if report == nil || len(report.Violations) == 0 {
		return fault.Generic(fault.KindValidation)
	}
	total := max(report.Total, len(report.Violations))
	shown := report.Violations[:min(len(report.Violations), explain.MaxShown)]
	for corrected := tool != "" && report.Corrected != nil && !report.Secret; ; {
		e := faults.FirstViolations(total, shown...)
		if report.More {
			e = e.WithMessage("At least " + e.Message())
		}
		if hint := shown[0].Suggestion; total == 1 && hint != "" {
			// In the line of its sentence, as it is where there are several.
			e = e.Suggest("").WithMessage(e.Message() + " " + hint)
		}
		if d := e.Data(); corrected && json.Unmarshal(report.Corrected, &d.CorrectedArguments) == nil {
			d.CorrectedTool = tool
			e = fault.FromData(d)
		}
		one := fault.Violation{Field: shown[0].Field, Rule: shown[0].Rule, Message: shown[0].Message}
		switch {
		case fits(e, 0):
			return e
		case corrected:
			corrected = false
		case len(shown) > 1:
			shown = shown[:len(shown)-1]
		case shown[0] != one:
			shown = []fault.Violation{one}
		default:
			return fault.Generic(fault.KindValidation)
		}
	}
}

// fits reports whether there is room for a fault, and for so many bytes more.
func fits(e *fault.Error, more int) bool {
	machine, err := e.MarshalJSON() // as long as json.Marshal makes it, which would read it once more
	if err != nil {
		return false
	}
	text, err := json.Marshal(e.Text())
	return err == nil && len(machine)+len(text)+more <= maxAnswer
}
