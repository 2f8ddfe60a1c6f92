package classify_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

func TestHintOfRealErrors(t *testing.T) {
	all := realHints(t)
	require.GreaterOrEqual(t, len(all), 55)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			for how, err := range map[string]error{
				"alone":                  c.err,
				"wrapped":                fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", c.err)),
				"beside a sentinel":      fmt.Errorf("%w: %w", errors.New(harness.Canary), c.err),
				"before a sentinel":      fmt.Errorf("%w: %w", c.err, errors.New(harness.Canary)),
				"joined alone":           errors.Join(nil, c.err),
				"joined with itself":     errors.Join(c.err, fmt.Errorf("again: %w", c.err)),
				"wrapped, then joined":   errors.Join(fmt.Errorf("%w", fmt.Errorf("%w", c.err))),
				"below a tree of others": wrapping{wrapping{fmt.Errorf("%w", errors.Join(wrapping{c.err}))}},
			} {
				public, want := failure.Classify(err), c.hint
				require.Equal(t, c.kind, public.Kind(), "%s: %v", how, err)
				require.Equal(t, want, failure.HintOf(err), "%s: %v", how, err)
				require.NotContains(t, public.Error(), harness.Canary)
			}
			require.NotContains(t, c.hint.Reason, harness.Canary)
		})
	}
}

func TestHintBelowAFault(t *testing.T) {
	for _, c := range realHints(t) {
		t.Run(c.name, func(t *testing.T) {
			// A kind of the author's own says nothing about a second try, so the cause does.
			got := failure.HintOf(fmt.Errorf("outer: %w", fault.New("own_kind", "it failed").Because(wrapping{c.err})))
			if c.hint == unknown {
				require.NotEqual(t, fault.RetryYes, got.Retry)
				return
			}
			require.Equal(t, c.hint.Retry, got.Retry)
			require.Equal(t, c.hint.After, got.After)
			require.Equal(t, c.hint.Status, got.Status)
			require.Equal(t, c.hint.Reason, got.Reason)

			// Not so one that the author chose because nothing but other arguments will do.
			got = failure.HintOf(fault.Invalid("n", 1, "a string").Because(c.err))
			require.Equal(t, fault.RetryNo, got.Retry)
			require.Zero(t, got.After)
		})
	}
}

// saying is an error that says of itself what its fields hold.
type saying struct {
	status    int
	after     time.Duration
	effect    fault.Effect
	state     string
	wrapped   error
	panicking string
}

func (s *saying) check(method string) {
	if s.panicking == method {
		panic(method + " panicked: " + harness.Canary)
	}
}
func (s *saying) Error() string             { return harness.Canary }
func (s *saying) Unwrap() error             { return s.wrapped }
func (s *saying) StatusCode() int           { s.check("StatusCode"); return s.status }
func (s *saying) RetryAfter() time.Duration { s.check("RetryAfter"); return s.after }
func (s *saying) Effect() fault.Effect      { s.check("Effect"); return s.effect }
func (s *saying) SQLState() string          { s.check("SQLState"); return s.state }

type retryable struct {
	yes bool
	err error
}

func (retryable) Error() string     { return harness.Canary }
func (r retryable) Unwrap() error   { return r.err }
func (r retryable) Retryable() bool { return r.yes }

type httpStatus int

func (httpStatus) Error() string         { return harness.Canary }
func (s httpStatus) HTTPStatusCode() int { return int(s) }

type answered struct{ resp *http.Response }

func (answered) Error() string              { return harness.Canary }
func (a answered) Response() *http.Response { return a.resp }

