package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
)

var (
	rawAt    = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}
	readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}
	harmless = &mcp.ToolAnnotations{IdempotentHint: true}
	additive = &mcp.ToolAnnotations{DestructiveHint: new(bool)}

	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

// chain is the recommended chain around guidance.
func chain(log *harness.Log, opts *retry.Options) []mcp.Middleware {
	return []mcp.Middleware{
		mcprecover.New(&mcprecover.Options{Logger: log.Logger()}),
		correlate.New(&correlate.Options{Logger: log.Logger(), NewID: func(context.Context, mcp.Request) string { return "r-1" }}),
		mask.New(&mask.Options{Logger: log.Logger()}),
		retry.New(opts),
		mcprecover.New(&mcprecover.Options{Logger: log.Logger()}),
	}
}

// annotated starts a server with one raw tool "it", and the recommended chain.
func annotated(t testing.TB, a *mcp.ToolAnnotations, opts *retry.Options, h harness.Handler) *harness.Session {
	return harness.Start(t, rawAt, harness.Setup{
		Middleware: chain(harness.NewLog(slog.LevelError+1), opts),
		More: func(s *mcp.Server) {
			s.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: a},
				func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					res, err := h(ctx, req)
					tool, _ := res.(*mcp.CallToolResult)
					return tool, err
				})
		},
	})
}

var ownWait = regexp.MustCompile(`after [12] s `)

// shown returns a text in which the waits that are made by chance, of 1 or 2
// seconds, are all the same.
func shown(text string) string { return ownWait.ReplaceAllString(text, "after W ") }

