package call_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
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

// TestOutcomeOfACallThatTheClientGaveUp proves that whatever a handler returns that
// was told to stop is no failure of the server, but for a panic.
func TestOutcomeOfACallThatTheClientGaveUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for err, want := range map[error]string{
		errSecret:                   "cancelled",
		fault.NotFound("file", "a"): "cancelled", // whoever worded its end
		&fault.PanicError{Value: 1}: "panic",
	} {
		_, _ = call.Wrap(func(_ context.Context, c *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
			require.Equal(t, want, c.Outcome(nil, c.Judge(nil, err)))
			return nil, nil
		})(nil)(ctx, middleware.MethodCallTool, toolRequest("t"))
	}
}

// TestOutcomeOfACallWhoseTimeIsOver: a handler that was stopped reports that it was cancelled, which is no failure of the
// tool. Only a client that still waits is told of one.
func TestOutcomeOfACallWhoseTimeIsOver(t *testing.T) {
	for limit, want := range map[time.Duration]string{0: "cancelled", time.Hour: "tool_error"} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		_, _ = call.Wrap(func(_ context.Context, c *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
			require.Equal(t, want, c.Outcome(nil, c.Judge(nil, context.Canceled)))
			return nil, nil
		})(nil)(ctx, middleware.MethodCallTool, toolRequest("t"))
		cancel()
	}
}

// TestACancelledCallKeepsItsOwnNo: that the caller has gone says less than why the call would fail again.
func TestACancelledCallKeepsItsOwnNo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said fault.Hint
	opinion := establish(&call.Settings{Hints: []fault.HintRule{func(error) (fault.Hint, bool) { return said, true }}})
	for _, c := range []struct{ said, want fault.Hint }{
		{fault.Hint{Retry: fault.RetryNo, Reason: "The order is closed"}, fault.Hint{Retry: fault.RetryNo, Reason: "The order is closed"}},
		{fault.Hint{Retry: fault.RetryYes, After: time.Second, Reason: "It passes"}, fault.Hint{Retry: fault.RetryNo, Reason: "The call was cancelled"}},
	} {
		said = c.said
		handle := middleware.Chain(opinion, call.Wrap(func(_ context.Context, c2 *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
			hint := c2.Judge(nil, errSecret).Hint()
			hint.Effect = ""
			require.Equal(t, c.want, hint)
			return nil, nil
		}))(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
		_, _ = handle(ctx, middleware.MethodCallTool, toolRequest("t"))
	}
}

// TestWhoseLoggerHolds: that of who records every call, and else the outermost one.
func TestWhoseLoggerHolds(t *testing.T) {
	a, b, c := harness.NewLog(slog.LevelInfo).Logger(), harness.NewLog(slog.LevelInfo).Logger(), harness.NewLog(slog.LevelInfo).Logger()
	records := func(l *slog.Logger) *call.Settings {
		return &call.Settings{Logger: l, Recorder: recorder(func(context.Context, mcp.Request) string { return "" })}
	}
	hides := func(l *slog.Logger) *call.Settings { return &call.Settings{Logger: l} }
	for name, c := range map[string]struct {
		established []*call.Settings // the outermost first
		want        *slog.Logger
	}{
		"nobody":                           {nil, slog.Default()},
		"none has one":                     {[]*call.Settings{hides(nil), hides(nil)}, slog.Default()},
		"the outermost":                    {[]*call.Settings{hides(a), hides(b)}, a},
		"the outermost that has one":       {[]*call.Settings{hides(nil), hides(b), hides(c)}, b},
		"who records, outside":             {[]*call.Settings{records(a), hides(b)}, a},
		"who records, inside":              {[]*call.Settings{hides(a), records(b), hides(c)}, b},
		"the outermost of two that record": {[]*call.Settings{records(a), records(b)}, a},
		"who records to the default":       {[]*call.Settings{records(nil), hides(b)}, slog.Default()},
	} {
		inCall(t, func(_ context.Context, call *call.Call) {
			for _, s := range c.established {
				call.Establish(s)
			}
			require.Same(t, c.want, call.Logger(), name)
		})
	}
}

