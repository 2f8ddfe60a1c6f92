package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
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
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
)

// script answers each run with the next of its outcomes, and every run after the last
// one with the last.
type script struct {
	outcomes []harness.Handler
	runs     int
	at       []time.Time
}

func play(outcomes ...harness.Handler) *script { return &script{outcomes: outcomes} }

func (s *script) handle(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	h := s.outcomes[min(s.runs, len(s.outcomes)-1)]
	s.runs++
	s.at = append(s.at, time.Now())
	return h(ctx, req)
}

// waits returns the times between the runs.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(s.at); i++ {
		waits = append(waits, s.at[i].Sub(s.at[i-1]))
	}
	return waits
}

var (
	down    = harness.Fail(fault.Unavailable("the stock service").After(0))
	succeed = harness.Succeed()
)

func limited(after time.Duration) harness.Handler {
	return harness.Fail(fault.RateLimited("the search API", after))
}

// said returns a failure that says all about a second try itself.
func said(r fault.Retry) harness.Handler {
	return harness.Fail(fault.New(fault.KindServiceUnavailable, "the ledger is busy.").WithRetry(r))
}

func always(string) bool { return true }
func never(string) bool  { return false }

// bubble runs a case with fake time in every one of the shapes.
func bubble(t *testing.T, shapes []harness.Shape, run func(t *testing.T, at harness.Place)) {
	t.Helper()
	harness.Each(t, shapes, func(t *testing.T, at harness.Place) {
		synctest.Test(t, func(t *testing.T) { run(t, at) })
	})
}

func TestServerRunsAReadAgain(t *testing.T) {
	bubble(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		s := play(down, down, succeed)
		got := harness.Call(t, at, s.handle, retry.Server(&retry.ServerOptions{Repeatable: always}))
		require.NoError(t, got.Err)
		require.Equal(t, "fine", got.Text())
		require.Nil(t, got.Fault())
		require.Equal(t, 3, s.runs)
		require.EqualValues(t, 3, got.Result.GetMeta()[retry.AttemptsKey])
		for i, wait := range s.waits() {
			about := 200 * time.Millisecond << i
			require.GreaterOrEqual(t, wait, about/2)
			require.LessOrEqual(t, wait, about+about/2+time.Millisecond)
		}
	})
}

// TestServerInventsNoAnswer: a handler that gives none after a failure has not succeeded.
func TestServerInventsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		h := retry.Server(&retry.ServerOptions{Repeatable: always})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			if failed {
				return nil, nil
			}
			failed = true
			return nil, fault.Unavailable("the stock service")
		})
		res, err := h(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
		require.NoError(t, err)
		require.Nil(t, res)
	})
}