func TestWhatTheModelReads(t *testing.T) {
	const (
		internal = "Internal error: the server failed unexpectedly.\n"
		passing  = "Suggestion: Keep the arguments: they are not the cause.\n"
		ref      = "\nReference: r-1"
		report   = ref + " (give it to the user to report)"
	)
	for _, tc := range []struct {
		name string
		tool *mcp.ToolAnnotations
		err  error
		want string
	}{
		// What passes.
		{"rate limit with a wait", nil, fault.RateLimited("the search API", 30*time.Second),
			"Rate limited: the search API accepts no more calls now.\nRetry: yes, after 30 s (attempt 2 of 3)."},
		{"rate limit without", nil, fault.RateLimited("the search API", 0),
			"Rate limited: the search API accepts no more calls now.\nRetry: yes, after W (attempt 2 of 3)."},
		{"refused connection", nil, errRefused,
			"Connection failed: a service that is needed could not be reached." + ref},
		{"refused connection of an additive write", additive, errRefused,
			"Connection failed: a service that is needed could not be reached." + ref},
		{"refused connection of a read", readOnly, errRefused,
			"Connection failed: a service that is needed could not be reached.\nSuggestion: Keep the arguments: they are not the cause.\n" +
				"Retry: yes, after W (attempt 2 of 3)." + ref},
		{"deliberately unavailable", nil, fault.Unavailable("the weather service"),
			"Service unavailable: the weather service is not available now.\n" + passing + "Retry: yes, after W (attempt 2 of 3)."},
		{"deliberately unavailable, of a read", readOnly, fault.Unavailable("the weather service"),
			"Service unavailable: the weather service is not available now.\n" + passing + "Retry: yes, after W (attempt 2 of 3)."},
		{"deliberately unavailable for an hour", nil, fault.Unavailable("the weather service").After(90 * time.Minute),
			"Service unavailable: the weather service is not available now.\n" + passing + "Retry: not now: possible again in 1 h 30 min; tell the user."},
		{"handler knows", nil, fault.New(fault.KindConflict, "a deployment of this project is running").After(30*time.Second).
			Step("See how far it is", "deployment_status", map[string]any{"project": "alpha"}),
			"Conflict: a deployment of this project is running.\nRetry: yes, after 30 s (attempt 2 of 3).\nNext: 1. See how far it is."},

		{"upstream asks to wait", nil, upstream{45 * time.Second},
			"Rate limited: too many calls were made in a short time.\nThe service asks to wait 45 s." + ref},
		{"upstream asks a read to wait", readOnly, upstream{45 * time.Second},
			"Rate limited: too many calls were made in a short time.\nSuggestion: Make fewer calls.\nRetry: yes, after 45 s (attempt 2 of 3)." + ref},
		{"handler knows, and says no more", nil, fault.New(fault.KindTimeout, "the report is not ready").After(time.Minute),
			"Timeout: the report is not ready.\nRetry: yes, after 60 s (attempt 2 of 3)."},

		// What may have taken effect.
		{"timeout of a read", readOnly, context.DeadlineExceeded,
			"Timeout: the operation did not finish in time.\nSuggestion: Ask for less at a time, if the tool allows it.\nRetry: yes, after W (attempt 2 of 3)." + ref},
		{"timeout of an idempotent write", harmless, context.DeadlineExceeded,
			"Timeout: the operation did not finish in time.\nSuggestion: Ask for less at a time, if the tool allows it.\n" +
				"Retry: yes, after W (attempt 2 of 3). A repetition does no harm." + ref},
		{"timeout of a write", nil, context.DeadlineExceeded,
			"Timeout: the operation did not finish in time." + ref},
		{"timeout of an additive write", additive, context.DeadlineExceeded,
			"Timeout: the operation did not finish in time." + ref},
		{"timeout of a write, and a tool that tells", nil, fault.Timeout("the payment", 10*time.Second).
			Step("See whether it was made", "get_payment", map[string]any{"id": "p-1"}),
			"Timeout: the payment did not finish within 10 s.\nNext: 1. See whether it was made."},
		{"timeout of a write in a handler's words", nil, fault.New(fault.KindTimeout, "the bank is slow"), "Timeout: the bank is slow.\nSuggestion: Ask for less at a time, if the tool allows it."},
		{"timeout of a read in a handler's words", readOnly, fault.New(fault.KindTimeout, "the bank is slow").Never("It is closed"),
			"Timeout: the bank is slow.\nRetry: no. It is closed."},
		{"conflict that passes", nil, serialization{},
			"Conflict: the current state does not allow this operation.\nSuggestion: Read the current state, then decide whether to call again." + ref},
		{"conflict of a read that passes", readOnly, serialization{},
			"Conflict: the current state does not allow this operation.\nRetry: yes, after W (attempt 2 of 3)." + ref},
		{"reset connection of a write", nil, errReset,
			"Connection failed: a service that is needed could not be reached." + ref},
		{"reset connection of a read", readOnly, errReset,
			"Connection failed: a service that is needed could not be reached.\nSuggestion: Keep the arguments: they are not the cause.\n" +
				"Retry: yes, after W (attempt 2 of 3)." + ref},
		{"handler says it was done", nil, fault.New(fault.KindServerError, "the receipt could not be printed").WithRetry(fault.Retry{Effect: fault.EffectCommitted}),
			"Server error: the receipt could not be printed.\nRetry: no. This call took effect: do not repeat it."},
		{"unknown failure", nil, errCanary, strings.TrimSpace(internal) + report},
		{"unknown failure of an additive write", additive, errCanary, strings.TrimSpace(internal) + report},
		{"unknown failure of a read", readOnly, errCanary, internal + "Retry: yes (attempt 2 of 2). One more try does no harm." + report},

		// What does not pass.
		{"wrong argument", nil, fault.Invalid("quantity", "five", "an integer"),
			"Validation Error: Argument 'quantity' expected an integer, but received 'five'.\nRetry: only with corrected arguments."},
		{"wrong argument, as the SDK says it", nil, errors.New(`validating "arguments": ` + harness.Canary),
			"Validation Error: the arguments of this call are not valid.\nSuggestion: Correct the arguments and call again.\n" +
				"Retry: only with corrected arguments." + ref},
		{"misspelled name", nil, fault.NotFound("project", "alhpa", "alpha"),
			"Not found: project 'alhpa' does not exist. Did you mean 'alpha'?\nRetry: no. The same call will fail again."},
		{"unknown name", nil, fault.NotFound("project", "zebra"),
			"Not found: project 'zebra' does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first.\nRetry: no. The same call will fail again."},
		{"denied", nil, fault.Denied("delete", "project alpha").Needs("projects.delete"),
			"Permission denied: you are not allowed to delete project alpha. Required permission: projects.delete.\n" +
				"Suggestion: Ask the user to obtain the permission or to choose another way.\nRetry: no."},
		{"denied in a handler's words", nil, fault.New(fault.KindPermissionDenied, "alpha belongs to Ann"),
			"Permission denied: alpha belongs to Ann.\nSuggestion: Ask the user to obtain the permission or to choose another way.\nRetry: no."},
		{"conflict", nil, fault.New(fault.KindConflict, "the invoice is locked"),
			"Conflict: the invoice is locked.\nSuggestion: Read the current state, then decide whether to call again.\nRetry: no. The same call will fail again unless something changes."},
		{"step", nil, fault.New(fault.KindPreconditionFailed, "the database has pending migrations").Step("Run them", "run_migrations", nil),
			"Precondition failed: the database has pending migrations.\nRetry: no. The same call will fail again unless something changes.\nNext: 1. Run them."},
		{"a person says no", nil, fault.New(fault.KindCancelled, "the user does not want to pay"),
			"Cancelled: the user does not want to pay.\nRetry: no."},
		{"kind of one's own", nil, fault.New("shop_closed", "the shop is closed on Sundays"),
			"Shop closed: the shop is closed on Sundays."},
		{"not signed in", nil, fault.Generic(fault.KindUnauthenticated),
			"Not authenticated: this call needs valid credentials.\nSuggestion: Ask the user to sign in or to renew the credentials, then call again.\nRetry: only after the user has signed in."},
		{"closed", nil, fault.Unavailable("the account").Never("The account is closed"),
			"Service unavailable: the account is not available now.\nRetry: no. The account is closed."},
		{"suggestion of one's own", nil, fault.New(fault.KindTimeout, "the report was not ready").Suggest("Ask for one month.").Never("It takes an hour"),
			"Timeout: the report was not ready.\nSuggestion: Ask for one month.\nRetry: no. It takes an hour."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := annotated(t, tc.tool, nil, harness.Fail(tc.err)).Call(t, "it")
			require.Equal(t, tc.want, shown(got.Text()))
			require.NotContains(t, string(got.Wire), harness.Canary)

			// The machine form says the same.
			said, ok := got.Fault().Retry()
			require.Equal(t, strings.Contains(got.Text(), "\nRetry: ") || strings.Contains(got.Text(), "\nThe service asks to wait "), ok)
			switch kind := got.Fault().Kind(); {
			case !ok:
				require.NotContains(t, got.Machine(), "retry")
			case kind != fault.KindValidation && kind != fault.KindUnauthenticated: // which have lines of their own
				require.Contains(t, got.Text(), said.String())
			}
		})
	}
}

// upstream is the error of an HTTP client.
type upstream struct{ after time.Duration }

func (upstream) Error() string               { return harness.Canary }
func (upstream) StatusCode() int             { return http.StatusTooManyRequests }
func (u upstream) RetryAfter() time.Duration { return u.after }

// serialization is the error of a database that rolled back.
type serialization struct{}

func (serialization) Error() string    { return harness.Canary }
func (serialization) SQLState() string { return "40001" }

func TestTheMachineForm(t *testing.T) {
	machine := func(err error) any {
		return annotated(t, nil, nil, harness.Fail(err)).Call(t, "it").Machine()["retry"]
	}
	require.Equal(t, map[string]any{"should_retry": true, "retry_after_seconds": 30.0, "next_attempt": 2.0, "max_attempts": 3.0},
		machine(fault.RateLimited("the search API", 30*time.Second)))
	require.Nil(t, machine(context.DeadlineExceeded), "nobody knows")
	require.Nil(t, machine(errRefused), "an error proves what it is, never what became of the call")
	require.Nil(t, machine(fault.Timeout("it", 0)))
	require.Equal(t, map[string]any{"retry_after_seconds": 45.0}, machine(upstream{45 * time.Second}), "a fact, and no advice")
	often := annotated(t, nil, nil, limited(30*time.Second))
	for range 2 {
		often.Call(t, "it")
	}
	require.Equal(t, map[string]any{"should_retry": false, "reason": "This call has failed 3 times. Try another way, or tell the user what does not work."},
		often.Call(t, "it").Machine()["retry"], "no wait for what is over")
	require.Equal(t, map[string]any{"should_retry": false}, machine(fault.Invalid("a", 1, "a text")))
	none := fault.Unavailable("it").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
	refused := machine(none).(map[string]any)
	require.Contains(t, []any{1.0, 2.0}, refused["retry_after_seconds"], "whole seconds")
	delete(refused, "retry_after_seconds")
	require.Equal(t, map[string]any{"should_retry": true, "next_attempt": 2.0, "max_attempts": 3.0, "effect": "none"}, refused)
}