// logged returns what a call of a tool named name writes about an error.
func logged(t *testing.T, name string, res mcp.Result, err error, took time.Duration) []harness.Record {
	t.Helper()
	log := harness.NewLog(slog.LevelDebug)
	_, _ = call.Wrap(func(_ context.Context, c *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(&call.Settings{Logger: log.Logger()})
		c.Log(res, c.End(res, err), took)
		c.Log(res, c.End(res, err), took)
		return nil, nil
	})(nil)(t.Context(), middleware.MethodCallTool, toolRequest(name))
	return log.Records()
}

// TestAFaultAroundAPanic: whoever words a failure changes what the caller reads. The record
// still says that it was a panic, where, and at the level of one.
func TestAFaultAroundAPanic(t *testing.T) {
	worded := fault.New(fault.KindConflict, "the order is locked")
	none := worded.WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
	for name, c := range map[string]struct {
		wrap   func(p error) error
		worded bool
	}{
		"as it is":                {wrap: func(p error) error { return p }},
		"wrapped":                 {wrap: func(p error) error { return fmt.Errorf("outer: %w", p) }},
		"fault":                   {wrap: func(p error) error { return worded.Because(p) }, worded: true},
		"fault and its effect":    {wrap: func(p error) error { return none.Because(p) }, worded: true},
		"fault, twice wrapped":    {wrap: func(p error) error { return fmt.Errorf("a: %w", worded.Because(fmt.Errorf("b: %w", p))) }, worded: true},
		"fault around a fault":    {wrap: func(p error) error { return worded.Because(fault.NotFound("order", "7").Because(p)) }, worded: true},
		"joined":                  {wrap: func(p error) error { return errors.Join(worded, p) }},
		"joined faults":           {wrap: func(p error) error { return errors.Join(fault.NotFound("order", "7"), worded.Because(p)) }, worded: true},
		"beside a protocol error": {wrap: func(p error) error { return fmt.Errorf("%w: %w", &jsonrpc.Error{Code: 409, Message: "locked"}, p) }, worded: true},
		"protocol error, in a tree": {wrap: func(p error) error {
			return errors.Join(&jsonrpc.Error{Code: 409, Message: "locked"}, errors.Join(errSecret, p))
		}, worded: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := logged(t, "t", nil, c.wrap(panics("boom")), 0)[0]
			require.Equal(t, "panic", r["outcome"])
			require.Equal(t, "ERROR", r["level"])
			require.Contains(t, r["stack"], "call_test.explode(...)")
		})
		inCall(t, func(_ context.Context, call *call.Call) {
			f := call.Judge(nil, c.wrap(panics("boom")))
			require.Equal(t, c.worded, f.Worded(), name)
			require.Equal(t, c.worded, f.Panic() == nil, "%s: what the author says of the effect counts", name)
			require.NotEmpty(t, f.Stack())
		})
	}
	require.NotContains(t, logged(t, "t", nil, worded.Because(errSecret), 0)[0], "stack")
}

func TestARecordIsBounded(t *testing.T) {
	r := logged(t, strings.Repeat("ä", 100_000), nil, errSecret, 0)[0]
	require.Less(t, len(r["tool"].(string)), 300)
	deep := errSecret
	for range 10_000 {
		deep = wrapping{deep}
	}
	r = logged(t, "t", nil, deep, 0)[0]
	require.Less(t, len(r["error_types"].(string)), 1000)
	join := &joinRing{}
	join.next = []error{join, join, join}
	require.Less(t, len(logged(t, "t", nil, join, 0)[0]["error_types"].(string)), 1000)
}

// TestARecordOfACaller: a name from outside is one line of a bounded length, whoever chose it.
func TestARecordOfACaller(t *testing.T) {
	for user, want := range map[string]string{
		"ada":                               "ada",
		"ada\nlevel=ERROR user=eve":         "ada level=ERROR user=eve",
		"ada\u202e":                         "ada",
		strings.Repeat("a", 2*call.MaxName): "aaa",
	} {
		log := harness.NewLog(slog.LevelDebug)
		req := toolRequest("t")
		req.Extra = &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: user}}
		_, _ = call.Wrap(func(_ context.Context, c *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
			c.Establish(&call.Settings{Logger: log.Logger()})
			c.Log(nil, c.Judge(nil, errSecret), 0)
			return nil, nil
		})(nil)(t.Context(), middleware.MethodCallTool, req)
		recorded := log.Only(t)["user"].(string)
		require.True(t, strings.HasPrefix(recorded, want), recorded)
		require.Less(t, len(recorded), 2*call.MaxName)
		require.NotContains(t, recorded, "\u202e")
	}
}