func TestHintByMethods(t *testing.T) {
	const minute = time.Minute
	for _, c := range []struct {
		name string
		err  error
		kind fault.Kind
		want fault.Hint
	}{
		{"status out of range", statusError(600), fault.KindInternal, unknown},
		{"the outermost status", &saying{status: 429, wrapped: statusError(503)}, fault.KindRateLimited, fault.Hint{Retry: yes, Status: 429}},
		{"response that is nil", answered{}, fault.KindInternal, unknown},
		{"not retryable, though its status is", retryable{err: statusError(503)}, fault.KindServiceUnavailable, fault.Hint{Retry: no, Status: 503, Reason: permanent}},
		{"retryable, though its status is not", retryable{yes: true, err: statusError(409)}, fault.KindConflict, fault.Hint{Retry: yes, Status: 409}},
		{"retryable inside of a status", &saying{status: 409, wrapped: retryable{yes: true}}, fault.KindConflict, fault.Hint{Retry: yes, Status: 409}},
		{"the outermost word", retryable{err: retryable{yes: true}}, fault.KindInternal, fault.Hint{Retry: no, Reason: permanent}},
		{"not retryable, with a wait", retryable{err: &saying{after: minute}}, fault.KindServiceUnavailable, fault.Hint{Retry: no, Reason: permanent}},
		{"endless wait", &saying{after: math.MaxInt64}, fault.KindServiceUnavailable, fault.Hint{Retry: yes, After: 30 * 24 * time.Hour}},
		{"effect without sense", &saying{status: 500, effect: harness.Canary}, fault.KindServerError, fault.Hint{Retry: yes, Status: 500}},
		{"typed nil", (*saying)(nil), fault.KindInternal, unknown},
		{"typed nil of ours", (*classify.ResponseError)(nil), fault.KindInternal, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, err := range []error{c.err, wrapping{wrapping{c.err}}, fmt.Errorf("%w: %w", errors.New("sentinel"), wrapping{c.err})} {
				require.Equal(t, c.kind, failure.Classify(err).Kind())
				require.Equal(t, c.want, failure.HintOf(err))
			}
		})
	}
	require.Zero(t, failure.HintOf(nil))
	require.Zero(t, failure.HintOf(nil, func(error) (fault.Hint, bool) { panic("asked") }))
}

func TestHintOfJoinedErrors(t *testing.T) {
	deep := errors.New(harness.Canary)
	for range 300 {
		deep = wrapping{deep}
	}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	nobody := errors.New(harness.Canary)
	for _, c := range []struct {
		name string
		err  error
		want fault.Hint
	}{
		{"one says no", errors.Join(statusError(503), statusError(400)), fault.Hint{Retry: no, Status: 503, Reason: fmt.Sprintf(client, 400)}},
		{"the same the other way round", errors.Join(statusError(400), statusError(503)), fault.Hint{Retry: no, Status: 400, Reason: fmt.Sprintf(client, 400)}},
		{"the longest wait", errors.Join(&saying{after: time.Second}, &saying{after: time.Minute}), fault.Hint{Retry: yes, After: time.Minute}},
		{"both refused", errors.Join(refused, fmt.Errorf("again: %w", refused)), fault.Hint{Retry: yes}},
		{"one refused, one not answered", errors.Join(refused, context.DeadlineExceeded), fault.Hint{Retry: yes}},
		{"one committed", errors.Join(refused, limitError{fault.EffectCommitted}), fault.Hint{Retry: yes, Effect: fault.EffectCommitted}},
		// Of several failures one that nobody knows may have changed something; of one
		// failure told twice the part that says nothing is a sentinel.
		{"one refused, one unknown", errors.Join(refused, nobody), fault.Hint{Retry: yes}},
		{"one refused, and a way back that failed", fmt.Errorf("%w; roll back: %w", refused, context.DeadlineExceeded), fault.Hint{Retry: yes}},
		{"not found in the clean-up", errors.Join(statusError(503), sql.ErrNoRows), fault.Hint{Retry: no, Status: 503}},
		{"an outer word", retryable{err: errors.Join(refused, refused)}, fault.Hint{Retry: no, Reason: permanent}},
		{"beside a fault", errors.Join(fault.New("own_kind", "it failed"), retryable{yes: true}), fault.Hint{Retry: yes}},
		{"a fault of which the kind is known, beside nobody", errors.Join(fault.RateLimited("it", 0), nobody), fault.Hint{Retry: yes}},
		{"a fault that says what else failed", fmt.Errorf("%w: %w", fault.New(fault.KindRateLimited, ""), nobody), fault.Hint{Retry: yes, Effect: none}},
		{"more than anybody looks at", errors.Join(slices.Repeat([]error{refused}, 300)...), fault.Hint{Retry: yes}},
		{"a refusal around more than anybody looks at", &saying{status: 429, wrapped: deep}, fault.Hint{Retry: yes, Status: 429}},
		{"beside a fault with guidance", errors.Join(fault.New("own_kind", "it failed").Never("it is over"), retryable{yes: true}), fault.Hint{Retry: no, Reason: "it is over"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, failure.HintOf(c.err))
		})
	}
}