// The decisions, each with what a tool says about itself.
func TestServerDecides(t *testing.T) {
	var (
		yes    = true
		writes = &mcp.ToolAnnotations{DestructiveHint: &yes}
		reads  = &mcp.ToolAnnotations{ReadOnlyHint: true}
	)
	errOwn := errors.New("the backend hiccuped")
	rules := []fault.HintRule{func(err error) (fault.Hint, bool) {
		return fault.Hint{Retry: fault.RetryYes, Effect: fault.EffectNone}, errors.Is(err, errOwn)
	}}
	everything := []fault.HintRule{func(error) (fault.Hint, bool) {
		return fault.Hint{Retry: fault.RetryYes, Effect: fault.EffectNone}, true
	}}
	guided := func(effect fault.Effect) harness.Handler { return said(fault.Retry{ShouldRetry: true, Effect: effect}) }
	for name, c := range map[string]struct {
		tool    *mcp.ToolAnnotations
		fails   harness.Handler
		options retry.ServerOptions
		again   bool
	}{
		"a read that is limited":            {tool: reads, fails: limited(time.Second), again: true},
		"a write that is down":              {tool: writes, fails: down, again: true},
		"a write that is lost":              {tool: writes, fails: harness.Fail(errReset)},
		"a write that was refused":          {tool: writes, fails: guided(fault.EffectNone), again: true},
		"a write of unknown effect":         {tool: writes, fails: guided(fault.EffectUnknown)},
		"a read of unknown effect":          {tool: reads, fails: guided(fault.EffectUnknown), again: true},
		"a write whose upstream refused":    {tool: writes, fails: harness.Fail(errNobody)},
		"the same, trusted":                 {tool: writes, fails: harness.Fail(errNobody), options: retry.ServerOptions{Rules: []fault.HintRule{refusals}}, again: true},
		"a write that is limited":           {tool: writes, fails: limited(time.Second), again: true},
		"unknown effect, refusals trusted":  {tool: writes, fails: guided(fault.EffectUnknown), options: retry.ServerOptions{Rules: []fault.HintRule{refusals}}},
		"a rule that panics":                {tool: writes, fails: harness.Fail(errNobody), options: retry.ServerOptions{Rules: []fault.HintRule{panicking}}},
		"a write that took effect":          {tool: writes, fails: guided(fault.EffectCommitted)},
		"a write that may be repeated":      {tool: writes, fails: down, options: retry.ServerOptions{Repeatable: always}, again: true},
		"a write that took effect, same":    {tool: writes, fails: guided(fault.EffectCommitted), options: retry.ServerOptions{Repeatable: always}},
		"a read that may not be repeated":   {tool: reads, fails: harness.Fail(errReset), options: retry.ServerOptions{Repeatable: never}},
		"a read, once":                      {tool: reads, fails: down, options: retry.ServerOptions{MaxAttempts: 1}},
		"a read that was told never":        {tool: reads, fails: harness.Fail(fault.Unavailable("it").Never("it is gone for good"))},
		"wrong arguments":                   {tool: reads, fails: harness.Fail(fault.Invalid("n", "five", "an integer"))},
		"cancelled, retryable":              {tool: reads, fails: harness.Fail(context.Canceled), options: retry.ServerOptions{Rules: everything}},
		"a panic":                           {tool: reads, fails: harness.Panic("boom")},
		"a panic, retryable":                {tool: reads, fails: harness.Panic("boom"), options: retry.ServerOptions{Rules: everything}},
		"an unknown error":                  {tool: reads, fails: harness.Fail(errOwn)},
		"an error that a rule knows":        {tool: writes, fails: harness.Fail(errOwn), options: retry.ServerOptions{Rules: rules}, again: true},
		"a protocol error":                  {tool: reads, fails: harness.Fail(&jsonrpc.Error{Code: 1, Message: "no"})},
		"told by the tool":                  {tool: reads, fails: harness.Tell()},
		"tried often enough by somebody":    {tool: reads, fails: harness.Return(triedUpstream), options: retry.ServerOptions{Rules: everything}},
		"a wait longer than the budget":     {tool: reads, fails: limited(11 * time.Second)},
		"a wait as long as the budget":      {tool: reads, fails: limited(10 * time.Second), again: true},
		"a wait within a budget of its own": {tool: reads, fails: limited(time.Minute), options: retry.ServerOptions{Budget: 2 * time.Minute}, again: true},
	} {
		for _, era := range []harness.Era{harness.Current, harness.Older} {
			t.Run(name+"/"+string(era), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := play(c.fails, succeed)
					session := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
						More: func(server *mcp.Server) {
							server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: c.tool},
								func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
									res, err := s.handle(ctx, req)
									tool, _ := res.(*mcp.CallToolResult)
									return tool, err
								})
						},
						Middleware: []mcp.Middleware{
							mcprecover.New(&mcprecover.Options{Logger: slog.New(slog.DiscardHandler)}),
							retry.Server(&c.options),
							mcprecover.New(&mcprecover.Options{Logger: slog.New(slog.DiscardHandler)}),
						},
					})
					got := session.Call(t, "it")
					if c.again {
						require.Equal(t, 2, s.runs)
						require.Equal(t, "fine", got.Text())
						return
					}
					require.Equal(t, 1, s.runs)
					require.NotNil(t, got.Fault())
				})
			})
		}
	}
}

// errNobody is what a handler gets when nobody listens.
var errNobody = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

