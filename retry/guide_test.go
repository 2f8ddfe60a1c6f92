package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
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

var ownWait = regexp.MustCompile(`after [56] s `)

// shown returns a text in which the waits that are made by chance, of 5 or 6
// seconds, are all the same.
func shown(text string) string { return ownWait.ReplaceAllString(text, "after W ") }

// serialization is the error of a database that rolled back.
type serialization struct{}

func (serialization) Error() string    { return harness.Canary }
func (serialization) SQLState() string { return "40001" }

// However often one of them stands in a chain, a failure is counted once.
func TestTwoOfThemCountOnce(t *testing.T) {
	one := retry.New(&retry.Options{MaxAttempts: 3})
	for name, mw := range map[string][]mcp.Middleware{
		"the same": {one, one}, "another": {retry.New(&retry.Options{MaxAttempts: 9}), retry.New(&retry.Options{MaxAttempts: 3})},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Start(t, rawAt, harness.Setup{Handlers: map[string]harness.Handler{"it": limited(time.Second)}, Middleware: mw})
			require.Contains(t, s.Call(t, "it").Text(), "(attempt 2 of 3)")
			require.Contains(t, s.Call(t, "it").Text(), "(attempt 3 of 3)")
			require.Contains(t, s.Call(t, "it").Text(), "Retry: no. This exact call has failed 3 times.")
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
			require.Contains(t, s.Call(t, "it").Text(), "Repeated failure: this exact call has failed once, so it is not made for the next 30 s.")
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

// Which waits are sent is in TestAnOutageForEver; here is what is made of the option.
func TestWaitsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(opts retry.Options, err error, calls int) (all []float64) {
			opts.GiveUpAfter = 1000 * time.Hour
			s := annotated(t, readOnly, &opts, harness.Fail(err))
			for range calls {
				said, _ := s.Call(t, "it").Fault().Retry()
				all = append(all, said.RetryAfterSeconds)
				time.Sleep(time.Duration(said.RetryAfterSeconds * float64(time.Second)))
			}
			return all
		}
		for err, factors := range map[error][]float64{
			errRefused: {1, 3, 9, 12, 12}, retryError(t, http.StatusTooManyRequests, nil): {6, 12, 12},
		} {
			for i, said := range waits(retry.Options{InitialInterval: 10 * time.Second}, err, len(factors)) {
				require.GreaterOrEqual(t, said, 10*factors[i])
				require.LessOrEqual(t, said, 12.5*factors[i])
			}
		}
		chance := waits(retry.Options{InitialInterval: 10 * time.Minute}, errRefused, 24)[4:]
		require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(chance)))), 1, "there is no jitter")
		require.Equal(t, []float64{1, 1, 1, 1, 1}, waits(retry.Options{InitialInterval: time.Millisecond}, errRefused, 5))
		for _, said := range waits(retry.Options{InitialInterval: math.MaxInt64}, errRefused, 5) {
			require.InDelta(t, (24 * time.Hour).Seconds(), said, 0)
		}
	})
	long := annotated(t, nil, nil, limited(time.Hour)).Call(t, "it")
	require.Contains(t, long.Text(), "Retry: not now: possible again in 1 h; tell the user.", "a wait that was asked for is not cut")
}

func TestWhatTheCallerCounts(t *testing.T) {
	for _, tc := range []struct {
		name string
		meta mcp.Meta
		want string
	}{
		{"ours", mcp.Meta{retry.AttemptKey: 2}, "yes, after 1 s (attempt 3)."},
		{"somebody else's", mcp.Meta{"attempt": 3}, "yes, after 1 s (attempt 2)."},
		{"many", mcp.Meta{retry.AttemptKey: 30}, "yes, after 1 s (attempt 31)."},
		{"text", mcp.Meta{retry.AttemptKey: "2"}, "yes, after 1 s (attempt 3)."},
		{"negative", mcp.Meta{retry.AttemptKey: -1}, "yes, after 1 s (attempt 2)."},
		{"huge", mcp.Meta{retry.AttemptKey: 1e300}, "yes, after 1 s (attempt 2)."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := annotated(t, nil, nil, limited(time.Second))
			res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Meta: tc.meta})
			require.NoError(t, err)
			require.Contains(t, harness.Answer{Result: res}.Text(), "Retry: "+tc.want)
		})
	}
	s := annotated(t, nil, &retry.Options{MaxAttempts: 3}, limited(time.Second))
	res, err := s.Client.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Meta: mcp.Meta{retry.AttemptKey: 3}})
	require.NoError(t, err)
	require.Contains(t, harness.Answer{Result: res}.Text(), "Retry: no. This exact call has failed 3 times.", "the last")
}

func TestWhatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		s := annotated(t, nil, &retry.Options{GiveUpAfter: time.Hour}, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			if fail {
				return limited(time.Minute)(ctx, req)
			}
			return harness.Success(req), nil
		})
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2)")
		fail = false
		require.Equal(t, "fine", s.Call(t, "it").Text())
		fail = true
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2)", "a success forgets")
		time.Sleep(time.Minute + 9*time.Minute)
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 3)", "the wait does not count")
		time.Sleep(time.Minute + 10*time.Minute)
		require.Contains(t, s.Call(t, "it").Text(), "(attempt 2)", "time forgets")

		// A wait of our own does not count either, however long it may be.
		slow := annotated(t, readOnly, &retry.Options{InitialInterval: time.Hour, GiveUpAfter: 24 * time.Hour}, harness.Fail(errRefused))
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
		for range 2 {
			require.Contains(t, s.Call(t, "it").Text(), "Retry: no. The same call will fail again.")
		}
		for _, n := range []int{3, 4, 5, 6} {
			require.Equal(t, fmt.Sprintf("Not found: project 'zebra' does not exist.\nSuggestion: Check the name. If a tool lists what exists, call it first.\n"+
				"Retry: no. This exact call has failed %d times with the same error. Find out what exists, or ask the user.", n), s.Call(t, "it").Text())
		}
		require.Equal(t, 6, h.runs)

		time.Sleep(1500 * time.Millisecond)
		refused := s.Call(t, "it")
		require.Equal(t, 6, h.runs, "not run")
		require.Equal(t, "Repeated failure: this exact call has failed 6 times, so it is not made for the next 29 s. "+
			"Its last error was: Not found: project 'zebra' does not exist.\n"+
			"Retry: no. Calls with other arguments are made as before.", refused.Text())
		require.Equal(t, "REPEATED_FAILURE", refused.Machine()["code"])
		require.Equal(t, "repeated_failure", refused.Machine()["type"])
		require.Equal(t, "refused", log.Records()[6]["outcome"], "recorded like any other")
		require.Contains(t, s.Call(t, "other").Text(), "(attempt 2)", "another call is run")

		time.Sleep(28500 * time.Millisecond)
		require.Contains(t, s.Call(t, "it").Text(), "This exact call has failed 7 times", "it is run once after the pause")
		require.Contains(t, s.Call(t, "it").Text(), "so it is not made for the next 60 s")
		require.Equal(t, 7, h.runs)

		time.Sleep(time.Minute)
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
	words := []string{"the oven is cold", "the oven is hot", "the oven is cold", "the oven is hot", "the oven is cold", "the oven is cold"}
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
	for range 2 {
		require.NotContains(t, s.Call(t, "it").Text(), "This exact call")
	}
	require.Contains(t, s.Call(t, "it").Text(), "This exact call has failed 3 times with the same error.")
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
		require.Contains(t, try(9), "Retry: unknown. The last 10 calls of this tool have failed. Try another way, or tell the user what does not work.")
		for i := 10; i < 20; i++ {
			require.Contains(t, try(i), fmt.Sprintf("The last %d calls of this tool", i+1))
		}
		require.Equal(t, 20, h.runs)
		require.Contains(t, try(20), "Repeated failure: the last 20 calls of this tool have failed, so it is not made for the next 30 s. "+
			"Its last error was: Internal error: the server failed unexpectedly.\nRetry: not now. Other tools can be called as before. Tell the user; it may work again later.")
		require.Equal(t, 20, h.runs)
		time.Sleep(30 * time.Second)
		h.err = nil
		require.Equal(t, "fine", try(21), "one run after the pause finds out that it works again")
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