// What is not certain to be harmless is not said to be, whoever says that it may be
// made again.
func TestAWriteOfUnknownEffectIsNeverToBeRepeated(t *testing.T) {
	yes := fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown, RetryAfterSeconds: 1}
	errOwn := errors.New("own")
	rules := []fault.HintRule{func(err error) (fault.Hint, bool) {
		return fault.Hint{Retry: fault.RetryYes}, errors.Is(err, errOwn)
	}}
	for _, tc := range []struct {
		name string
		err  error
		said bool // that the effect is not known; otherwise nothing is said
	}{
		{"handler", fault.New(fault.KindConflict, "m").WithRetry(yes), true},
		{"handler, of a refusal", fault.Unavailable("the bank").WithRetry(yes), true},
		{"a method of the error", fault.New(fault.KindServerError, "m").Because(unsureError{}), true},
		{"rule", errOwn, false},
		{"rule, for a refusal", fault.New(fault.KindConflict, "m").Because(errOwn), false},
		{"deadline", context.DeadlineExceeded, false},
		{"reset", errReset, false},
		{"server error", fault.New(fault.KindServerError, "m"), false},
	} {
		for _, tool := range []struct {
			name string
			*mcp.ToolAnnotations
			repeatable func(string) bool
			want       bool
		}{
			{"unknown", nil, nil, false},
			{"additive", additive, nil, false},
			{"read only", readOnly, nil, true},
			{"idempotent", harmless, nil, true},
			{"program says no", readOnly, never, false},
			{"program says yes", nil, always, true},
		} {
			t.Run(tc.name+"/"+tool.name, func(t *testing.T) {
				opts := &retry.Options{Rules: rules, Repeatable: tool.repeatable}
				got := annotated(t, tool.ToolAnnotations, opts, harness.Fail(tc.err)).Call(t, "it")
				said, ok := got.Fault().Retry()
				require.Equal(t, tool.want, said.ShouldRetry)
				switch {
				case tool.want:
					require.Empty(t, said.Effect, "it would read as a contradiction")
					require.Contains(t, got.Text(), "Retry: yes, after ")
				case tc.said:
					require.Equal(t, fault.EffectUnknown, said.Effect)
					require.Contains(t, got.Text(), "Retry: no, unless you see that it did not take effect.")
				default:
					require.False(t, ok)
					require.NotContains(t, got.Text(), "Retry:")
				}
			})
		}
	}
}

type unsureError struct{}

func (unsureError) Error() string        { return harness.Canary }
func (unsureError) Effect() fault.Effect { return fault.EffectUnknown }

// A tool is what it is now, not what it was when it first failed: a change is seen within a second.
func TestAReplacedToolIsReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := annotated(t, readOnly, nil, harness.Fail(context.DeadlineExceeded))
		require.Contains(t, s.Call(t, "it").Text(), "Retry: yes")
		s.Server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, context.DeadlineExceeded
			})
		time.Sleep(time.Second)
		require.NotContains(t, s.Call(t, "it").Text(), "Retry:")
	})
}

func TestGuidanceInEveryShape(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{
				"limited": limited(30 * time.Second), "stuck": harness.Fail(context.DeadlineExceeded), "fine": harness.Succeed(),
			},
			Middleware: chain(harness.NewLog(slog.LevelError+1), nil),
		})
		first := s.Call(t, "limited")
		second := s.Call(t, "limited")
		if at.Shape == harness.ServerCompletion { // not counted: each keystroke is another one
			require.Contains(t, first.Text(), "\nRetry: yes, after 30 s (3 attempts at most).")
			require.Equal(t, first.Text(), second.Text())
		} else {
			require.Equal(t, "Rate limited: the search API accepts no more calls now.\nRetry: yes, after 30 s (attempt 2 of 3).", first.Text())
			require.Equal(t, "Rate limited: the search API accepts no more calls now.\nRetry: yes, after 30 s (attempt 3 of 3).", second.Text())
		}
		stuck := s.Call(t, "stuck")
		if at.Shape.Tool() {
			require.NotContains(t, stuck.Text(), "effect")
			require.NotContains(t, stuck.Text(), "Retry:")
			require.NotContains(t, stuck.Machine(), "retry")
		} else {
			require.Contains(t, stuck.Text(), "Retry: yes, after ")
			require.Equal(t, true, stuck.Machine()["retry"].(map[string]any)["should_retry"])
		}
		fine := s.Call(t, "fine")
		require.NoError(t, fine.Err)
		require.NotContains(t, string(fine.Wire), "etry")
	})
}

// Guidance works alone, and in any order with the others.
func TestGuidanceInEveryOrder(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	layers := map[string]mcp.Middleware{
		"recover":   mcprecover.New(&mcprecover.Options{Logger: log.Logger()}),
		"correlate": correlate.New(&correlate.Options{Logger: log.Logger()}),
		"mask":      mask.New(&mask.Options{Logger: log.Logger()}),
		"retry":     retry.New(nil),
	}
	for name, layer := range layers {
		for _, mw := range [][]mcp.Middleware{{layer, retry.New(nil)}, {retry.New(nil), layer}} {
			harness.Each(t, []harness.Shape{harness.ServerTyped, harness.WrapTool, harness.ServerPrompt}, func(t *testing.T, at harness.Place) {
				got := harness.Call(t, at, limited(30*time.Second), mw...)
				require.Equal(t, "Rate limited: the search API accepts no more calls now.\nRetry: yes, after 30 s (attempt 2 of 3).", got.Text(), name)
			})
		}
	}
}

