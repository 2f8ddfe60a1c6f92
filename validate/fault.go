package validate

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/faults"
)

// maxAnswer bounds the text and the machine form together, in bytes of JSON, so that a whole
// answer stays below 4 KB.
const maxAnswer = 3584

// faultOf makes one fault of a report: as many of its violations as fit, and the corrected call of a tool with a
// name. Without a report it is the generic fault, because the SDK's own words are not for a caller.
func faultOf(report *explain.Report, tool string) *fault.Error {
	if report == nil || len(report.Violations) == 0 {
		return fault.Generic(fault.KindValidation)
	}
	total := max(report.Total, len(report.Violations))
	shown := report.Violations[:min(len(report.Violations), explain.MaxShown)]
	var meant map[string]any
	if tool != "" {
		meant = correctionOf(report)
	}
	for {
		e := faults.FirstViolations(total, shown...)
		if report.More {
			e = e.WithMessage("At least " + e.Message())
		}
		if hint := shown[0].Suggestion; total == 1 && hint != "" {
			// In the line of its sentence, as it is where there are several.
			e = e.Suggest("").WithMessage(e.Message() + " " + hint)
		}
		if meant != nil {
			e = faults.Corrected(e, tool, meant)
		}
		one := fault.Violation{Field: shown[0].Field, Rule: shown[0].Rule, Message: shown[0].Message}
		switch {
		case fits(e):
			return e
		case meant != nil:
			meant = nil
		case len(shown) > 1:
			shown = shown[:len(shown)-1]
		case shown[0] != one:
			shown = []fault.Violation{one}
		default:
			return fault.Generic(fault.KindValidation)
		}
	}
}

// correctionOf returns the arguments that were meant, as they may be shown, nil for none.
func correctionOf(report *explain.Report) (meant map[string]any) {
	if report.Withheld != nil {
		return report.Withheld
	}
	d := json.NewDecoder(bytes.NewReader(report.Corrected))
	d.UseNumber()
	if d.Decode(&meant) != nil {
		return nil
	}
	exact(meant)
	return meant
}

// exact replaces each number of decoded JSON by a float64, so that 5.0 becomes 5. A long integer stays: as a float64
// it would be another ID.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && (math.Abs(f) < 1<<53 || strings.ContainsAny(string(v), ".eE")) {
			return f
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return v
}

// fits reports whether there is room for a fault.
func fits(e *fault.Error) bool {
	machine, err := e.MarshalJSON() // as long as json.Marshal makes it, which would read it once more
	if err != nil {
		return false
	}
	text, err := json.Marshal(e.Text())
	return err == nil && len(machine)+len(text) <= maxAnswer
}
