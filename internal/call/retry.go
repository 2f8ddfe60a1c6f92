package call

import (
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// Advise says whether a call that ended with this failure may be made again, see
// [classify.Finding.Advise].
func (f *Failure) Advise(s classify.Safety) fault.Retry { return f.found.Advise(f.Hint(), s) }

// Safety says what a repetition of this call can do. A tool is what its annotations
// say in the server's own list, which is read anew for each failure: a tool that was
// replaced by one that writes is not taken for its predecessor. next is what the
// middleware of this call calls.
func (c *Call) Safety(next Handler) classify.Safety {
	switch c.Method() {
	case MethodCallTool:
	case MethodReadResource, MethodGetPrompt, MethodComplete, MethodListTools, MethodListPrompts, MethodListResources,
		MethodListResourceTemplates, MethodPing, MethodDiscover:
		return classify.Reads
	case MethodInitialize, MethodSetLevel, MethodSubscribe, MethodUnsubscribe:
		return classify.Idempotent
	default: // a method of the program's own
		return classify.Writes
	}
	tool, err := c.Tool(next)
	if err != nil && next != nil {
		tool, err = c.Tool(nil) // around a single handler next has no list: the opener may stand around the server
	}
	if err != nil {
		return classify.Writes
	}
	return classify.SafetyOf(tool.Annotations)
}

// Advise says whether the call may be made again. The tool is asked about itself only
// where it matters: where the effect of a write would be told.
func (c *Call) Advise(f *Failure, next Handler) fault.Retry {
	advice := f.Advise(classify.Writes)
	if advice.Effect == "" || advice.Effect == fault.EffectCommitted {
		return advice
	}
	return f.Advise(c.Safety(next))
}