// TestALevelWhereTheCallerIsToBlame: an error that only its kind classifies is a warning, unless the caller did it.
func TestALevelWhereTheCallerIsToBlame(t *testing.T) {
	for passedOn, want := range map[bool]string{false: "WARN", true: "INFO"} { // whose credentials a service refused
		log := harness.NewLog(slog.LevelDebug)
		inCall(t, func(_ context.Context, c *call.Call) {
			c.Log(nil, c.Judge(nil, classify.FromResponse(&http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody})), 0)
		}, &call.Settings{Logger: log.Logger(), PassedOn: passedOn})
		require.Equal(t, want, log.Only(t)["level"])
	}
}

func TestARecordOfAnEvilError(t *testing.T) {
	for _, method := range []string{"Error", "Unwrap", "Is", "As", "Timeout", "PublicMessage"} {
		records := logged(t, "t", nil, evil{method, nil}, 0)
		require.Len(t, records, 1, method)
		require.Contains(t, records[0]["error_types"], "evil")
	}
	for _, err := range []error{evilJoin{}, (*pointerError)(nil), wrapping{(*pointerError)(nil)}, sliceError(nil)} {
		require.Len(t, logged(t, "t", nil, err, 0), 1, "%T", err)
	}
}

// TestANilErrorHidesNoOther: the types of what is joined with it are recorded, too.
func TestANilErrorHidesNoOther(t *testing.T) {
	r := logged(t, "t", nil, errors.Join((*pointerError)(nil), wrapping{errSecret}), 0)[0]
	require.Equal(t, "*errors.joinError > *call_test.pointerError > call_test.wrapping > *errors.errorString", r["error_types"])
}

func TestALogThatPanicsIsSurvived(t *testing.T) {
	panics := slog.New(panicHandler{})
	require.NotPanics(t, func() {
		_, err := call.Wrap(func(_ context.Context, c *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
			c.Establish(&call.Settings{Logger: panics})
			c.Log(nil, c.Judge(nil, errSecret), 0)
			return &mcp.CallToolResult{}, nil
		})(nil)(t.Context(), middleware.MethodCallTool, toolRequest("t"))
		require.NoError(t, err)
	})
	// The default log may be what panics.
	slog.SetDefault(panics)
	defer slog.SetDefault(quiet)
	got := harness.Call(t, rawAt, harness.Fail(errSecret), establish(&call.Settings{Mask: strings.TrimSpace, Logger: panics}))
	require.Contains(t, got.Text(), "Internal error: ")
	require.NotContains(t, string(got.Wire), harness.Canary)
}

type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panicHandler) Handle(context.Context, slog.Record) error { panic("the log is broken") }
func (h panicHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h panicHandler) WithGroup(string) slog.Handler           { return h }

// counting is a recorder that counts the ends of calls.
type counting struct {
	recorder

	ended int
}

func (r *counting) Ended(*call.Call, time.Duration, mcp.Result, *failure.Failure) { r.ended++ }

// TestACallEndsOnce, however often that is said, and only if somebody watches.
func TestACallEndsOnce(t *testing.T) {
	for watch, want := range map[bool]int{true: 1, false: 0} {
		r := &counting{}
		inCall(t, func(_ context.Context, c *call.Call) {
			require.Equal(t, watch, c.Begin(watch))
			require.False(t, c.Begin(watch), "by another middleware")
			c.NotifyEnd(&mcp.CallToolResult{}, nil)
			require.Equal(t, want, r.ended)
		}, &call.Settings{Recorder: r})
		require.Equal(t, want, r.ended)
	}
}

func TestASuccessHasNoFailure(t *testing.T) {
	inCall(t, func(_ context.Context, c *call.Call) {
		require.Nil(t, c.Judge(nil, nil))
		require.Nil(t, c.Judge(&mcp.CallToolResult{}, nil))
		require.Nil(t, c.Judge((*mcp.CallToolResult)(nil), nil))
	})
}

func TestErrorsThatCannotBeCompared(t *testing.T) {
	type list []error
	_ = list{}
	inCall(t, func(_ context.Context, c *call.Call) {
		err := sliceError{"a"}
		require.NotPanics(t, func() {
			f := c.End(nil, err)
			require.Same(t, f, c.End(nil, err))
			require.NotSame(t, f, c.End(nil, sliceError{"a"}))
		})
	})
}