func panicking(error) (fault.Hint, bool) { panic("a rule of the program's") }

// refusals is the rule of a program whose handlers change one thing each: when its error tells
// that what they called did nothing, nothing was done.
// refusals is the rule of a program that takes the responsibility for what its client sends once.
func refusals(err error) (fault.Hint, bool) {
	hint := middleware.HintOf(err)
	hint.Effect = fault.EffectNone
	return hint, hint.Retry == fault.RetryYes && (hint.Status == 429 || errors.Is(err, syscall.ECONNREFUSED))
}

func triedUpstream() *mcp.CallToolResult {
	res := &mcp.CallToolResult{Meta: mcp.Meta{retry.AttemptsKey: 3.0}}
	res.SetError(fault.Unavailable("the upstream server").After(time.Second))
	return res
}

// A tool is looked up through the opener when what stands inside has no list.
func TestServerAroundOneHandler(t *testing.T) {
	for _, outer := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := play(harness.Fail(errReset), succeed)
			session := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
				More: func(server *mcp.Server) {
					server.AddTool(&mcp.Tool{
						Name: "it", InputSchema: map[string]any{"type": "object"},
						Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
					}, middleware.Tool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						res, err := s.handle(ctx, req)
						tool, _ := res.(*mcp.CallToolResult)
						return tool, err
					}, retry.Server(nil)))
					if outer {
						server.AddReceivingMiddleware(mask.New(nil))
					}
				},
			})
			got := session.Call(t, "it")
			if outer {
				require.Equal(t, "fine", got.Text())
				return
			}
			require.Equal(t, 1, s.runs, "nobody says that it may be run twice")
		})
	}
}

func TestServerLeavesOtherMethodsAlone(t *testing.T) {
	runs := map[string]int{}
	failing := func(mcp.MethodHandler) mcp.MethodHandler {
		return func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			runs[method]++
			return nil, fault.Unavailable("it").After(time.Millisecond)
		}
	}
	handler := middleware.Chain(retry.Server(&retry.ServerOptions{Repeatable: always}), failing)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
	for method, req := range map[string]mcp.Request{
		call.MethodListTools:                    &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}},
		call.MethodListPrompts:                  &mcp.ListPromptsRequest{Params: &mcp.ListPromptsParams{}},
		call.MethodPing:                         &mcp.ServerRequest[*mcp.PingParams]{Params: &mcp.PingParams{}},
		call.MethodSubscribe:                    &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{}},
		call.MethodListen:                       &mcp.ServerRequest[*mcp.SubscriptionsListenParams]{Params: &mcp.SubscriptionsListenParams{}},
		call.MethodInitialize:                   &mcp.ServerRequest[*mcp.InitializeParams]{Params: &mcp.InitializeParams{}},
		"notifications/roots/list_changed":      &mcp.RootsListChangedRequest{Params: &mcp.RootsListChangedParams{}},
		"notifications/progress":                &mcp.ProgressNotificationServerRequest{Params: &mcp.ProgressNotificationParams{}},
		middleware.MethodCallTool + " nothing":  &mcp.CallToolRequest{},
		middleware.MethodReadResource + " none": &mcp.ReadResourceRequest{},
	} {
		_, err := handler(t.Context(), method, req)
		require.Error(t, err, method)
		require.Equal(t, 1, runs[method], method)
	}
}

// No wait is begun that ends after the time limit of the call.
func TestServerKeepsTheDeadline(t *testing.T) {
	for asked, again := range map[time.Duration]bool{4 * time.Second: true, 5 * time.Second: false, 6 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			s := play(limited(asked), succeed)
			handler := middleware.Tool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				res, err := s.handle(ctx, req)
				tool, _ := res.(*mcp.CallToolResult)
				return tool, err
			}, retry.Server(&retry.ServerOptions{Repeatable: always}))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			res, err := handler(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
			require.NoError(t, err)
			require.Equal(t, !again, res.IsError)
			if again {
				require.Equal(t, []time.Duration{asked}, s.waits(), "a wait that was asked for is kept to exactly")
				return
			}
			require.Zero(t, time.Since(began))
			require.Equal(t, 1, s.runs)
			f, _ := middleware.FaultOf(res, nil)
			require.InDelta(t, asked.Seconds(), f.Data().Retry.RetryAfterSeconds, 0)
		})
	}
}

