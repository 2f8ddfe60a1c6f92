package call

import (
	"context"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
)

// Guidance is what a caller is told about calling again after a failure.
type Guidance struct {
	// Retry is told in the place of what the failure itself says.
	Retry fault.Retry

	// Suggestion is told in the place of the failure's own; empty means none.
	Suggestion string

	// Insist puts the sentence about the retry into the text of a failure, too, that
	// a tool told in its own words, which are left as they are otherwise.
	Insist bool
}

// Guide says what the caller is told about calling again. It has the last word:
// over what the failure itself says, and over an earlier call of it.
func (f *Failure) Guide(g Guidance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.guidance, f.guided, f.public = g, true, nil
}

// Guided reports whether [Failure.Guide] was called.
func (f *Failure) Guided() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guided
}

// insisted returns the line that is put into a tool's own text, "" for none.
func (f *Failure) insisted() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.guided || !f.guidance.Insist {
		return ""
	}
	return f.guidance.Retry.String()
}

// Advise says whether a call that ended with this failure may be made again, see
// [classify.Finding.Advise].
func (f *Failure) Advise(s classify.Safety) fault.Retry { return f.found.Advise(f.Hint(), s) }

// Safety says what a repetition of this call can do. A tool is what its annotations
// say in the server's own list, see [Call.Tool]: a tool that was replaced by one that
// writes is taken for its predecessor for a second at most. next is what the middleware
// of this call calls.
func (c *Call) Safety(next Handler) classify.Safety {
	if c.method != MethodCallTool {
		return methods[c.method].safety // that of the program's own methods is Writes
	}
	tool, err := c.Tool(next)
	if err != nil {
		return classify.Writes
	}
	return classify.SafetyOf(tool.Annotations)
}

// Advise says whether the call of ctx may be made again. The server is asked about the tool
// only where it matters: where it is not known whether a write took effect, and no idempotency
// key is kept for the call.
func (c *Call) Advise(ctx context.Context, f *Failure, next Handler) fault.Retry {
	advice := f.Advise(classify.Writes)
	if advice.Effect == "" || c.method == MethodCallTool && advice.Effect != fault.EffectUnknown {
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

type keyedKey struct{}

type keyed struct {
	key   string
	again func() bool
}

// WithKey returns a context that says that the call is made under an idempotency key
// that somebody keeps. again reports whether a repetition with the key runs the
// handler again after a failure of which nobody knows whether it took effect; if not,
// it gets the same failure.
func WithKey(ctx context.Context, key string, again func() bool) context.Context {
	return context.WithValue(ctx, keyedKey{}, keyed{key, again})
}

// KeyOf returns the idempotency key of the call of ctx, "" for none.
func KeyOf(ctx context.Context) string {
	k, _ := ctx.Value(keyedKey{}).(keyed)
	return k.key
}