// However often one of them stands in a chain, a failure is counted once.
func TestTwoOfThemCountOnce(t *testing.T) {
	one := retry.New(nil)
	for name, mw := range map[string][]mcp.Middleware{
		"the same": {one, one}, "another": {retry.New(nil), retry.New(&retry.Options{MaxAttempts: 3})},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, rawAt, harness.Setup{Handlers: map[string]harness.Handler{"it": limited(time.Second)}, Middleware: mw})
			require.Contains(t, s.Call(t, "it").Text(), "(attempt 2 of 3)")
			require.Contains(t, s.Call(t, "it").Text(), "(attempt 3 of 3)")
			require.Contains(t, s.Call(t, "it").Text(), "Retry: no. This call has failed 3 times.")
		})
	}
	t.Run("a refusal does not count", func(t *testing.T) {
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers: map[string]harness.Handler{"it": harness.Fail(fault.NotFound("project", "zebra"))},
			Middleware: []mcp.Middleware{
				retry.New(&retry.Options{RefuseAfter: 2}),
				retry.New(&retry.Options{RefuseAfter: 1}),
			},
		})
		s.Call(t, "it")
		for range 5 {
			require.Contains(t, s.Call(t, "it").Text(), "Repeated failure: this exact call has failed once, so for the next 30 s it is run only once every 2 s.")
		}
	})
	t.Run("the inner one decides", func(t *testing.T) {
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": limited(time.Second)},
			Middleware: []mcp.Middleware{retry.New(nil), retry.New(&retry.Options{MaxAttempts: 9})},
		})
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2 of 9)")
	})
}

func TestWaitsGrow(t *testing.T) {
	opts := &retry.Options{InitialInterval: time.Second, MaxAttempts: 1000, RefuseAfter: -1}
	s := annotated(t, readOnly, opts, harness.Fail(errRefused))
	for _, want := range []struct{ from, to float64 }{{1, 2}, {1, 3}, {2, 6}, {4, 12}, {8, 24}, {15, 30}, {15, 30}} {
		said, _ := s.Call(t, "it").Fault().Retry()
		require.GreaterOrEqual(t, said.RetryAfterSeconds, want.from)
		require.LessOrEqual(t, said.RetryAfterSeconds, want.to)
	}
	var different bool
	for range 20 {
		a, _ := s.Call(t, "it").Fault().Retry()
		b, _ := s.Call(t, "it").Fault().Retry()
		different = different || a.RetryAfterSeconds != b.RetryAfterSeconds
	}
	require.True(t, different, "there is no jitter")

	endless := &retry.Options{InitialInterval: math.MaxInt64, MaxAttempts: 1000, RefuseAfter: -1}
	s = annotated(t, readOnly, endless, harness.Fail(errRefused))
	for range 70 {
		said, _ := s.Call(t, "it").Fault().Retry()
		require.Greater(t, said.RetryAfterSeconds, 1e9)
	}

	s = annotated(t, readOnly, &retry.Options{InitialInterval: time.Millisecond, MaxAttempts: 1000, RefuseAfter: -1}, harness.Fail(errRefused))
	for range 70 {
		require.Contains(t, s.Call(t, "it").Text(), "Retry: yes, after 1 s (attempt ")
	}

	long := annotated(t, nil, opts, limited(time.Hour)).Call(t, "it")
	require.Contains(t, long.Text(), "Retry: not now: possible again in 1 h; tell the user.", "a wait that was asked for is not cut")
}

func TestWhatIsTheSameCall(t *testing.T) {
	s := annotated(t, nil, nil, limited(time.Second))
	attempt := func(args string) string {
		got := s.CallTool(t.Context(), "it", json.RawMessage(args))
		_, text, _ := strings.Cut(got.Text(), "Retry: ")
		return text
	}
	require.Equal(t, "yes, after 1 s (attempt 2 of 3).", attempt(`{"a":1,"b":[1,2]}`))
	require.Equal(t, "yes, after 1 s (attempt 3 of 3).", attempt(`{ "b": [1, 2], "a": 1.0 }`), "the same in another order and layout")
	require.Equal(t, "yes, after 1 s (attempt 2 of 3).", attempt(`{"a":1,"b":[2,1]}`), "another list")
	require.Equal(t, "yes, after 1 s (attempt 2 of 3).", attempt(`{"a":"1","b":[1,2]}`), "a text is no number")
	require.Equal(t, "yes, after 1 s (attempt 2 of 3).", attempt(`{}`))
	require.Contains(t, attempt(`{"a":1,"b":[1,2]}`), "no. This call has failed 3 times.")
	for _, amounts := range [][2]string{{"123456789012345678901", "123456789012345678902"}, {"0.1", "0.1000000000000000000001"}, {"1e400", "1e401"}} {
		for _, amount := range amounts {
			require.Contains(t, attempt(`{"amount":`+amount+`}`), "(attempt 2 of 3)", "differs beyond a float64")
		}
	}
}

func TestWhatTheCallerCounts(t *testing.T) {
	for _, tc := range []struct {
		name string
		meta mcp.Meta
		want string
	}{
		{"ours", mcp.Meta{retry.AttemptKey: 2}, "yes, after 1 s (attempt 3 of 3)."},
		{"somebody else's", mcp.Meta{"attempt": 3}, "yes, after 1 s (attempt 2 of 3)."},
		{"the last", mcp.Meta{retry.AttemptKey: 3}, "no. This call has failed 3 times."},
		{"text", mcp.Meta{retry.AttemptKey: "2"}, "yes, after 1 s (attempt 3 of 3)."},
		{"half", mcp.Meta{retry.AttemptKey: 1.5}, "yes, after 1 s (attempt 2 of 3)."},
		{"negative", mcp.Meta{retry.AttemptKey: -1}, "yes, after 1 s (attempt 2 of 3)."},
		{"huge", mcp.Meta{retry.AttemptKey: 1e300}, "yes, after 1 s (attempt 2 of 3)."},
		{"nonsense", mcp.Meta{retry.AttemptKey: map[string]any{}}, "yes, after 1 s (attempt 2 of 3)."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := annotated(t, nil, nil, limited(time.Second))
			res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Meta: tc.meta})
			require.NoError(t, err)
			require.Contains(t, harness.Answer{Result: res}.Text(), "Retry: "+tc.want)
		})
	}
}

func TestWhatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		s := annotated(t, nil, nil, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			if fail {
				return limited(time.Minute)(ctx, req)
			}
			return harness.Success(req), nil
		})
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2 of 3)")
		fail = false
		require.Equal(t, "fine", s.Call(t, "it").Text())
		fail = true
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2 of 3)", "a success forgets")
		time.Sleep(time.Minute + 9*time.Minute)
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 3 of 3)", "the wait does not count")
		time.Sleep(time.Minute + 10*time.Minute)
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2 of 3)", "time forgets")

		// A wait of our own does not count either, however long it may be.
		slow := annotated(t, readOnly, &retry.Options{InitialInterval: time.Hour}, harness.Fail(errRefused))
		said, _ := slow.Call(t, "it").Fault().Retry()
		require.Equal(t, 2, said.NextAttempt)
		time.Sleep(time.Hour)
		said, _ = slow.Call(t, "it").Fault().Retry()
		require.Equal(t, 3, said.NextAttempt)
	})
}

// errorWith fails with what it is told, and counts its runs.
type errorWith struct {
	mu   sync.Mutex
	err  error
	runs int
}

func (e *errorWith) handle(_ context.Context, req mcp.Request) (mcp.Result, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs++
	if e.err == nil {
		return harness.Success(req), nil
	}
	return nil, e.err
}

func TestTheLoopBreaker(t *testing.T) {
	bubble(t, []harness.Shape{
		harness.ServerTyped, harness.ServerRaw, harness.ServerResource, harness.ServerPrompt,
		harness.WrapAddTool, harness.WrapTool, harness.WrapResource, harness.WrapPrompt,
	}, func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelInfo)
		h := &errorWith{err: fault.NotFound("project", "zebra")}
		s := harness.Start(t, at, harness.Setup{Handlers: map[string]harness.Handler{"it": h.handle, "other": limited(time.Second)}, Middleware: chain(log, nil)})
		for range 3 {
			require.Contains(t, s.Call(t, "it").Text(), "Retry: no. The same call will fail again.")
		}
		for _, n := range []int{4, 5, 6} {
			require.Equal(t, fmt.Sprintf("Not found: project 'zebra' does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first.\n"+
				"Retry: no. This exact call has failed %d times with the same error. Find out what exists, or ask the user.", n), s.Call(t, "it").Text())
		}
		require.Equal(t, 6, h.runs)

		time.Sleep(1500 * time.Millisecond)
		refused := s.Call(t, "it")
		require.Equal(t, 6, h.runs, "not run")
		require.Equal(t, "Repeated failure: this exact call has failed 6 times, so for the next 29 s it is run only once every 2 s. "+
			"Its last error was: Not found: project 'zebra' does not exist.\n"+
			"Retry: no. Calls with other arguments are made as before.", refused.Text())
		require.Equal(t, "REPEATED_FAILURE", refused.Machine()["code"])
		require.Equal(t, "repeated_failure", refused.Machine()["type"])
		require.Equal(t, "refused", log.Records()[6]["outcome"], "recorded like any other")
		require.Contains(t, s.Call(t, "other").Text(), "(attempt 2 of 3)", "another call is run")

		time.Sleep(500 * time.Millisecond)
		require.Contains(t, s.Call(t, "it").Text(), "This exact call has failed 7 times", "a probe is run")
		require.Contains(t, s.Call(t, "it").Text(), "so for the next 30 s")
		require.Equal(t, 7, h.runs)

		time.Sleep(31 * time.Second)
		h.err = nil
		require.Equal(t, "fine", s.Call(t, "it").Text())
		require.Equal(t, "fine", s.Call(t, "it").Text())
		h.err = fault.NotFound("project", "zebra")
		require.Contains(t, s.Call(t, "it").Text(), "Retry: no. The same call will fail again.", "a success forgets it all")
	})
}

// Another error is another story, but the same one with other numbers is not.
func TestTheSameError(t *testing.T) {
	n := 0
	words := []string{"the oven is cold", "the oven is hot", "the oven is cold", "the oven is hot", "the oven is cold"}
	s := annotated(t, nil, nil, func(context.Context, mcp.Request) (mcp.Result, error) {
		n++
		return nil, fault.New("oven", words[n-1])
	})
	for range words {
		require.NotContains(t, s.Call(t, "it").Text(), "This exact call")
	}
	n = 0
	s = annotated(t, nil, nil, func(context.Context, mcp.Request) (mcp.Result, error) {
		n++
		return nil, fault.New("oven", fmt.Sprintf("the oven had %d degrees at 12:0%d", n*77, n))
	})
	for range 3 {
		s.Call(t, "it")
	}
	require.Contains(t, s.Call(t, "it").Text(), "This exact call has failed 4 times with the same error.")
}

func TestTheStreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &errorWith{}
		s := annotated(t, readOnly, nil, h.handle)
		try := func(i int) string { return s.CallTool(t.Context(), "it", map[string]any{"guess": i}).Text() }
		h.err = errors.New("index out of range")
		for i := range 9 {
			require.Contains(t, try(i), "One more try does no harm.")
		}
		require.Contains(t, try(9), "Retry: no. The last 10 calls of this tool have failed. Try another way, or tell the user what does not work.")
		for i := 10; i < 20; i++ {
			require.Contains(t, try(i), fmt.Sprintf("The last %d calls of this tool", i+1))
		}
		require.Equal(t, 20, h.runs)
		require.Contains(t, try(20), "Repeated failure: the last 20 calls of this tool have failed, so for the next 30 s it is run only once every 2 s. "+
			"Its last error was: Internal error: the server failed unexpectedly.\nRetry: no. Other tools can be called as before.")
		require.Equal(t, 20, h.runs)
		time.Sleep(2 * time.Second)
		h.err = nil
		require.Equal(t, "fine", try(21), "a probe finds out that it works again")
		require.Equal(t, "fine", try(22))
		h.err = errors.New("index out of range")
		require.Contains(t, try(23), "One more try does no harm.")
	})
}

