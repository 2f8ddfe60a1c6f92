// Package unclear refuses arguments that two readers could take for different things: one would guard, compare
// and record what another does not do.
package unclear

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/scrub"
	"github.com/mcpchain/mcpchain/internal/words"
)

// Refusal returns what the caller of a handler with these arguments reads, nil if there are none, or clear ones; see
// [jsons.Clear]. The handler is not to be run otherwise.
func Refusal(args []byte) *fault.Error {
	if len(args) == 0 {
		return nil
	}
	why := jsons.WhyUnclear(args)
	if why == nil {
		return nil
	}
	v := fault.Violation{Rule: why.Rule}
	v.Field, v.Pointer = scrub.Place(why.At, why.InList, scrub.ShownName)
	subject := words.AllArguments
	if v.Field != "" {
		subject = "Argument '" + v.Field + "'"
	}
	message, advice := words.Unclear(subject, why.Rule)
	if v.Message = message; why.Rule == jsons.NotJSON {
		v.Message = subject + " are not valid JSON."
	}
	e := fault.Violations(v)
	if advice != "" {
		e = e.WithMessage(e.Message() + " " + advice)
	}
	return e
}
