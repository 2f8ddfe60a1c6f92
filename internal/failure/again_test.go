package failure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
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
				Counted: func(fault.Retry, bool) failure.Counts { return failure.Counts{Same: 5, Attempts: 5} },
				Witness: tc.seen,
			})
			require.Equal(t, tc.seen.Effect() == fault.EffectCommitted, a.Retry.Partial)
			require.Equal(t, tc.want, a.Retry.Reason)
		})
	}
}
