package call

import (
	"context"

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

// Advise says whether the call of ctx may be made again. The tool is asked about itself
// only where it matters: where the effect of a write would be told, and no idempotency key
// is kept for the call.
func (c *Call) Advise(ctx context.Context, f *Failure, next Handler) fault.Retry {
	advice := f.Advise(classify.Writes)
	if advice.Effect == "" {
		return advice
	}
	k, isKeyed := ctx.Value(keyedKey{}).(keyed)
	if isKeyed && !k.again() {
		return advice
	}
	safety := c.Safety(next)
	if isKeyed {
		safety = max(safety, classify.Keyed)
	}
	return f.Advise(safety)
}

// OwnWords reports whether a tool told the failure in a result of its own and nothing
// else is known of it.
func (f *Failure) OwnWords() bool {
	if !f.told || f.found.Fault == nil || f.found.Fault.Kind() != fault.KindTool {
		return false
	}
	_, said := f.found.Fault.Retry()
	return !said
}

// Because says what the cause of a failure was that a tool told in a result of its
// own, whose words stay: the failure has the kind, the guidance, the level and the
// record of its cause. It returns the failure as it is known from now on.
func (c *Call) Because(f *Failure, cause error) *Failure {
	known := &Failure{err: cause, res: f.res, told: true, traced: true, hints: f.hints, ended: f.ended}
	found := classify.Of(cause, c.classifying())
	words := told(f.res, found)
	if public := found.Public(); found.Origin == classify.Worded || found.Origin == classify.Ruled {
		words = public.WithMessage(words.Message())
	}
	known.found = found.Told(words)
	known.logged.Store(f.logged.Load())
	cold := c.lock()
	defer c.mu.Unlock()
	cold.failure = known
	return known
}