// What the caller did wrong says nothing about other arguments: a search for the right
// name is not refused, however long it takes.
func TestASearchIsNoStreak(t *testing.T) {
	for name, err := range map[string]error{
		"not found": fault.NotFound("project", "zebra"), "wrong": fault.Invalid("guess", 1, "another number"),
		"denied": fault.Denied("read", "it"), "conflict": fault.New(fault.KindConflict, "locked"), "own kind": fault.New("shop_closed", "closed"),
	} {
		t.Run(name, func(t *testing.T) {
			h := &errorWith{err: err}
			s := annotated(t, nil, nil, h.handle)
			for i := range 50 {
				require.NotContains(t, s.CallTool(t.Context(), "it", map[string]any{"guess": i}).Text(), "of this tool")
			}
			h.err = nil
			require.Equal(t, "fine", s.CallTool(t.Context(), "it", map[string]any{"guess": 51}).Text())
		})
	}
}

// What shows that a tool, or what it needs, is broken counts for the tool, where the
// answer was no; a read that fails so may be repeated, and does not.
func TestWhatIsBroken(t *testing.T) {
	for name, err := range map[string]error{
		"a bug": errors.New("index out of range"), "a timeout": context.DeadlineExceeded, "a connection": errReset,
		"an answer": fault.New(fault.KindServerError, "it failed"),
	} {
		t.Run(name, func(t *testing.T) {
			h := &errorWith{err: err}
			s := annotated(t, nil, nil, h.handle)
			for i := range 20 {
				s.CallTool(t.Context(), "it", map[string]any{"page": i})
			}
			require.Contains(t, s.CallTool(t.Context(), "it", map[string]any{"page": 21}).Text(), "the last 20 calls of this tool have failed")
			require.Equal(t, 20, h.runs)
			if name == "a bug" {
				return
			}
			s = annotated(t, readOnly, nil, h.handle)
			for i := range 50 {
				require.Contains(t, s.CallTool(t.Context(), "it", map[string]any{"page": i}).Text(), "Retry: yes, after ")
			}
		})
	}
}

// A caller that polls is told to, and is never refused.
func TestAPoll(t *testing.T) {
	s := annotated(t, nil, nil, harness.Fail(retry.NotReady("the export", 5*time.Second)))
	for range 50 {
		got := s.Call(t, "it")
		require.Equal(t, "Not ready: the export is not ready yet.\nRetry: yes, after 5 s.", got.Text())
		require.Equal(t, map[string]any{"should_retry": true, "retry_after_seconds": 5.0}, got.Machine()["retry"])
	}
}

// Who does as it is told is no loop: a wave of calls that are to come back are all let
// through.
func TestTheStreakSparesTheObedient(t *testing.T) {
	h := &errorWith{err: fault.RateLimited("the search API", time.Second)}
	s := annotated(t, nil, nil, h.handle)
	for i := range 100 {
		require.Contains(t, s.CallTool(t.Context(), "it", map[string]any{"page": i}).Text(), "Retry: yes, after 1 s (attempt 2 of 3).")
	}
}

func TestTheBreakerCanBeSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(opts retry.Options, err error, calls int) (texts []string, runs int) {
			h := &errorWith{err: err}
			s := annotated(t, nil, &opts, h.handle)
			for range calls {
				texts = append(texts, s.Call(t, "it").Text())
			}
			return texts, h.runs
		}
		gone := fault.NotFound("project", "zebra")
		texts, runs := run(retry.Options{RefuseAfter: -1}, gone, 50)
		require.Equal(t, 50, runs)
		require.Contains(t, texts[49], "Retry: no. The same call will fail again.")

		texts, runs = run(retry.Options{RefuseAfter: 1}, gone, 2)
		require.Equal(t, 1, runs)
		require.Contains(t, texts[0], "This exact call has failed once with the same error.")
		require.Contains(t, texts[1], "so for the next 30 s")

		texts, runs = run(retry.Options{MaxAttempts: 1, RefuseAfter: 5}, gone, 6)
		require.Equal(t, 5, runs)
		require.NotContains(t, texts[1], "This exact call")
		require.Contains(t, texts[2], "This exact call has failed 3 times with the same error.")

		texts, runs = run(retry.Options{Owner: func(context.Context, mcp.Request) string { return "" }}, gone, 50)
		require.Equal(t, 50, runs)
		require.Contains(t, texts[49], "Retry: no. The same call will fail again.")

		// More attempts come before the breaker, whoever gives them.
		texts, runs = run(retry.Options{MaxAttempts: 10}, fault.RateLimited("it", time.Second), 20)
		require.Contains(t, texts[8], "(attempt 10 of 10)")
		require.Contains(t, texts[9], "Retry: no. This call has failed 10 times.")
		require.Contains(t, texts[10], "This exact call has failed 11 times")
		require.Equal(t, 13, runs)
		more := fault.RateLimited("it", 0).WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, MaxAttempts: 10})
		texts, runs = run(retry.Options{}, more, 20)
		require.Contains(t, texts[8], "(attempt 10 of 10)")
		require.Contains(t, texts[9], "Retry: no. This call has failed 10 times.")
		require.Contains(t, texts[10], "This exact call has failed 11 times")
		require.Equal(t, 13, runs)
	})
}

// Of a tool's own words we say nothing and count nothing.
func TestAToolsOwnWords(t *testing.T) {
	s := annotated(t, nil, nil, harness.Tell())
	for range 30 {
		got := s.Call(t, "it")
		require.Equal(t, harness.ToldText, got.Text())
		require.NotContains(t, got.Machine(), "retry")
	}
}