func TestHintBelowFaults(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	down := fault.New(fault.KindConnectionFailed, "the shop cannot be reached")
	for _, c := range []struct {
		name string
		err  error
		want fault.Hint
	}{
		{"wait of the cause", down.Because(&saying{after: time.Minute}), fault.Hint{Retry: yes, After: time.Minute}},
		{"cause that says no", down.Because(statusError(400)), fault.Hint{Retry: no, Status: 400, Reason: fmt.Sprintf(client, 400)}},
		{"cause of a kind that says no", down.Because(sql.ErrNoRows), fault.Hint{Retry: yes}},
		{"wait of the cause, of a fault that does not say when", down.After(0).Because(&saying{after: time.Minute}), fault.Hint{Retry: yes, After: time.Minute}},
		{"fault as the cause", down.Because(fault.New("own_kind", harness.Canary).After(time.Minute)), fault.Hint{Retry: yes, After: time.Minute}},
		{"fault as the cause, that says no", down.Because(fault.New("own_kind", harness.Canary).Never(harness.Canary)), fault.Hint{Retry: no}},
		{"cause of the cause", down.Because(fault.New("own_kind", harness.Canary).Because(refused)), fault.Hint{Retry: yes}},
		{"panic as the cause", down.Because(&fault.PanicError{Value: refused}), unknown},
		{"protocol error as the cause", down.Because(&jsonrpc.Error{Code: 429, Message: harness.Canary}), fault.Hint{Retry: yes}},
		{"around the fault", fmt.Errorf("%w: %w", down, refused), fault.Hint{Retry: yes}},
		{"joined in the cause", down.Because(errors.Join(fault.NotFound("a", "b"), refused)), fault.Hint{Retry: no}},
		{"hidden", classify.HideError(refused, fault.Generic(fault.KindInternal)), unknown},
		{"hidden with guidance", classify.HideError(refused, down.After(time.Second)), fault.Hint{Retry: yes, After: time.Second}},
		{"panic", &fault.PanicError{Value: refused}, unknown},
		{"panic with a status", errors.Join(&fault.PanicError{Value: 1}, statusError(503)), unknown},
		{"protocol error", &jsonrpc.Error{Code: 404, Message: "m"}, fault.Hint{Retry: no}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, failure.HintOf(c.err))
			require.Equal(t, c.want, failure.HintOf(wrapping{c.err}))
		})
	}
}

func TestHintOfSDKTexts(t *testing.T) {
	require.Equal(t, fault.Hint{Retry: yes}, failure.HintOf(errors.New("the server is busy, retry later")))
	require.Equal(t, fault.Hint{Retry: no}, failure.HintOf(errors.New(`validating "arguments": `+harness.Canary)), "another server may have written it")
	require.Equal(t, unknown, failure.HintOf(errors.New("marshaling output: "+harness.Canary)))
}

// TestAFaultThatCameAsJSON: what it is was decided elsewhere, about another call.
func TestAFaultThatCameAsJSON(t *testing.T) {
	raw, err := json.Marshal(fault.RateLimited("mail", 0))
	require.NoError(t, err)
	var came fault.Error
	require.NoError(t, json.Unmarshal(raw, &came))
	require.Equal(t, none, failure.HintOf(fault.RateLimited("mail", 0)).Effect)
	require.Empty(t, failure.HintOf(&came).Effect)
}