// A caller that gives up gets the last failure at once, and nothing runs any more.
func TestServerStopsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(limited(8*time.Second), succeed)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		handler := retry.Server(&retry.ServerOptions{Repeatable: always})(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
			return s.handle(ctx, req)
		})
		began := time.Now()
		res, err := handler(ctx, middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, 1, s.runs)
		f, _ := middleware.FaultOf(res, nil)
		require.Equal(t, fault.KindRateLimited, f.Kind())
	})
}

// The budget bounds the time, whatever the number of attempts.
func TestServerKeepsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(func(context.Context, mcp.Request) (mcp.Result, error) {
			time.Sleep(time.Second) // the attempts take their time, too
			return nil, fault.Unavailable("it").After(2 * time.Second)
		})
		handler := retry.Server(&retry.ServerOptions{Repeatable: always, MaxAttempts: 100, Budget: 9 * time.Second})(
			func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) { return s.handle(ctx, req) })
		_, err := handler(t.Context(), middleware.MethodReadResource, &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "x:y"}})
		require.Error(t, err)
		require.Equal(t, 4, s.runs, "the first failure after 1 s, then starts after 2, 5 and 8 s more")
	})
}

func TestServerNeverAfterAQuestion(t *testing.T) {
	asking := func() *mcp.CallToolResult {
		res := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "which?"}}, IsError: true}
		res.SetError(fault.Unavailable("it").After(time.Second))
		return res
	}
	for name, c := range map[string]struct {
		params mcp.CallToolParamsRaw
		fails  harness.Handler
	}{
		"it asks":                    {fails: harness.Return(asking)},
		"it was answered":            {params: mcp.CallToolParamsRaw{InputResponses: mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept"}}}, fails: down},
		"it was given its own state": {params: mcp.CallToolParamsRaw{RequestState: "opaque"}, fails: down},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(c.fails, succeed)
			c.params.Name = "it"
			handler := retry.Server(&retry.ServerOptions{Repeatable: always})(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
				return s.handle(ctx, req)
			})
			res, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &c.params})
			require.NoError(t, err)
			require.True(t, res.(*mcp.CallToolResult).IsError)
			require.Equal(t, 1, s.runs)
		})
	}
}

// Every attempt gets the request as it came, whatever the one before did to it.
func TestServerRestoresTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		handler := retry.Server(&retry.ServerOptions{Repeatable: always})(func(_ context.Context, _ string, r mcp.Request) (mcp.Result, error) {
			req := r.(*mcp.CallToolRequest)
			seen = append(seen, fmt.Sprintf("%s %s %v", req.Params.Name, req.Params.Arguments, req.Params.Meta["note"]))
			req.Params.Name, req.Params.Arguments, req.Params.Meta = "other", []byte(`{"n":2}`), nil
			req.Params = &mcp.CallToolParamsRaw{Name: "third"}
			return nil, fault.Unavailable("it").After(time.Second)
		})
		params := &mcp.CallToolParamsRaw{Name: "it", Arguments: []byte(`{"n":1}`), Meta: mcp.Meta{"note": "kept"}}
		_, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: params})
		require.NoError(t, err)
		require.Equal(t, []string{`it {"n":1} kept`, `it {"n":1} kept`, `it {"n":1} kept`}, seen)
	})
}