func panics(value any) (err *fault.PanicError) {
	defer func() { err = fault.Panicked(recover(), 0) }()
	explode(value)
	return nil
}

//go:noinline
func explode(value any) { panic(value) }

func TestPanicError(t *testing.T) {
	err := panics(errSecret)
	require.Equal(t, errSecret, err.Value)
	require.EqualError(t, err, "panic: "+errSecret.Error())
	require.ErrorIs(t, err, errSecret)
	first, _, _ := strings.Cut(err.Stack(), "\n")
	require.Equal(t, "github.com/mcpchain/mcpchain/internal/call_test.explode(...)", first)
	require.Contains(t, err.Stack(), "record_test.go:")

	for want, value := range map[string]any{
		"panic: boom": "boom", "panic: 7": 7, "panic: {N:1}": struct{ N int }{1}, "panic: " + http.ErrAbortHandler.Error(): http.ErrAbortHandler,
	} {
		require.EqualError(t, panics(value), want)
		require.NotEmpty(t, panics(value).Stack())
	}
	require.NoError(t, panics("boom").Unwrap())
	require.Contains(t, panics(nil).Error(), "panic called with nil")
	for _, value := range []any{evil{"Error", nil}, (*pointerError)(nil), evilStringer{}} {
		require.NotPanics(t, func() { require.NotContains(t, panics(value).Error(), harness.Canary) })
	}
	require.Empty(t, (&fault.PanicError{Value: 1}).Stack(), "nobody recovered it")
}

type evilStringer struct{}

func (evilStringer) String() string { panic(harness.Canary) }

// TestStacksOfRuntimeErrors proves that the code that was wrong comes first, not
// the runtime.
func TestStacksOfRuntimeErrors(t *testing.T) {
	var m map[string]int
	var p *count
	var f func()
	var s []int
	var a any = "text"
	zero := 0
	for name, wrong := range map[string]func(){
		"nil map": func() { m["a"] = 1 }, "nil pointer": func() { p.N = 1 }, "nil function": func() { f() }, "index": func() { _ = s[zero] },
		"slice": func() { _ = s[1:zero] }, "division": func() { _ = 1 / zero }, "assertion": func() { _ = a.(int) }, "closed channel": func() {
			c := make(chan int)
			close(c)
			close(c)
		},
		"negative length": func() { _ = make([]int, zero-1) },
	} {
		t.Run(name, func(t *testing.T) {
			var err *fault.PanicError
			func() {
				defer func() { err = fault.Panicked(recover(), 0) }()
				wrong()
			}()
			var e runtime.Error
			require.ErrorAs(t, err, &e)
			first, _, _ := strings.Cut(err.Stack(), "\n")
			require.Contains(t, first, "call_test.TestStacksOfRuntimeErrors.func", err.Stack())
		})
	}
}

// TestTheSamePanicIsRecoveredOnce proves that a middleware that recovers, and goes
// on with the panic, does not make two of it.
func TestTheSamePanicIsRecoveredOnce(t *testing.T) {
	function := func() {}
	for _, value := range []any{
		"boom", errSecret, 7, math.NaN(), []int{1}, map[string]int{}, function, struct{ s []int }{[]int{1}}, sliceError{"a"}, nil,
		&count{1}, count{1}, [1]any{[]int{1}},
	} {
		t.Run(fmt.Sprintf("%T", value), func(t *testing.T) {
			inCall(t, func(_ context.Context, c *call.Call) {
				var first, second *fault.PanicError
				func() {
					defer func() { second = c.Recovered(recover(), 0) }()
					defer func() {
						p := recover()
						first = c.Recovered(p, 0)
						panic(p)
					}()
					explode(value)
				}()
				require.Same(t, first, second)
				require.Contains(t, strings.SplitN(first.Stack(), "\n", 2)[0], "explode")
			})
		})
	}
	inCall(t, func(_ context.Context, c *call.Call) {
		require.NotSame(t, c.Recovered("a", 0), c.Recovered("b", 0))
		first, second := c.Recovered([]int{1}, 0), c.Recovered([]int{1}, 0)
		require.NotSame(t, first, second)
	})
}
