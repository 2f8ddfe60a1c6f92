package failure_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
)

func TestSafetyOf(t *testing.T) {
	no := false
	for _, tc := range []struct {
		a    *mcp.ToolAnnotations
		want failure.Safety
	}{
		{nil, failure.Writes},
		{&mcp.ToolAnnotations{}, failure.Writes},
		{&mcp.ToolAnnotations{DestructiveHint: &no}, failure.Writes},
		{&mcp.ToolAnnotations{IdempotentHint: true}, failure.Idempotent},
		{&mcp.ToolAnnotations{ReadOnlyHint: true}, failure.Reads},
		{&mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}, failure.Reads},
	} {
		require.Equal(t, tc.want, failure.SafetyOf(tc.a))
	}
}

var (
	errBroken = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	errDial   = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
)

// The words are those that a caller reads: the whole line, in the text of its kind.
func TestAgain(t *testing.T) {
	const (
		onlyIf  = "Retry: only if repeating does no harm: it is not known whether this call took effect."
		changed = "Retry: no. It may have changed something: check that before you try another way."
		again   = "Retry: yes. A repetition does no harm."
		nothing = "Retry: yes. Nothing was changed by this call."
		keyed   = "Retry: yes. With the same idempotency key it takes effect only once."
		yes     = "Retry: yes."
	)
	rule := func(h failure.Hint) []failure.HintRule {
		return []failure.HintRule{func(error) (failure.Hint, bool) { return h, true }}
	}
	for _, tc := range []struct {
		name                            string
		err                             error
		rules                           []failure.HintRule
		writes, keyed, idempotent, read string
	}{
		// What nobody worded.
		{"nothing known", errors.New("x"), nil, changed, changed, "Retry: no. Tell the user.", "Retry: no. Tell the user."},
		{"broken connection", errBroken, nil, onlyIf, keyed, again, yes},
		{"refused connection", errDial, nil, nothing, nothing, nothing, yes},
		{"deadline", context.DeadlineExceeded, nil, onlyIf, keyed, again, yes},
		{"cancelled", context.Canceled, nil, changed, changed, "Retry: no. The call was cancelled.", "Retry: no. The call was cancelled."},
		{"kind: limited", fault.KindRateLimited, nil, yes, yes, yes, yes},
		{"kind: not available", fault.KindServiceUnavailable, nil, onlyIf, keyed, again, yes},
		{"kind: denied", fault.KindPermissionDenied, nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no."},
		{"kind: wrong arguments", fault.KindValidation, nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no."},

		// What a handler worded, and said no more of.
		{"not found", fault.NotFound("file", "a"), nil, "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again."},
		{"limited", fault.RateLimited("it", 0), nil, yes, yes, yes, yes},
		{"not available", fault.Unavailable("it"), nil, onlyIf, keyed, again, yes},
		{"not available!", fault.New(fault.KindServiceUnavailable, fault.Generic(fault.KindServiceUnavailable).Message()+"!"), nil, onlyIf, keyed, again, yes},
		{"too late", fault.Timeout("it", time.Second), nil, onlyIf, keyed, again, yes},
		{"not available, by a dial", fault.Unavailable("it").Because(errDial), nil, nothing, nothing, nothing, yes},
		{"declined", fault.New(fault.KindCancelled, "the user said no"), nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no."},
		{"conflict", fault.New(fault.KindConflict, "locked"), nil, "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes."},

		// What a handler said.
		{"later", fault.New("busy", "x").After(1500 * time.Millisecond), nil, "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", "Retry: yes, after 2 s."},
		{"too late, later", fault.Timeout("it", 0).After(time.Second), nil, "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", "Retry: yes, after 1 s."},
		{"later, but it broke", fault.New("busy", "x").After(0).Because(errBroken), nil, onlyIf, keyed, again, yes},
		{"later, by a dial", fault.New("busy", "x").After(0).Because(errDial), nil, yes, yes, yes, yes},
		{"nothing done, though it broke", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}).Because(errBroken), nil, nothing, nothing, nothing, nothing},
		{"not known", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), nil, onlyIf, keyed, again, yes},
		{"never", fault.New(fault.KindTimeout, "x").Never("it is paid for"), nil, "Retry: no. It is paid for.", "Retry: no. It is paid for.", "Retry: no. It is paid for.", "Retry: no. It is paid for."},
		{"never, and it broke", fault.New("busy", "x").Never("Ask Ann.").Because(errBroken), nil, "Retry: no. Ask Ann. It may have changed something: check that before you try another way.", "Retry: no. Ask Ann. It may have changed something: check that before you try another way.", "Retry: no. Ask Ann.", "Retry: no. Ask Ann."},
		{"still at work", fault.New("busy", "x").WithRetry(fault.Retry{Effect: fault.EffectUnknown, Reason: "It may still take effect"}), nil, "Retry: no. It may still take effect: check that before you try another way.", "Retry: no. It may still take effect: check that before you try another way.", "Retry: no. It may still take effect.", "Retry: no. It may still take effect."},
		{"committed", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted}), nil, "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it."},

		// What a rule says.
		{"rule: nothing done", errors.New("x"), rule(failure.Hint{Retry: classify.RetryYes, Effect: fault.EffectNone}), nothing, nothing, nothing, yes},
		{"rule: again", errors.New("x"), rule(failure.Hint{Retry: classify.RetryYes, After: time.Hour}), onlyIf, "Retry: not now: possible again in 1 h; tell the user. With the same idempotency key it takes effect only once.", "Retry: not now: possible again in 1 h; tell the user. A repetition does no harm.", "Retry: not now: possible again in 1 h; tell the user."},
		{"rule: again, of what is not there", fault.KindNotFound, rule(failure.Hint{Retry: classify.RetryYes}), yes, yes, yes, yes},
		{"limited, but it broke", errors.Join(fault.KindRateLimited, errBroken), nil, onlyIf, keyed, again, yes},
		{"rule: no", errors.New("x"), rule(failure.Hint{Retry: classify.RetryNo, Reason: "The licence is over"}), "Retry: no. The licence is over. It may have changed something: check that before you try another way.", "Retry: no. The licence is over. It may have changed something: check that before you try another way.", "Retry: no. The licence is over.", "Retry: no. The licence is over."},
		{"rule: later, nothing done, though it broke", fault.New("busy", "x").After(0).Because(errBroken), rule(failure.Hint{Effect: fault.EffectNone}), yes, yes, yes, yes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f failure.Failure
			f.Make(nil, tc.err, &failure.Circumstances{Reader: &failure.Reader{}, Hints: tc.rules})
			for safety, want := range map[failure.Safety]string{
				failure.Writes: tc.writes, failure.Keyed: tc.keyed, failure.Idempotent: tc.idempotent, failure.Reads: tc.read,
			} {
				got := f.Again(failure.As(safety)).Retry
				require.Equal(t, want, got.String(), "safety %d", safety)
				require.False(t, got.ShouldRetry && got.Effect == fault.EffectUnknown, "what is not known is not repeated")
				require.False(t, safety == failure.Reads && got.Effect == fault.EffectUnknown)
			}
		})
	}
}

// Wrong arguments have a line of their own.
func TestAgainOfWrongArguments(t *testing.T) {
	err := fault.Invalid("n", 1, "a string")
	known := &failure.Known{Finding: classify.Of(err, classify.Options{})}
	require.Equal(t, "Validation Error: Argument 'n' expected a string, but received 1.\nRetry: only with corrected arguments.",
		err.WithRetry(failure.Again(known, failure.Situation{}).Retry).Text())
}