// What shows that a tool is broken, and stays so, counts for the tool. What passes by itself does not: neither
// a write of which nothing is said nor a read that may be repeated is ever refused.
func TestWhatIsBroken(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		broken bool
	}{
		"a bug": {errors.New("index out of range"), true}, "a final answer": {fault.New(fault.KindServerError, "it failed").Never("over"), true},
		"a timeout": {context.DeadlineExceeded, false}, "a connection": {errReset, false}, "an answer": {fault.New(fault.KindServerError, "it failed"), false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &errorWith{err: tc.err}
			s := annotated(t, nil, nil, h.handle)
			for i := range 20 {
				s.CallTool(t.Context(), "it", map[string]any{"page": i})
			}
			text := s.CallTool(t.Context(), "it", map[string]any{"page": 21}).Text()
			if tc.broken {
				require.Contains(t, text, "the last 20 calls of this tool have failed")
				require.Equal(t, 20, h.runs)
				return
			}
			require.NotContains(t, text, "calls of this tool")
			require.Equal(t, 21, h.runs)
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
		require.Contains(t, s.CallTool(t.Context(), "it", map[string]any{"page": i}).Text(), "Retry: yes, after 1 s (attempt 2).")
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
		require.Contains(t, texts[0], "This exact call has failed once. Find out")
		require.Contains(t, texts[1], "so it is not made for the next 30 s")

		texts, runs = run(retry.Options{RefuseAfter: 5}, gone, 6)
		require.Equal(t, 5, runs)
		require.NotContains(t, texts[1], "This exact call")
		require.Contains(t, texts[2], "This exact call has failed 3 times with the same error.")

		texts, runs = run(retry.Options{Owner: func(context.Context, mcp.Request) string { return "" }}, gone, 50)
		require.Equal(t, 50, runs)
		require.Contains(t, texts[49], "Retry: no. The same call will fail again.")

		// A limit of attempts counts whoever gives it, and what passes by itself is not refused after it.
		texts, runs = run(retry.Options{MaxAttempts: 10}, fault.RateLimited("it", time.Second), 20)
		require.Contains(t, texts[8], "(attempt 10 of 10)")
		require.Contains(t, texts[9], "Retry: no. This exact call has failed 10 times.")
		require.Contains(t, texts[19], "Retry: no. This exact call has failed 20 times.")
		require.Equal(t, 20, runs)
		more := fault.RateLimited("it", 0).WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, MaxAttempts: 10})
		for _, most := range []int{0, 3} { // the fault goes first
			texts, runs = run(retry.Options{MaxAttempts: most}, more, 20)
			require.Contains(t, texts[8], "(attempt 10 of 10)")
			require.Contains(t, texts[9], "Retry: no. This exact call has failed 10 times.")
			require.Equal(t, 20, runs)
		}
	})
}

// Functions of the program's own that panic say nothing.
func TestCallbacksThatPanic(t *testing.T) {
	s := annotated(t, readOnly, &retry.Options{Repeatable: func(string) bool { panic("own") }}, harness.Fail(context.DeadlineExceeded))
	require.NotContains(t, s.Call(t, "it").Text(), "Retry:", "it is not known that it only reads")
	s = annotated(t, readOnly, &retry.Options{Owner: func(context.Context, mcp.Request) string { panic("own") }}, limited(time.Second))
	for range 2 {
		require.Contains(t, s.Call(t, "it").Text(), uncounted, "not counted")
	}
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
	for range 2 {
		require.Contains(t, s.CallTool(t.Context(), "typed", map[string]any{"n": "x"}).Text(), "Retry: only with corrected arguments.")
	}
	for range 4 {
		require.Contains(t, s.CallTool(t.Context(), "typed", map[string]any{"n": "x"}).Text(), "This exact call has failed")
	}
	require.Contains(t, s.CallTool(t.Context(), "typed", map[string]any{"n": "x"}).Text(), "so it is not made for the next 30 s")
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
		require.NotContains(t, err.Error(), "attempt")
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
		if f := c.End(res, err); c.Quiet() && f != nil {
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
	require.Contains(t, harness.Answer{Result: c()}.Text(), "(attempt 2)")
	asks = true
	require.NotNil(t, c().(*mcp.CallToolResult).InputRequests)
	require.NotContains(t, c().(*mcp.CallToolResult).Meta, middleware.MetaKey)
	asks = false
	require.Contains(t, harness.Answer{Result: c()}.Text(), "(attempt 3)")
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
	require.Contains(t, c(t.Context()).Text(), "(attempt 2)")
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
				seen = c.End(res, err).Fault()
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
	require.Zero(t, o.GiveUpAfter)
	for text, bad := range map[string]retry.Options{
		"retry.New: Options.MaxAttempts is negative; leave it zero for the default":     {MaxAttempts: -1},
		"retry.New: Options.InitialInterval is negative; leave it zero for the default": {InitialInterval: -1},
		"retry.New: Options.GiveUpAfter is negative; leave it zero for the default":     {GiveUpAfter: -1},
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
