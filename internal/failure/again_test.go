package failure_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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
	yes, no := true, false
	for _, tc := range []struct {
		a    *mcp.ToolAnnotations
		want failure.Safety
	}{
		{nil, failure.Unsaid},
		{&mcp.ToolAnnotations{}, failure.Unsaid},
		{&mcp.ToolAnnotations{Title: "Search"}, failure.Unsaid},
		{&mcp.ToolAnnotations{DestructiveHint: &yes}, failure.Writes},
		{&mcp.ToolAnnotations{DestructiveHint: &no}, failure.Writes},
		{&mcp.ToolAnnotations{DestructiveHint: &yes, ReadOnlyHint: true}, failure.Reads},
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
		changed = "Retry: no. This call may have changed something: look whether it did before you go on."
		unless  = "Retry: no, unless you see that it did not take effect."
		once    = "Retry: yes (2 attempts at most). One more try does no harm."
		again   = "Retry: yes. A repetition does no harm."
		nothing = "Retry: yes. Nothing was changed by this call."
		keyed   = "Retry: yes. With the same idempotency key it takes effect only once."
		yes     = "Retry: yes."
	)
	rule := func(h fault.Hint) []fault.HintRule {
		return []fault.HintRule{func(error) (fault.Hint, bool) { return h, true }}
	}
	for _, tc := range []struct {
		name                            string
		err                             error
		rules                           []fault.HintRule
		writes, keyed, idempotent, read string
		unsaid                          string // of a tool that nobody annotated, where it is not that of one that writes
	}{
		// What nobody worded: our tables say what became of the step that failed.
		{"nothing known", errors.New("x"), nil, unless, "", once, once, "-"},
		{"broken connection", errBroken, nil, unless, keyed, again, yes, "-"},
		{"refused connection", errDial, nil, "", keyed, again, yes, ""},
		{"deadline", context.DeadlineExceeded, nil, unless, keyed, again, yes, "-"},
		{"cut off in the middle of an answer", fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), nil, unless, keyed, again, yes, "-"},
		{"cancelled", context.Canceled, nil, unless, "", "Retry: no. The call was cancelled.", "Retry: no. The call was cancelled.", "-"},
		{"refused by a service", statusError(409), nil, "", "", "Retry: no. The service refused the request (HTTP 409).", "Retry: no. The service refused the request (HTTP 409).", ""},
		{"a panic", fault.Panicked("x", 0), nil, unless, "", once, once, "-"},

		// A kind that the error itself has.
		{"kind: limited", fault.KindRateLimited, nil, yes, yes, yes, yes, ""},
		{"kind: not available", fault.KindServiceUnavailable, nil, unless, keyed, again, yes, ""},
		{"kind: denied", fault.KindPermissionDenied, nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no.", ""},
		{"kind: wrong arguments", fault.KindValidation, nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no.", ""},

		// What a handler worded, and said no more of.
		{"not found", fault.NotFound("file", "a"), nil, "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", ""},
		{"limited", fault.RateLimited("it", 0), nil, yes, yes, yes, yes, ""},
		{"not available", fault.Unavailable("it"), nil, unless, keyed, again, yes, ""},
		{"not available!", fault.New(fault.KindServiceUnavailable, fault.Generic(fault.KindServiceUnavailable).Message()+"!"), nil, unless, keyed, again, yes, ""},
		{"too late", fault.Timeout("it", time.Second), nil, unless, keyed, again, yes, ""},
		{"not available, by a dial", fault.Unavailable("it").Because(errDial), nil, "", keyed, again, yes, ""},
		{"declined", fault.New(fault.KindCancelled, "the user said no"), nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no.", ""},
		{"conflict", fault.New(fault.KindConflict, "locked"), nil, "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", ""},
		{"a kind of its own", fault.New("busy", "x"), nil, "", "", "", "", ""},
		{"its own words", fault.New(fault.KindTool, "x"), nil, "", "", "", "", ""},
		{"refused, whatever the database said", fault.New(fault.KindClientError, "no such table").Because(sqlState("42P01")), nil, "Retry: no. The same call will fail again: change it.", "Retry: no. The same call will fail again: change it.", "Retry: no. The same call will fail again: change it.", "Retry: no. The same call will fail again: change it.", ""},

		// What a handler said.
		{"later", fault.New("busy", "x").After(1500 * time.Millisecond), nil, "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", ""},
		{"too late, later", fault.Timeout("it", 0).After(time.Second), nil, "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", ""},
		{"later, but it broke", fault.New("busy", "x").After(0).Because(errBroken), nil, unless, keyed, again, yes, ""},
		{"later, by a dial", fault.New("busy", "x").After(0).Because(errDial), nil, yes, yes, yes, yes, ""},
		{"nothing done, though it broke", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}).Because(errBroken), nil, nothing, nothing, nothing, nothing, ""},
		{"not known", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), nil, unless, keyed, again, yes, ""},
		{"never", fault.New(fault.KindTimeout, "x").Never("it is paid for"), nil, "Retry: no. It is paid for.", "Retry: no. It is paid for.", "Retry: no. It is paid for.", "Retry: no. It is paid for.", ""},
		{"never, and it broke", fault.New("busy", "x").Never("Ask Ann.").Because(errBroken), nil, "Retry: no. Ask Ann.", "Retry: no. Ask Ann.", "Retry: no. Ask Ann.", "Retry: no. Ask Ann.", ""},
		{"still at work", fault.New("busy", "x").WithRetry(fault.Retry{Effect: fault.EffectUnknown, Reason: "It may still take effect"}), nil, changed + " It may still take effect.", changed + " It may still take effect.", "Retry: no. It may still take effect.", "Retry: no. It may still take effect.", ""},
		{"committed", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted}), nil, "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", ""},

		// What a rule says.
		{"rule: nothing done", errors.New("x"), rule(fault.Hint{Retry: fault.RetryYes, Effect: fault.EffectNone}), nothing, nothing, nothing, yes, ""},
		{"rule: nothing done, by a dial", errDial, rule(fault.Hint{Effect: fault.EffectNone}), nothing, nothing, nothing, yes, ""},
		{"rule: again", errors.New("x"), rule(fault.Hint{Retry: fault.RetryYes, After: time.Hour}), unless, "Retry: not now: possible again in 1 h; tell the user. With the same idempotency key it takes effect only once.", "Retry: not now: possible again in 1 h; tell the user. A repetition does no harm.", "Retry: not now: possible again in 1 h; tell the user.", ""},
		{"rule: again, of what is not there", fault.KindNotFound, rule(fault.Hint{Retry: fault.RetryYes}), yes, yes, yes, yes, ""},
		{"limited, but it broke", errors.Join(fault.KindRateLimited, errBroken), nil, unless, keyed, again, yes, ""},
		{"rule: no", errors.New("x"), rule(fault.Hint{Retry: fault.RetryNo, Reason: "The licence is over"}), "Retry: no. The licence is over.", "Retry: no. The licence is over.", "Retry: no. The licence is over.", "Retry: no. The licence is over.", ""},
		{"rule: later, nothing done, though it broke", fault.New("busy", "x").After(0).Because(errBroken), rule(fault.Hint{Effect: fault.EffectNone}), yes, yes, yes, yes, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f failure.Failure
			f.Make(nil, tc.err, &failure.Circumstances{Reader: &failure.Reader{Mask: func(text string) string { return text }}, Hints: tc.rules})
			unsaid := cmp.Or(tc.unsaid, tc.writes)
			for safety, want := range map[failure.Safety]string{
				failure.Unsaid: strings.Trim(unsaid, "-"), failure.Writes: tc.writes, failure.Keyed: tc.keyed, failure.Idempotent: tc.idempotent, failure.Reads: tc.read,
			} {
				answer := f.Again(failure.As(safety))
				text := ""
				if got := answer.Said(); got != nil {
					text = got.String()
				}
				require.Equal(t, want, text, "safety %d", safety)
				require.False(t, answer.Retry.ShouldRetry && answer.Retry.Effect == fault.EffectUnknown, "what is not known is not repeated")
				require.False(t, safety == failure.Reads && answer.Retry.Effect == fault.EffectUnknown)
			}
		})
	}
}