func TestHintRules(t *testing.T) {
	rule := func(h fault.Hint) fault.HintRule {
		return func(err error) (fault.Hint, bool) { return h, errors.Is(err, errSecret) }
	}
	panics := func(error) (fault.Hint, bool) { panic(harness.Canary) }
	limited := fmt.Errorf("%w: %w", errSecret, &saying{status: 429, after: time.Minute})
	for _, c := range []struct {
		name  string
		err   error
		rules []fault.HintRule
		want  fault.Hint
	}{
		{"all said", errSecret, []fault.HintRule{rule(fault.Hint{Retry: yes, After: time.Second, Effect: none, Status: 418, Reason: "own"})},
			fault.Hint{Retry: yes, After: time.Second, Effect: none, Status: 418, Reason: "own"}},
		{"not asked about this", net.ErrClosed, []fault.HintRule{rule(fault.Hint{Retry: no})}, fault.Hint{Retry: yes}},
		{"what it leaves open", limited, []fault.HintRule{rule(fault.Hint{Effect: fault.EffectCommitted})}, fault.Hint{Retry: yes, After: time.Minute, Effect: fault.EffectCommitted, Status: 429}},
		{"only that it can", limited, []fault.HintRule{rule(fault.Hint{Retry: yes})}, fault.Hint{Retry: yes, After: time.Minute, Status: 429}},
		{"only that it cannot", limited, []fault.HintRule{rule(fault.Hint{Retry: no})}, fault.Hint{Retry: no, Status: 429}},
		{"a wait for what cannot succeed", errSecret, []fault.HintRule{rule(fault.Hint{Retry: no, After: time.Minute})}, fault.Hint{Retry: no}},
		{"the first that knows", errSecret, []fault.HintRule{nil, panics, rule(fault.Hint{Retry: yes}), rule(fault.Hint{Retry: no})}, fault.Hint{Retry: yes}},
		{"what makes no sense", errSecret, []fault.HintRule{rule(fault.Hint{Retry: 77, After: -time.Hour, Effect: "so so", Status: 200})}, unknown},
		{"a wait that makes no sense", errSecret, []fault.HintRule{rule(fault.Hint{Retry: yes, After: math.MaxInt64})}, fault.Hint{Retry: yes, After: 30 * 24 * time.Hour}},
		{"a fault with guidance comes first", fault.New("own_kind", "").Never("it is over").Because(errSecret), []fault.HintRule{rule(fault.Hint{Retry: yes, Effect: none})}, fault.Hint{Retry: no, Effect: none, Reason: "it is over"}},
		{"a fault without guidance does not", fault.NotFound("a", "b").Because(errSecret), []fault.HintRule{rule(fault.Hint{Retry: yes})}, fault.Hint{Retry: yes}},
		{"not for a panic", &fault.PanicError{Value: errSecret}, []fault.HintRule{rule(fault.Hint{Retry: yes})}, unknown},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, failure.HintOf(c.err, c.rules...)) })
	}
}

func TestHintSurvivesEvilErrors(t *testing.T) {
	is := func(err error) (fault.Hint, bool) { return fault.Hint{Retry: yes}, errors.Is(err, errSecret) }
	for _, method := range []string{"StatusCode", "RetryAfter", "Effect", "SQLState"} {
		t.Run(method, func(t *testing.T) {
			evil := &saying{panicking: method, wrapped: net.ErrClosed}
			require.NotPanics(t, func() {
				require.Equal(t, fault.KindConnectionFailed, failure.Classify(evil).Kind(), "what stands below is found")
				require.Equal(t, fault.Hint{Retry: yes}, failure.HintOf(evil, is))
				require.Equal(t, fault.Hint{Retry: yes}, failure.HintOf(fault.Unavailable("x").Because(evil), is))
			})
		})
	}
	for _, method := range []string{"Error", "Unwrap", "Is", "As", "Timeout"} {
		require.NotPanics(t, func() {
			failure.HintOf(evil{method, net.ErrClosed}, is)
			got := failure.HintOf(fault.Unavailable("x").Because(evil{method, net.ErrClosed}), is)
			require.Equal(t, fault.RetryYes, got.Retry, method)
		})
	}
	require.NotPanics(t, func() {
		require.Equal(t, fault.RetryYes, failure.HintOf(fault.Unavailable("x").Because(evilJoin{}), is).Retry)
		refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		require.Equal(t, fault.Hint{Retry: no, Reason: permanent},
			failure.HintOf(retryable{err: fault.Unavailable("x").Because(errors.Join(refused, evil{"Unwrap", refused}))}), "what stands around stays")
		require.Equal(t, unknown, failure.HintOf(evilJoin{}, is))
		require.Equal(t, unknown, failure.HintOf(evilGRPC{nil}))
		require.Equal(t, unknown, failure.HintOf(evilGRPC{&evilStatus{}}))
	})
}

