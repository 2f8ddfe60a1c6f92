package drain_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
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

func TestContextsEndWithACause(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var causes []error
			d := &drain.Drain{}
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			h := works(time.Hour, &causes)
			mcp.AddTool(server, &mcp.Tool{Name: "it", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}},
				func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
					_, err := h(ctx, req)
					return nil, nil, err
				})
			server.AddReceivingMiddleware(mcprecover.New(nil), drain.New(&drain.Options{Drain: d}))
			ours, theirs := mcp.NewInMemoryTransports()
			ss, err := server.Connect(t.Context(), theirs, nil)
			require.NoError(t, err)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), ours, nil)
			require.NoError(t, err)
			answered := make(chan *fault.Error, 1)
			go func() {
				f, _ := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"}))
				answered <- f
			}()
			synctest.Wait()
			start := time.Now()
			require.NoError(t, d.Shutdown(within(t, 3*time.Second)))
			require.Equal(t, 3*time.Second, time.Since(start))
			f := <-answered
			require.Equal(t, []error{drain.ErrShutdown}, causes)
			require.Equal(t, fault.KindServiceUnavailable, f.Kind())
			retry, _ := f.Retry()
			require.Equal(t, readOnly, retry.ShouldRetry, "whether a tool that writes took effect is not known")
			require.NoError(t, session.Close())
			_ = ss.Wait()
		})
	}
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
		var left *drain.LeftError
		require.ErrorAs(t, d.Shutdown(within(t, time.Second)), &left)
		require.Equal(t, 5*time.Second, time.Since(start))
		require.Len(t, left.Calls, 12)
		require.Equal(t, "tool-0", left.Calls[0].Target)
		require.Equal(t, 17*time.Second, left.Calls[0].Running)
		require.NotEmpty(t, left.Calls[0].Reference)
		require.Contains(t, left.Error(), `drain: calls that did not end: 12, tools/call "tool-0" for 17s (`)
		require.Contains(t, left.Error(), ", and 2 more")
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
		for method, refused := range map[string]bool{
			"ping": false, "notifications/initialized": false,
			middleware.MethodCallTool: true, "tools/list": true, "initialize": true, "subscriptions/listen": true,
		} {
			_, failed := middleware.FaultOf(h(t.Context(), method, &mcp.ServerRequest[*mcp.PingParams]{}))
			require.Equal(t, refused, failed, method)
		}
	})
}

// TestAListFinishes lets the items of a list run that begin after the shutdown.
func TestAListFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		d := &drain.Drain{}
		s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, harness.Setup{
			Handlers: map[string]harness.Handler{"it": works(time.Second, &causes)},
			Middleware: []mcp.Middleware{drain.New(&drain.Options{Drain: d}), batch.New(&batch.Options{Lists: []batch.List{
				{Tool: "it", Item: "word", As: "many", Run: &batch.RunOptions[json.RawMessage]{Concurrency: 1}},
			}}), drain.New(&drain.Options{Drain: d})},
		})
		answered := make(chan harness.Answer, 1)
		go func() { answered <- s.CallTool(t.Context(), "many", map[string]any{"words": []string{"a", "b", "c"}}) }()
		synctest.Wait()
		require.NoError(t, d.Shutdown(within(t, time.Minute)))
		require.Nil(t, (<-answered).Fault())
		require.Empty(t, causes)
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

// TestOverHTTP ends a server of both eras under a running call.
func TestOverHTTP(t *testing.T) {
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		for _, stateless := range []bool{true, false} {
			if era == "2026-07-28" && !stateless {
				continue // it has no sessions
			}
			t.Run(fmt.Sprintf("%s/%t", era, stateless), func(t *testing.T) {
				d, began, release := &drain.Drain{}, make(chan struct{}), make(chan struct{})
				server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
				mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
					close(began)
					<-release
					return nil, nil, nil
				})
				server.AddReceivingMiddleware(drain.New(&drain.Options{Drain: d}))
				mux := http.NewServeMux()
				mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
				mux.Handle("/livez", d.Live())
				mux.Handle("/readyz", d.Ready())
				web := httptest.NewServer(mux)
				defer web.Close()
				status := func(path string) int {
					resp, err := http.Get(web.URL + path)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					return resp.StatusCode
				}
				session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
					&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp"}, speak.Version(era))
				require.NoError(t, err)
				answered := make(chan error, 1)
				go func() {
					_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "it"})
					answered <- err
				}()
				<-began
				ended := make(chan error, 1)
				go func() { ended <- d.Shutdown(context.Background()) }()
				harness.Eventually(t, func() bool { return status("/readyz") == http.StatusServiceUnavailable })
				require.Equal(t, http.StatusOK, status("/livez"))
				harness.Eventually(t, func() bool {
					f, failed := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"}))
					return failed && f.Kind() == fault.KindServiceUnavailable
				})
				close(release)
				require.NoError(t, <-answered)
				require.NoError(t, <-ended)
				_ = session.Close()
			})
		}
	}
}

// TestEndOfInput closes the input of a server as a client over stdio does, while a call
// runs: Shutdown waits for the handler.
func TestEndOfInput(t *testing.T) {
	d, began, causes := &drain.Drain{}, make(chan struct{}), make(chan error, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	finished := false
	mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		close(began)
		time.Sleep(50 * time.Millisecond)
		causes <- ctx.Err()
		finished = true
		return nil, nil, nil
	})
	server.AddReceivingMiddleware(drain.New(&drain.Options{Drain: d}))
	input, client := io.Pipe()
	here, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(here)) }()
	ran := make(chan error, 1)
	go func() { ran <- server.Run(t.Context(), &mcp.IOTransport{Reader: input, Writer: there}) }()
	_, err := io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n")
	require.NoError(t, err)
	<-began
	require.NoError(t, client.Close())
	select {
	case <-ran: //nolint:errcheck // that it ends is what counts
	case <-time.After(10 * time.Second):
		t.Fatal("the server did not end")
	}
	require.NoError(t, d.Shutdown(t.Context()))
	require.True(t, finished)
	t.Logf("the context of the handler: %v", <-causes)
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

func BenchmarkSuccess(b *testing.B) {
	d := &drain.Drain{}
	h := drain.New(&drain.Options{Drain: d})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
	req := &mcp.CallToolRequest{}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = h(b.Context(), middleware.MethodCallTool, req)
	}
}
