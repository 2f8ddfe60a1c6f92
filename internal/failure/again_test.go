package failure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
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
		{nil, failure.Writes},
		{&mcp.ToolAnnotations{}, failure.Writes},
		{&mcp.ToolAnnotations{Title: "Search"}, failure.Writes},
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
	}{
		// What nobody worded: an error proves what it is, never what became of the call.
		{"nothing known", errors.New("x"), nil, "", "", once, once},
		{"broken connection", errBroken, nil, "", keyed, again, yes},
		{"refused connection", errDial, nil, "", keyed, again, yes},
		{"deadline", context.DeadlineExceeded, nil, "", keyed, again, yes},
		{"cut off in the middle of an answer", fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), nil, "", keyed, again, yes},
		{"cancelled", context.Canceled, nil, "", "", "Retry: no. The call was cancelled.", "Retry: no. The call was cancelled."},
		{"refused by a service", statusError(409), nil, "", "", "Retry: no. The service refused the request (HTTP 409).", "Retry: no. The service refused the request (HTTP 409)."},
		{"a panic", fault.Panicked("x", 0), nil, "", "", once, once},

		// A kind that the error itself has.
		{"kind: limited", fault.KindRateLimited, nil, "", keyed, again, yes},
		{"kind: not available", fault.KindServiceUnavailable, nil, "", keyed, again, yes},
		{"kind: denied", fault.KindPermissionDenied, nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no."},
		{"kind: wrong arguments", fault.KindValidation, nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no."},

		// What a handler worded, and said no more of.
		{"not found", fault.NotFound("file", "a"), nil, "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again.", "Retry: no. The same call will fail again."},
		{"limited", fault.RateLimited("it", 0), nil, yes, yes, yes, yes},
		{"not available", fault.Unavailable("it"), nil, yes, yes, yes, yes},
		{"not available, of no function", fault.New(fault.KindServiceUnavailable, fault.Generic(fault.KindServiceUnavailable).Message()), nil, "", keyed, again, yes},
		{"too late", fault.Timeout("it", time.Second), nil, "", keyed, again, yes},
		{"not available, by a dial", fault.Unavailable("it").Because(errDial), nil, "", keyed, again, yes},
		{"declined", fault.New(fault.KindCancelled, "the user said no"), nil, "Retry: no.", "Retry: no.", "Retry: no.", "Retry: no."},
		{"conflict", fault.New(fault.KindConflict, "locked"), nil, "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes.", "Retry: no. The same call will fail again unless something changes."},
		{"a kind of its own", fault.New("busy", "x"), nil, "", "", "", ""},
		{"its own words", fault.New(fault.KindTool, "x"), nil, "", "", "", ""},
		{"refused, whatever the database said", fault.New(fault.KindClientError, "no such table").Because(sqlState("42P01")), nil, "Retry: no. The same call will fail again: change it.", "Retry: no. The same call will fail again: change it.", "Retry: no. The same call will fail again: change it.", "Retry: no. The same call will fail again: change it."},

		// What a handler said.
		{"later", fault.New("busy", "x").After(1500 * time.Millisecond), nil, "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", "Retry: yes, after 2 s.", "Retry: yes, after 2 s."},
		{"too late, later", fault.Timeout("it", 0).After(time.Second), nil, "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", "Retry: yes, after 1 s.", "Retry: yes, after 1 s."},
		{"later, but it broke", fault.New("busy", "x").After(0).Because(errBroken), nil, "", keyed, again, yes},
		{"later, by a dial", fault.New("busy", "x").After(0).Because(errDial), nil, "", keyed, again, yes},
		{"nothing done, though it broke", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}).Because(errBroken), nil, nothing, nothing, nothing, nothing},
		{"not known", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), nil, unless, keyed, again, yes},
		{"never", fault.New(fault.KindTimeout, "x").Never("it is paid for"), nil, "Retry: no. It is paid for.", "Retry: no. It is paid for.", "Retry: no. It is paid for.", "Retry: no. It is paid for."},
		{"never, and it broke", fault.New("busy", "x").Never("Ask Ann.").Because(errBroken), nil, "Retry: no. Ask Ann.", "Retry: no. Ask Ann.", "Retry: no. Ask Ann.", "Retry: no. Ask Ann."},
		{"still at work", fault.New("busy", "x").WithRetry(fault.Retry{Effect: fault.EffectUnknown, Reason: "It may still take effect"}), nil, changed + " It may still take effect.", changed + " It may still take effect.", "Retry: no. It may still take effect.", "Retry: no. It may still take effect."},
		{"committed", fault.New("busy", "x").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted}), nil, "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it.", "Retry: no. This call took effect: do not repeat it."},

		// What a rule says.
		{"rule: nothing done", errors.New("x"), rule(fault.Hint{Retry: fault.RetryYes, Effect: fault.EffectNone}), nothing, nothing, nothing, yes},
		{"rule: nothing done, by a dial", errDial, rule(fault.Hint{Effect: fault.EffectNone}), nothing, nothing, nothing, yes},
		{"rule: again", errors.New("x"), rule(fault.Hint{Retry: fault.RetryYes, After: time.Hour}), "The service asks to wait 1 h.", "Retry: not now: possible again in 1 h; tell the user. With the same idempotency key it takes effect only once.", "Retry: not now: possible again in 1 h; tell the user. A repetition does no harm.", "Retry: not now: possible again in 1 h; tell the user."},
		{"rule: again, of what is not there", fault.KindNotFound, rule(fault.Hint{Retry: fault.RetryYes}), "", keyed, again, yes},
		{"limited, but it broke", errors.Join(fault.KindRateLimited, errBroken), nil, "", keyed, again, yes},
		{"rule: no", errors.New("x"), rule(fault.Hint{Retry: fault.RetryNo, Reason: "The licence is over"}), "Retry: no. The licence is over.", "Retry: no. The licence is over.", "Retry: no. The licence is over.", "Retry: no. The licence is over."},
		{"rule: later, nothing done, though it broke", fault.New("busy", "x").After(0).Because(errBroken), rule(fault.Hint{Effect: fault.EffectNone}), nothing, nothing, nothing, yes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f failure.Failure
			f.Make(nil, tc.err, &failure.Circumstances{Reader: &failure.Reader{Mask: func(text string) string { return text }}, Hints: tc.rules})
			for safety, want := range map[failure.Safety]string{
				failure.Writes: tc.writes, failure.Keyed: tc.keyed, failure.Idempotent: tc.idempotent, failure.Reads: tc.read,
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

// TestAnErrorProvesWhatItIs: of what became of the call an error says nothing, neither that nothing was done nor that
// it is not known. What stays is the wait that a service asked for.
func TestAnErrorProvesWhatItIs(t *testing.T) {
	limited := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"30"}}, Body: http.NoBody}
	forYears := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"99999999"}}, Body: http.NoBody}
	gateway := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"2"}}, Body: http.NoBody}
	request, err := http.NewRequest(http.MethodGet, "https://payments.test/done", http.NoBody)
	require.NoError(t, err)
	redirected := &http.Response{StatusCode: http.StatusNotFound, Request: request, Body: http.NoBody}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"a refused connection", errDial, ""},
		{"one that was refused behind a redirect", &url.Error{Op: "Get", URL: "https://payments.test/done", Err: errDial}, ""},
		{"a host that is not found behind a redirect", &url.Error{Op: "Get", URL: "https://x.test", Err: &net.DNSError{IsNotFound: true}}, ""},
		{"a certificate behind a redirect", &url.Error{Op: "Get", URL: "https://x.test", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, ""},
		{"404 behind a redirect", classify.FromResponse(redirected), ""},
		{"one that broke", errBroken, ""},
		{"a limit", classify.FromResponse(limited), "The service asks to wait 30 s."},
		{"a limit that is longer than any wait", classify.FromResponse(forYears), ""},
		{"a gateway that lost the answer", classify.FromResponse(gateway), "The service asks to wait 2 s."},
		{"a collision", sqlState("40001"), ""},
		{"a statement that took too long", sqlState("57014"), ""},
		{"a row that exists", sqlState("23505"), ""},
		{"a service that knows it not", statusError(404), ""},
		{"a gateway without a wait", statusError(502), ""},
		{"a client that gave up after several tries", errors.New("POST https://x.test giving up after 3 attempt(s)"), ""},
		{"nothing known", errors.New("x"), ""},
		{"a panic", fault.Panicked("x", 0), ""},
		{"worded", fault.New(fault.KindTool, "x"), ""},
		{"what an upstream says of its own call", fault.New("mine", "x").Because(fault.Unavailable("it").WithRetry(fault.Retry{Effect: fault.EffectNone})), ""},
		{"a fault around what a client got", fault.Unavailable("the bank").Because(errBroken), ""},
		{"the same, after a time", fault.Unavailable("the bank").Because(errBroken).After(30 * time.Second), "The service asks to wait 30 s."},
		{"a limit around what a client got", fault.RateLimited("the API", 5*time.Second).Because(errBroken), "The service asks to wait 5 s."},
		{"a rule that has no effect", fault.RateLimited("the API", 3*time.Second), "The service asks to wait 3 s."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var f failure.Failure
			of := &failure.Circumstances{Reader: &failure.Reader{Mask: func(text string) string { return text }}}
			if public, ok := tc.err.(*fault.Error); ok && public.Kind() == fault.KindRateLimited && public.Unwrap() == nil {
				of.Rules, tc.err = []classify.Rule{func(error) *fault.Error { return public }}, errors.New("429")
			}
			f.Make(nil, tc.err, of)
			a := f.Again(failure.Situation{})
			require.Empty(t, a.Effect)
			require.Empty(t, a.Hint.Effect)
			require.False(t, a.Retry.ShouldRetry)
			if tc.want == "" && (a.Said() == nil || a.By == classify.ByError) {
				return
			}
			require.Equal(t, tc.want, a.Said().String())
			data, err := json.Marshal(a.Said())
			require.NoError(t, err)
			require.NotContains(t, string(data), "should_retry")
			require.Contains(t, string(data), "retry_after_seconds")
		})
	}
}

// TestSeveralFaultsRefuse: that nothing was done is said by several faults only if each of them says it.
func TestSeveralFaultsRefuse(t *testing.T) {
	limited := fault.RateLimited("it", 0)
	for _, tc := range []struct {
		err  error
		want fault.Effect
	}{
		{limited, fault.EffectNone},
		{fmt.Errorf("paying: %w", limited), fault.EffectNone},
		{fault.Join(limited, fault.Unavailable("that")), fault.EffectNone},
		{fault.Join(limited, fault.Timeout("that", 0)), ""},
		{errors.Join(limited, fault.Timeout("that", 0)), ""},
		{limited.WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), fault.EffectUnknown},
		{fault.New(fault.KindServerError, "x"), ""},
	} {
		known := of(tc.err)
		require.Equal(t, tc.want, failure.Again(&known, failure.Situation{}).Effect, "%v", tc.err)
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