// SetError leads from what a tool said to its cause: the words stay, and all the rest is
// that of the cause.
func TestTheCauseOfAToolsOwnWords(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	for _, tc := range []struct {
		name  string
		cause error
		kind  string
		retry map[string]any // nil: none
		level string
	}{
		{"a fault", fault.RateLimited("the API", 30*time.Second).WithCode("SLOW"), "rate_limited",
			map[string]any{"should_retry": true, "retry_after_seconds": 30.0, "next_attempt": 2.0, "max_attempts": 3.0}, "INFO"},
		{"an error of a standard kind", errReset, "connection_failed", nil, "WARN"},
		{"nothing known", errCanary, "tool_error", nil, "INFO"},
		{"no cause", nil, "tool_error", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			records := len(log.Records())
			s := harness.Start(t, rawAt, harness.Setup{
				Handlers: map[string]harness.Handler{"it": func(_ context.Context, _ mcp.Request) (mcp.Result, error) {
					res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: harness.ToldText}}}
					if tc.cause != nil {
						res.SetError(tc.cause)
					}
					return res, nil
				}},
				Middleware: chain(log, nil),
			})
			got := s.Call(t, "it")
			require.Equal(t, harness.ToldText, got.Text())
			if tc.kind == "tool_error" {
				require.Empty(t, got.Machine())
			} else {
				require.Equal(t, tc.kind, got.Machine()["type"])
				require.Equal(t, tc.retry == nil, got.Machine()["retry"] == nil)
				if tc.retry != nil {
					require.Equal(t, tc.retry, got.Machine()["retry"])
				}
			}
			require.NotContains(t, string(got.Wire), harness.Canary)
			record := log.Records()[records]
			if tc.level != "" {
				require.Equal(t, tc.level, record["level"])
				require.Contains(t, fmt.Sprint(record["error"]), safe.Error(tc.cause)[:10])
			}
		})
	}
}

// Functions of the program's own that panic say nothing.
func TestCallbacksThatPanic(t *testing.T) {
	s := annotated(t, readOnly, &retry.Options{Repeatable: func(string) bool { panic("own") }}, harness.Fail(context.DeadlineExceeded))
	require.NotContains(t, s.Call(t, "it").Text(), "Retry:", "it is not known that it only reads")
	s = annotated(t, readOnly, &retry.Options{Owner: func(context.Context, mcp.Request) string { panic("own") }}, limited(time.Second))
	require.Contains(t, s.Call(t, "it").Text(), "(3 attempts at most)", "not counted")
}

// What the SDK itself answers counts as well: it happens inside.
func TestWhatTheSDKAnswers(t *testing.T) {
	type in struct {
		N int `json:"n"`
	}
	runs := 0
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: chain(harness.NewLog(slog.LevelError+1), nil),
		More: func(s *mcp.Server) {
			mcp.AddTool(s, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
				runs++
				return nil, nil, nil
			})
		},
	})
	for range 3 {
		require.Contains(t, s.CallTool(t.Context(), "typed", map[string]any{"n": "x"}).Text(), "Retry: only with corrected arguments.")
	}
	for range 3 {
		require.Contains(t, s.CallTool(t.Context(), "typed", map[string]any{"n": "x"}).Text(), "This exact call has failed")
	}
	require.Contains(t, s.CallTool(t.Context(), "typed", map[string]any{"n": "x"}).Text(), "it is run only once every 2 s")
	require.Zero(t, runs)

	// A protocol error is sent as it is, and its caller is refused in the end.
	for range 6 {
		got := s.CallTool(t.Context(), "nothing", nil)
		require.Equal(t, `unknown tool "nothing"`, got.Protocol().Message)
		require.EqualValues(t, jsonrpc.CodeInvalidParams, got.Protocol().Code)
	}
	require.Contains(t, s.CallTool(t.Context(), "nothing", nil).Text(), "this exact call has failed 6 times")

	// What two programs settle between them is not counted.
	login := &errorWith{err: &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "log in first"}}
	s = annotated(t, nil, nil, login.handle)
	for range 10 {
		require.EqualValues(t, mcp.CodeURLElicitationRequired, s.Call(t, "it").Protocol().Code)
	}
	require.Equal(t, 10, login.runs)
}

// Lists, pings and the like are never refused, and get no more than guidance.
func TestWhatIsNotCounted(t *testing.T) {
	broken := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case call.MethodListTools, call.MethodPing:
				return nil, context.DeadlineExceeded
			}
			return next(ctx, method, req)
		}
	}
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Older}, harness.Setup{
		Handlers:   map[string]harness.Handler{"it": harness.Succeed()},
		Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), retry.New(nil), broken},
	})
	for range 30 {
		_, err := s.Client.ListTools(t.Context(), nil)
		require.ErrorContains(t, err, "Retry: yes, after ")
		require.ErrorContains(t, err, "(3 attempts at most)")
		require.ErrorContains(t, s.Client.Ping(t.Context(), nil), "Retry: yes, after ")
	}
	require.Equal(t, "fine", s.Call(t, "it").Text())
}

// Of a lookup of mcpchain's own nothing is said: nobody reads it.
func TestALookupOfOurs(t *testing.T) {
	var failed, guided int
	looking := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Method() == middleware.MethodCallTool {
			for _, err := range c.Server().Tools() { // which comes here again, as a lookup
				require.Error(t, err)
			}
		}
		res, err := next(ctx, c.Method(), req)
		if f := c.Failure(res, err); c.Quiet() && f != nil {
			failed++
			if f.Guided() {
				guided++
			}
		}
		return res, err
	})
	broken := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == call.MethodListTools {
				return nil, context.DeadlineExceeded
			}
			return next(ctx, method, req)
		}
	}
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{"it": harness.Succeed()}, Middleware: []mcp.Middleware{looking, retry.New(nil), broken},
	})
	require.Equal(t, "fine", s.Call(t, "it").Text())
	require.Equal(t, 1, failed)
	require.Zero(t, guided)
}

// A result that asks for input is neither a success nor a failure.
func TestInputRequired(t *testing.T) {
	asks := false
	failing := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		if asks {
			return &mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Your name?", RequestedSchema: map[string]any{"type": "object"}}},
			}, nil
		}
		return limited(time.Second)(ctx, req)
	}
	handler := middleware.Chain(retry.New(&retry.Options{Owner: func(context.Context, mcp.Request) string { return "ann" }}))(
		func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) { return failing(ctx, req) })
	c := func() mcp.Result {
		res, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
		require.NoError(t, err)
		return res
	}
	require.Contains(t, harness.Answer{Result: c()}.Text(), "(attempt 2 of 3)")
	asks = true
	require.NotNil(t, c().(*mcp.CallToolResult).InputRequests)
	require.NotContains(t, c().(*mcp.CallToolResult).Meta, middleware.MetaKey)
	asks = false
	require.Contains(t, harness.Answer{Result: c()}.Text(), "(attempt 3 of 3)")
}