// evilGRPC looks like an error of gRPC.
type evilGRPC struct{ status *evilStatus }

type evilStatus struct{}

func (evilGRPC) Error() string               { return harness.Canary }
func (e evilGRPC) GRPCStatus() *evilStatus   { return e.status }
func (*evilStatus) Code() uint32             { panic(harness.Canary) }
func (*evilStatus) Details() (details []any) { return nil }

// TestFailureHint looks at a failure inside of its call.
func TestFailureHint(t *testing.T) {
	hint := func(ctx context.Context, res mcp.Result, err error, settings ...*call.Settings) (h fault.Hint) {
		mw := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			for _, s := range settings {
				c.Establish(s)
			}
			f := c.Judge(res, err)
			h = f.Hint()
			require.Equal(t, h, f.Hint(), "asked again")
			return res, err
		})
		_, _ = mw(nil)(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}})
		return h
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	said := func(e error) *mcp.CallToolResult {
		res := &mcp.CallToolResult{IsError: true}
		res.SetError(e)
		return res
	}
	own := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "it did not work"}}}
	guided := &mcp.CallToolResult{IsError: true, Meta: mcp.Meta{middleware.MetaKey: fault.New("own_kind", "it failed").After(time.Second)}}
	rule := func(r fault.Retryable) *call.Settings {
		return &call.Settings{Hints: []fault.HintRule{func(error) (fault.Hint, bool) { return fault.Hint{Retry: r}, true }}}
	}
	sent := fault.Hint{Retry: yes}

	require.Equal(t, sent, hint(t.Context(), nil, context.DeadlineExceeded))
	require.Equal(t, sent, hint(t.Context(), said(context.DeadlineExceeded), nil), "a typed handler's")
	require.Equal(t, fault.Hint{}, hint(t.Context(), own, nil), "a tool's own words")
	require.Equal(t, fault.Hint{Retry: yes, After: time.Second}, hint(t.Context(), guided, nil))
	told := said(context.DeadlineExceeded)
	told.Content = own.Content
	require.Equal(t, sent, hint(t.Context(), told, nil), "a tool's own words for an error that is known")

	require.Equal(t, fault.Hint{Retry: yes, Effect: unsure, Reason: "Your time limit for this call was over"}, hint(late, nil, late.Err()), "the caller's limit")
	require.Equal(t, fault.Hint{Retry: no, Effect: unsure, Reason: cancelled}, hint(gone, nil, gone.Err()))
	require.Equal(t, fault.Hint{Retry: no, Effect: unsure, Reason: cancelled}, hint(gone, nil, net.ErrClosed), "whatever it looks like")
	require.Equal(t, fault.Hint{Retry: yes, After: time.Second}, hint(gone, nil, fault.New("own_kind", "").After(time.Second)), "said on purpose")

	require.Equal(t, no, hint(t.Context(), nil, net.ErrClosed, rule(no)).Retry)
	require.Equal(t, yes, hint(t.Context(), nil, net.ErrClosed, rule(no), rule(yes)).Retry, "the innermost first")
}

func TestRetryableString(t *testing.T) {
	require.Equal(t, "unknown yes no", fmt.Sprint(fault.RetryUnknown, " ", yes, " ", no))
}

// TestHintConcurrently is for the race detector: what is remembered of types is
// shared by all calls.
func TestHintConcurrently(t *testing.T) {
	errs := []error{statusError(429), httpStatus(503), retryable{}, &saying{after: 1}, answered{}, evilGRPC{}, net.ErrClosed, context.DeadlineExceeded, limitError{none}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, err := range errs {
				if alone, within := failure.HintOf(err), failure.HintOf(wrapping{err}); alone != within {
					t.Errorf("%T: %v, but wrapped %v", err, alone, within)
				}
			}
		})
	}
	wg.Wait()
}
