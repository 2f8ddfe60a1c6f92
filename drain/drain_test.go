package drain_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// works returns a handler that works for a time or until its context ends, and notes the
// cause.
func works(d time.Duration, causes *[]error) harness.Handler {
	return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		select {
		case <-time.After(d):
			return harness.Success(req), nil
		case <-ctx.Done():
			*causes = append(*causes, context.Cause(ctx))
			return nil, ctx.Err()
		}
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func ready(d *drain.Drain) int {
	w := httptest.NewRecorder()
	d.Ready().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return w.Code
}

func TestShutdownInEveryShape(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		synctest.Test(t, func(t *testing.T) {
			var causes []error
			d := &drain.Drain{Lag: time.Second}
			s := harness.Start(t, at, harness.Setup{
				Handlers:   map[string]harness.Handler{"it": works(5*time.Second, &causes)},
				Middleware: []mcp.Middleware{drain.New(&drain.Options{Drain: d})},
			})
			require.Equal(t, http.StatusOK, ready(d))
			var calls sync.WaitGroup
			call := func(check func(got harness.Answer)) {
				calls.Go(func() { check(s.Call(t, "it")) })
				synctest.Wait()
			}
			finishes := func(got harness.Answer) { require.Equal(t, "fine", got.Text()) }
			call(finishes)
			require.Equal(t, 1, d.Running())
			start, ended := time.Now(), make(chan error, 1)
			go func() { ended <- d.Shutdown(within(t, time.Minute)) }()
			synctest.Wait()
			require.Equal(t, http.StatusServiceUnavailable, ready(d), "readiness falls first")
			call(finishes) // is still accepted
			time.Sleep(time.Second)
			synctest.Wait()
			if strings.HasPrefix(string(at.Shape), "wrap/") {
				got := s.Call(t, "it")
				require.Contains(t, got.Text(), "this server is being replaced: another one will answer")
			} else {
				got := s.Call(t, "it")
				require.Equal(t, fault.KindServiceUnavailable, got.Fault().Kind())
				retry, _ := got.Fault().Retry()
				require.Equal(t, fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectNone}, retry)
			}
			require.NoError(t, <-ended)
			require.Equal(t, 5*time.Second, time.Since(start))
			calls.Wait()
			require.Zero(t, d.Running())
			require.EqualValues(t, 1, d.Refused())
			require.Empty(t, causes)
		})
	})
}

func TestWhatIsLeftIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, release := &drain.Drain{Grace: 4 * time.Second}, make(chan struct{})
		h := drain.New(&drain.Options{Drain: d})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			<-release // whatever its context says
			return &mcp.CallToolResult{}, nil
		})
		var calls sync.WaitGroup
		for i := range 12 {
			calls.Go(func() {
				_, _ = h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: fmt.Sprintf("tool-%d", i)}})
			})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		start := time.Now()
		left := d.Shutdown(within(t, time.Second))
		require.Equal(t, 5*time.Second, time.Since(start))
		require.Regexp(t, `^drain: calls that did not end: 12, tools/call "tool-0" for 17s \([-0-9a-f]{36}\), .*, and 2 more$`, left.Error())
		close(release)
		require.NoError(t, d.Shutdown(t.Context()), "again")
		calls.Wait()
	})
}

// TestEndedStreams: a server that runs for months keeps nothing of streams that ended.
func TestEndedStreams(t *testing.T) {
	d := &drain.Drain{}
	h := drain.New(&drain.Options{Drain: d})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, io.EOF })
	var requests []weak.Pointer[mcp.CallToolRequest]
	for range 10 {
		req := &mcp.CallToolRequest{Extra: &mcp.RequestExtra{}}
		requests = append(requests, weak.Make(req))
		_, err := h(t.Context(), "subscriptions/listen", req)
		require.Error(t, err)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return !slices.ContainsFunc(requests, func(p weak.Pointer[mcp.CallToolRequest]) bool { return p.Value() != nil })
	}, time.Minute, time.Millisecond)
	runtime.KeepAlive(d)
}

// TestWhatIsNotACall ends subscriptions at once, answers pings, and lets what belongs to
// a running call pass.
func TestWhatIsNotACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drain.Drain{}
		mw := drain.New(&drain.Options{Drain: d})
		var given context.Context
		h := mw(mw(func(ctx context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			given = ctx
			if method == "subscriptions/listen" {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return &mcp.CallToolResult{}, nil
		}))
		ended := make(chan error, 1)
		go func() {
			_, err := h(t.Context(), "subscriptions/listen", &mcp.CallToolRequest{})
			ended <- err
		}()
		synctest.Wait()
		require.Zero(t, d.Running())
		_, err := h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{})
		require.NoError(t, err, "twice in one chain")
		require.Error(t, given.Err(), "the context of a call ends with it")
		start := time.Now()
		require.NoError(t, d.Shutdown(t.Context()))
		require.Zero(t, time.Since(start))
		require.Error(t, <-ended)
		live := httptest.NewRecorder()
		d.Live().ServeHTTP(live, httptest.NewRequest(http.MethodGet, "/livez", nil))
		require.Equal(t, http.StatusOK, live.Code, "it is not to be started again")
		for method, refused := range map[string]bool{
			"ping": false, "notifications/initialized": false,
			middleware.MethodCallTool: true, "tools/list": true, "initialize": true, "subscriptions/listen": true,
		} {
			_, failed := middleware.FaultOf(h(t.Context(), method, &mcp.ServerRequest[*mcp.PingParams]{}))
			require.Equal(t, refused, failed, method)
		}
	})
}

func TestPanicsAndExitsAreNotLeft(t *testing.T) {
	d := &drain.Drain{}
	h := drain.New(&drain.Options{Drain: d})(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		if req == nil {
			runtime.Goexit()
		}
		panic(harness.Canary)
	})
	require.Panics(t, func() { _, _ = h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{}) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = h(t.Context(), middleware.MethodCallTool, nil)
	}()
	<-done
	require.Zero(t, d.Running())
	require.NoError(t, d.Shutdown(t.Context()))
}

func TestNewWithoutADrain(t *testing.T) {
	for _, opts := range []*drain.Options{nil, {}} {
		require.PanicsWithValue(t, "drain.New: Options.Drain is nil; give &drain.Drain{} and call its Shutdown when the server has to end", func() { drain.New(opts) })
	}
}

func TestShutdownWhileCallsCome(t *testing.T) {
	harness.NoLeaks(t)
	d := &drain.Drain{}
	h := drain.New(&drain.Options{Drain: d})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		time.Sleep(time.Millisecond)
		return &mcp.CallToolResult{}, nil
	})
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for {
				f, failed := middleware.FaultOf(h(context.Background(), middleware.MethodCallTool, &mcp.CallToolRequest{}))
				if failed {
					if !errors.Is(f, fault.KindServiceUnavailable) {
						t.Error(f)
					}
					return
				}
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	for range 2 {
		calls.Go(func() {
			if err := d.Shutdown(context.Background()); err != nil || d.Running() != 0 {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	require.EqualValues(t, 16, d.Refused())
}