// A caller that has gone reads nothing, and what it gave up is not held against it.
func TestACancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	owner := func(context.Context, mcp.Request) string { return "ann" }
	handler := retry.New(&retry.Options{Owner: owner})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fault.RateLimited("it", time.Second)
	})
	c := func(ctx context.Context) *fault.Error {
		f, failed := middleware.FaultOf(handler(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}))
		require.True(t, failed)
		return f
	}
	for range 10 {
		_, said := c(ctx).Retry()
		require.False(t, said)
	}
	require.Contains(t, c(t.Context()).Text(), "(attempt 2 of 3)")
}

// Lookups of mcpchain's own, notifications and requests without parameters pass.
func TestWhatPasses(t *testing.T) {
	err := fault.New(fault.KindConflict, "x")
	for name, tc := range map[string]struct {
		method string
		req    mcp.Request
	}{
		"notification":        {"notifications/initialized", &mcp.InitializedRequest{}},
		"listen":              {call.MethodListen, &mcp.CallToolRequest{}},
		"no request":          {middleware.MethodCallTool, nil},
		"nil request":         {middleware.MethodCallTool, (*mcp.CallToolRequest)(nil)},
		"nil resource":        {middleware.MethodReadResource, (*mcp.ReadResourceRequest)(nil)},
		"nil prompt":          {middleware.MethodGetPrompt, (*mcp.GetPromptRequest)(nil)},
		"no parameters":       {middleware.MethodCallTool, &mcp.CallToolRequest{}},
		"no session":          {middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: []byte("{")}}},
		"no prompt's session": {middleware.MethodGetPrompt, &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "it"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen *fault.Error
			outer := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
				res, err := next(ctx, c.Method(), req)
				seen = c.Failure(res, err).Fault()
				return res, err
			})
			h := middleware.Chain(outer, retry.New(nil))(
				func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, err })
			_, _ = h(t.Context(), tc.method, tc.req)
			_, said := seen.Retry()
			require.Equal(t, !strings.HasPrefix(tc.method, "notifications/") && tc.method != call.MethodListen, said)
		})
	}
}

func TestNothingPrivateLeaves(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{
				"error": harness.Fail(errCanary),
				"panic": harness.Panic(harness.Canary),
				"cause": harness.Fail(fault.Unavailable("the bank").Because(errCanary)),
				"wait":  harness.Fail(fmt.Errorf("%w: %w", errCanary, context.DeadlineExceeded)),
			},
			Middleware: chain(harness.NewLog(slog.LevelError+1), nil),
		})
		for range 8 {
			for _, name := range []string{"error", "panic", "cause", "wait"} {
				require.NotNil(t, s.Call(t, name).Fault())
			}
		}
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}

func TestOptionsOfNew(t *testing.T) {
	require.NotPanics(t, func() { retry.New(nil) })
	rule := func(error) (fault.Hint, bool) { return fault.Hint{}, false }
	o := retry.Options{Rules: []fault.HintRule{rule}, InitialInterval: time.Minute}
	retry.New(&o)
	require.Zero(t, o.MaxAttempts)
	require.Zero(t, o.RefuseAfter)
	for text, bad := range map[string]retry.Options{
		"retry.New: Options.MaxAttempts is negative; leave it zero for the default":     {MaxAttempts: -1},
		"retry.New: Options.InitialInterval is negative; leave it zero for the default": {InitialInterval: -1},
		"retry.New: Options.Rules[1] is nil; remove it or give a rule":                  {Rules: []fault.HintRule{rule, nil}},
	} {
		require.PanicsWithValue(t, text, func() { retry.New(&bad) })
	}
}

func TestGuidanceConcurrently(t *testing.T) {
	harness.NoLeaks(t)
	s := annotated(t, nil, nil, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		if strings.Contains(string(req.(*mcp.CallToolRequest).Params.Arguments), "fail") {
			return nil, fault.NotFound("project", "zebra")
		}
		return harness.Success(req), nil
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				args := map[string]any{"n": j % 10, "i": i, "fail": true}
				if j%3 == 0 {
					delete(args, "fail")
				}
				got := s.CallTool(t.Context(), "it", args)
				switch f := got.Fault(); {
				case f == nil && j%3 == 0 && got.Text() == "fine":
				case f != nil && strings.Contains(got.Text(), "\nRetry: no. ") && (j%3 != 0 || f.Code() == "REPEATED_FAILURE"):
				default:
					t.Errorf("unexpected: %s", got.Text())
				}
			}
		})
	}
	wg.Wait()
}

// TestTheRefusalRepeatsTheFirstLine: it stays whole, and what is left out is counted.
func TestTheRefusalRepeatsTheFirstLine(t *testing.T) {
	long := strings.Repeat("the column is not in any of the tables ", 12) + "end"
	for name, tt := range map[string]struct {
		text, want string
	}{
		"a long line":          {long, long + "."},
		"a line and a few":     {"main.go:3: undefined: x\nmain.go:4: undefined: y", "main.go:3: undefined: x\n> main.go:4: undefined: y\n"},
		"a line and many":      {long + "\nsee\nbelow", long + " [9 more characters left out]"},
		"a very long line":     {strings.Repeat("an ordinary word of many ", 100), " ordinary word of many"},
		"one of a single word": {strings.Repeat("x", 3000), " more characters left out]"},
	} {
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": harness.Fail(errors.New(tt.text))},
			Middleware: []mcp.Middleware{mask.New(&mask.Options{Reader: mask.Operator, Logger: slog.New(slog.DiscardHandler)}), retry.New(nil)},
		})
		var got string
		for range 8 {
			if got = s.Call(t, "it").Text(); strings.HasPrefix(got, "Repeated failure: ") {
				break
			}
		}
		_, last, found := strings.Cut(got, "Its last error was: ")
		require.True(t, found, name)
		require.Contains(t, last, tt.want, name)
		require.Less(t, len(last), 1200, name)
		if len(tt.text) > 600 {
			require.Regexp(t, ` \[\d+ more characters left out\]`, last, name)
		}
	}
}