// What is changed in place cannot be restored, so it is not run again.
func TestServerNoticesAChangedRequest(t *testing.T) {
	t.Run("arguments of a tool", func(t *testing.T) {
		runs := 0
		handler := retry.Server(&retry.ServerOptions{Repeatable: always})(func(_ context.Context, _ string, r mcp.Request) (mcp.Result, error) {
			runs++
			copy(r.(*mcp.CallToolRequest).Params.Arguments, `{"n":2}`)
			return nil, fault.Unavailable("it").After(time.Second)
		})
		_, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{
			Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: []byte(`{"n":1}`)},
		})
		require.NoError(t, err)
		require.Equal(t, 1, runs)
	})
	t.Run("arguments of a prompt", func(t *testing.T) {
		runs := 0
		handler := retry.Server(nil)(func(_ context.Context, _ string, r mcp.Request) (mcp.Result, error) {
			runs++
			r.(*mcp.GetPromptRequest).Params.Arguments["city"] = "Rome"
			return nil, fault.Unavailable("it").After(time.Second)
		})
		_, err := handler(t.Context(), middleware.MethodGetPrompt, &mcp.GetPromptRequest{
			Params: &mcp.GetPromptParams{Name: "it", Arguments: map[string]string{"city": "Bonn"}},
		})
		require.Error(t, err)
		require.Equal(t, 1, runs)
	})
	t.Run("meta", func(t *testing.T) {
		runs := 0
		handler := retry.Server(nil)(func(_ context.Context, _ string, r mcp.Request) (mcp.Result, error) {
			runs++
			r.(*mcp.ReadResourceRequest).Params.Meta["seen"] = true
			return nil, fault.Unavailable("it").After(time.Second)
		})
		_, err := handler(t.Context(), middleware.MethodReadResource, &mcp.ReadResourceRequest{
			Params: &mcp.ReadResourceParams{URI: "x:y", Meta: mcp.Meta{"a": 1}},
		})
		require.Error(t, err)
		require.Equal(t, 1, runs)
	})
}

// What a handler shares between its answers is not written to.
func TestServerMergesItsMeta(t *testing.T) {
	shared := mcp.Meta{"mine": "kept"}
	bubble(t, []harness.Shape{harness.ServerRaw, harness.ServerResource, harness.ServerPrompt, harness.ServerCompletion}, func(t *testing.T, at harness.Place) {
		s := play(down, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			res := harness.Success(req)
			res.SetMeta(shared)
			return res, nil
		})
		got := harness.Call(t, at, s.handle, retry.Server(&retry.ServerOptions{Repeatable: always}))
		require.EqualValues(t, 2, got.Result.GetMeta()[retry.AttemptsKey])
		require.Equal(t, "kept", got.Result.GetMeta()["mine"])
		require.Equal(t, mcp.Meta{"mine": "kept"}, shared)
	})
	t.Run("failure of its own words", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rules := []fault.HintRule{func(err error) (fault.Hint, bool) {
				return fault.Hint{Retry: fault.RetryYes}, errors.Is(err, io.ErrNoProgress)
			}}
			var res mcp.CallToolResult
			res.SetError(io.ErrNoProgress)
			res.Meta = shared
			s := play(harness.Return(func() *mcp.CallToolResult { return &res }))
			got := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, s.handle,
				retry.Server(&retry.ServerOptions{Repeatable: always, Rules: rules}))
			require.EqualValues(t, 3, got.Tool().Meta[retry.AttemptsKey])
			require.Equal(t, "kept", got.Tool().Meta["mine"])
			require.Equal(t, mcp.Meta{"mine": "kept"}, shared)
			require.Equal(t, shared, res.Meta)
		})
	})
}