type sqlState string

func (e sqlState) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlState) SQLState() string { return string(e) }

// What an error alone tells is true of the step that failed: the handler may have done something before it. The tool
// is one that nobody annotated, and one that destroys something.
func TestTheStepThatFailed(t *testing.T) {
	const (
		none    = "The step that failed changed nothing"
		again   = none + ", and will fail again unless something changes"
		unknown = "It is not known whether the step that failed took effect"
	)
	limited := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"30"}}, Body: http.NoBody}
	forYears := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"99999999"}}, Body: http.NoBody}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"a refused connection", errDial, none},
		{"one that broke", errBroken, unknown},
		{"a limit", classify.FromResponse(limited), none + ". The service accepts calls again after 30 s"},
		{"a limit that is longer than any wait", classify.FromResponse(forYears), none},
		{"a collision", sqlState("40001"), none},
		{"a statement that took too long", sqlState("57014"), none},
		{"a row that exists", sqlState("23505"), again},
		{"a service that knows it not", statusError(404), again},
		{"a gateway", statusError(502), unknown},
		{"nothing known", errors.New("x"), "It is not known whether this call took effect"},
		{"a dial below a worded fault", fault.Unavailable("it").Because(errDial), none},
		{"said", fault.Unavailable("it").After(time.Second).Because(errDial), ""},
		{"worded", fault.New(fault.KindTool, "x"), ""},
		{"a refusal", fault.Denied("pay", "it"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f failure.Failure
			f.Make(nil, tc.err, &failure.Circumstances{Reader: &failure.Reader{Mask: func(text string) string { return text }}})
			a := f.Again(failure.Situation{})
			require.Equal(t, tc.want, a.Step)
			if f.Worded() {
				return
			}
			require.Nil(t, a.Said())
			require.Zero(t, a.Retry, "in no form")
			require.Equal(t, fault.EffectUnknown, a.Effect)
			if writes := f.Again(failure.As(failure.Writes)); writes.Said() != nil {
				require.Equal(t, "Retry: no, unless you see that it did not take effect.", writes.Said().String())
				require.NotContains(t, tc.want, none)
				require.Empty(t, writes.Step)
			}
			require.Empty(t, f.Again(failure.As(failure.Reads)).Step, "what only reads changes nothing")
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

// TestAgainAfterTheLimitOfTheCaller: that the caller's time was over explains only what took too long.
func TestAgainAfterTheLimitOfTheCaller(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"too late", context.DeadlineExceeded, "Retry: yes. Your time limit for this call was over."},
		{"refused by a service", statusError(409), "Retry: no. The service refused the request (HTTP 409)."},
		{"a broken connection", errBroken, "Retry: yes."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			known := of(tc.err, func(k *failure.Known) { k.Ended = context.DeadlineExceeded })
			a := failure.Again(&known, failure.As(failure.Reads))
			require.Equal(t, tc.want, a.Said().String())
		})
	}
}

// TestAgainOfWhatWasDoneInPart: the line about the effect says what to do, so nothing else does when the call has
// failed too often.
func TestAgainOfWhatWasDoneInPart(t *testing.T) {
	const often = "This exact call has failed 5 times with the same error"
	for _, tc := range []struct {
		name string
		seen failure.Witness
		want string
	}{
		{"a part", failure.Witness{Took: 1}, often},
		{"nothing", failure.Witness{Whole: true}, often + ". Try another way, or tell the user what does not work."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			known := of(statusError(409))
			a := failure.Again(&known, failure.Situation{
				Safety:  func() failure.Safety { return failure.Writes },
				Counted: func(fault.Retry) failure.Counts { return failure.Counts{Same: 5, Attempts: 5, Limit: 3} },
				Witness: tc.seen,
			})
			require.Equal(t, tc.seen.Effect() == fault.EffectCommitted, a.Retry.Partial)
			require.Equal(t, tc.want, a.Retry.Reason)
		})
	}
}