// No failure is lost silently, and no argument is logged.
func TestServerLogsWhatIsLost(t *testing.T) {
	bubble(t, []harness.Shape{harness.ServerRaw, harness.ServerTyped, harness.ServerResource, harness.ServerPrompt, harness.ServerCompletion}, func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelDebug)
		s := play(harness.Fail(fault.Unavailable("the stock service").After(time.Second).Because(errors.New(harness.Canary))), succeed)
		got := harness.Call(t, at, s.handle,
			correlate.New(&correlate.Options{Logger: log.Logger(), NewID: func(context.Context, mcp.Request) string { return "ID-1" }}), mask.New(nil),
			retry.Server(&retry.ServerOptions{Repeatable: always}))
		require.NotContains(t, string(got.Wire), harness.Canary)
		records := log.Records()[1:] // after the start of the session
		require.Len(t, records, 2)
		lost := records[0]
		require.Equal(t, "DEBUG", lost["level"])
		require.Equal(t, "mcp call is tried again", lost["msg"])
		require.Equal(t, at.Shape.Method(), lost["method"])
		require.Equal(t, "ID-1", lost["reference"])
		require.InDelta(t, 1, lost["attempt"], 0)
		require.InDelta(t, 1000, lost["wait_ms"], 0)
		require.Contains(t, lost["error"], "the stock service is not available now.")
		require.Equal(t, harness.Canary, lost["fault"].(map[string]any)["cause"])
		require.Equal(t, "ok", records[1]["outcome"])
		switch at.Shape {
		case harness.ServerRaw, harness.ServerTyped:
			require.Equal(t, "it", lost["tool"])
		case harness.ServerPrompt:
			require.Equal(t, "it", lost["prompt"])
		case harness.ServerResource:
			require.Equal(t, harness.URI("it"), lost["resource"])
		}
	})
}

// A long error is not written whole for each attempt.
func TestServerClipsWhatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(slog.LevelDebug)
		rules := []fault.HintRule{func(error) (fault.Hint, bool) { return fault.Hint{Retry: fault.RetryYes}, true }}
		s := play(harness.Fail(errors.New("x"+strings.Repeat("é", 5000))), succeed)
		harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, s.handle,
			mask.New(&mask.Options{Logger: log.Logger()}), retry.Server(&retry.ServerOptions{Repeatable: always, Rules: rules}))
		text, _ := log.Only(t)["error"].(string)
		require.Less(t, len(text), 1100)
		require.True(t, strings.HasSuffix(text, "é [4489 more characters left out]"), text)
	})
}

// Two of them in one chain do not multiply the runs of a tool.
func TestServerTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(down)
		got := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, s.handle,
			retry.Server(&retry.ServerOptions{Repeatable: always}), retry.Server(&retry.ServerOptions{Repeatable: always}))
		require.Equal(t, 3, s.runs)
		require.EqualValues(t, 3, got.Tool().Meta[retry.AttemptsKey])
	})
}

// TestServerDoesNotTakeGuidanceForTheHandlersWord: a write whose step was refused is not run again, because nobody
// knows what the handler had done before.
func TestServerDoesNotTakeGuidanceForTheHandlersWord(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		s := play(harness.Fail(refused))
		both := middleware.Chain(retry.New(nil), retry.Server(nil))
		got := harness.Call(t, at, s.handle, both, both)
		_, said := got.Fault().Retry()
		require.False(t, said)
		require.Equal(t, 1, s.runs)
	})
}

// A wait that is too long for the server is told to the caller, who may have the time.
func TestServerLeavesLongWaitsToTheCaller(t *testing.T) {
	bubble(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		s := play(limited(10 * time.Minute))
		got := harness.Call(t, at, s.handle, retry.New(nil), retry.Server(&retry.ServerOptions{Repeatable: always}))
		require.Equal(t, 1, s.runs)
		require.Contains(t, got.Text(), "Retry: not now: possible again in 10 min; tell the user.")
	})
}

// Options of a server are copied, and a mistake in them is told at once.
func TestServerOptions(t *testing.T) {
	require.NotPanics(t, func() { retry.Server(nil) })
	rules := []fault.HintRule{func(error) (fault.Hint, bool) { return fault.Hint{}, false }}
	o := retry.ServerOptions{Rules: rules, InitialInterval: 3 * time.Second}
	retry.Server(&o)
	require.Zero(t, o.MaxAttempts)
	for text, bad := range map[string]retry.ServerOptions{
		"retry.Server: ServerOptions.MaxAttempts is negative; leave it zero for the default":                                         {MaxAttempts: -1},
		"retry.Server: ServerOptions.Budget is negative; leave it zero for the default":                                              {Budget: -1},
		"retry.Server: ServerOptions.InitialInterval is negative; leave it zero for the default":                                     {InitialInterval: -1},
		"retry.Server: ServerOptions.Rules[1] is nil; remove it or give a rule":                                                      {Rules: []fault.HintRule{rules[0], nil}},
		"retry.Server: ServerOptions.InitialInterval is longer than Budget (1m0s > 10s); make it shorter, or leave one of them zero": {InitialInterval: time.Minute},
	} {
		require.PanicsWithValue(t, text, func() { retry.Server(&bad) })
	}
}

// The canary stands in errors, causes and panics of every attempt.
func TestServerHidesTheSecret(t *testing.T) {
	bubble(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		rules := []fault.HintRule{func(err error) (fault.Hint, bool) {
			return fault.Hint{Retry: fault.RetryYes}, errors.Is(err, errCanary)
		}}
		var logged bytes.Buffer
		s := play(harness.Fail(errCanary), harness.Fail(fmt.Errorf("again: %w", errCanary)), harness.Panic(harness.Canary))
		mcpLog := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		session := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{"it": s.handle},
			Middleware: []mcp.Middleware{
				mask.New(&mask.Options{Logger: mcpLog}), retry.Server(&retry.ServerOptions{Repeatable: always, Rules: rules}),
				mcprecover.New(&mcprecover.Options{Logger: mcpLog}),
			},
		})
		got := session.Call(t, "it")
		require.Equal(t, 3, s.runs)
		require.Contains(t, got.Text(), "Internal error: ")
		require.NotContains(t, session.Sent(), harness.Canary)
		require.Equal(t, 2, bytes.Count(logged.Bytes(), []byte("mcp call is tried again")))
	})
}

var errCanary = errors.New("dial " + harness.Canary)

// Calls at the same time have their own waits.
func TestServerConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := retry.Server(&retry.ServerOptions{Repeatable: always, MaxAttempts: 5, Budget: time.Hour})(
			func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
				if n := ctx.Value(runsKey{}).(*int); *n < 4 {
					*n++
					return nil, fault.Unavailable("it").After(time.Duration(*n) * time.Second)
				}
				return harness.Success(req), nil
			})
		done := make(chan time.Duration)
		for range 100 {
			go func() {
				began := time.Now()
				res, err := handler(context.WithValue(t.Context(), runsKey{}, new(int)), middleware.MethodReadResource,
					&mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "x:y"}})
				if err != nil || res.GetMeta()[retry.AttemptsKey] != 5 {
					done <- 0
					return
				}
				done <- time.Since(began)
			}()
		}
		for range 100 {
			require.Equal(t, 10*time.Second, <-done)
		}
	})
}

type runsKey struct{}

func BenchmarkServer(b *testing.B) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Name: "it", Arguments: []byte(`{"city":"Bonn","days":3}`), Meta: mcp.Meta{"a": 1, "b": 2},
	}}
	var res mcp.Result = &mcp.CallToolResult{}
	handler := func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil }
	opener := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		return next(ctx, c.Method(), req)
	})
	for name, h := range map[string]mcp.MethodHandler{
		"without": opener(handler),
		"with":    middleware.Chain(opener, retry.Server(nil))(handler),
	} {
		b.Run("success/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(b.Context(), middleware.MethodCallTool, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	failing := middleware.Chain(opener, retry.Server(nil))(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, errCanary
	})
	b.Run("failure that is final", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = failing(b.Context(), middleware.MethodCallTool, req)
		}
	})
}

// Success costs no allocation.
func TestServerAllocatesNothing(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: []byte(`{"n":1}`), Meta: mcp.Meta{"a": 1}}}
	var res mcp.Result = &mcp.CallToolResult{}
	var without, with float64
	inner := func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil }
	opener := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		return next(ctx, c.Method(), req)
	})
	measure := func(h mcp.MethodHandler) float64 {
		return testing.AllocsPerRun(200, func() { _, _ = h(t.Context(), middleware.MethodCallTool, req) })
	}
	without, with = measure(opener(inner)), measure(middleware.Chain(opener, retry.Server(nil))(inner))
	require.InDelta(t, without, with, 0)
}
