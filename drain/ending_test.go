package drain_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

// slowReader is a client over stdio that reads the answer of a call only when the test lets
// it.
type slowReader struct {
	may     chan struct{}
	answers atomic.Int64
}

func (r *slowReader) Write(p []byte) (int, error) {
	if len(p) > 1<<20 {
		<-r.may
		r.answers.Add(1)
	}
	return len(p), nil
}

func (*slowReader) Close() error { return nil }

// TestAnswersOverStdio: Shutdown returns when the answers of all servers of a process are
// written, whatever is between their lines. The process may end then.
func TestAnswersOverStdio(t *testing.T) {
	const calls, servers = 5, 2
	d, release := &drain.Drain{}, make(chan struct{})
	var began atomic.Int64
	out := &slowReader{may: make(chan struct{})}
	for range servers {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
		mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			if req.Extra != nil {
				t.Error("over stdio a request has no Extra")
			}
			began.Add(1)
			<-release
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 1<<20)}}}, nil, nil
		})
		server.AddReceivingMiddleware(after(10*time.Millisecond), drain.New(&drain.Options{Drain: d}))
		in, client := io.Pipe()
		ran := make(chan error, 1)
		go func() {
			ran <- server.Run(context.Background(), transport.Stdio(&transport.StdioOptions{In: in, Out: out, Logger: slog.New(slog.DiscardHandler)}))
		}()
		t.Cleanup(func() {
			require.NoError(t, client.Close())
			require.NoError(t, <-ran)
		})
		_, err := io.WriteString(client, `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`+"\n")
		require.NoError(t, err)
		for i := range calls {
			_, err = fmt.Fprintf(client, "no message\n"+callIt+"\n", i)
			require.NoError(t, err)
			_, err = fmt.Fprintf(client, callIt+"\n", i) // again, while it runs: the SDK refuses that
			require.NoError(t, err)
		}
	}
	read := sync.OnceFunc(func() { close(out.may) })
	t.Cleanup(read) // before the servers end
	harness.Eventually(t, func() bool { return began.Load() == calls*servers })
	ended := make(chan error, 1)
	go func() { ended <- d.Shutdown(within(t, time.Minute)) }()
	close(release)
	select {
	case err := <-ended:
		t.Fatal("nobody has read the answers", err)
	case <-time.After(100 * time.Millisecond):
	}
	harness.Eventually(t, func() bool { return d.Running() == 0 })
	read()
	require.NoError(t, <-ended)
	require.EqualValues(t, calls*servers, out.answers.Load())
}

// TestASecondShutdownJoinsTheFirst: it does not end the Lag of the first, and no call is refused
// in it. A context that ends does.
func TestASecondShutdownJoinsTheFirst(t *testing.T) {
	for _, shorter := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &drain.Drain{Lag: 10 * time.Second}
			h := drain.New(&drain.Options{Drain: d})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
			start, ended := time.Now(), make(chan time.Duration, 2)
			second := time.Minute
			lag := 10 * time.Second
			if shorter {
				second, lag = 4*time.Second, 5*time.Second
			}
			go func() {
				_ = d.Shutdown(within(t, time.Minute))
				ended <- time.Since(start)
			}()
			time.Sleep(time.Second)
			go func() {
				_ = d.Shutdown(within(t, second))
				ended <- time.Since(start)
			}()
			time.Sleep(lag - time.Second - 1)
			synctest.Wait()
			_, refused := middleware.FaultOf(h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{}))
			require.False(t, refused, "within Lag")
			require.Equal(t, lag, <-ended)
			require.Equal(t, lag, <-ended)
			_, refused = middleware.FaultOf(h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{}))
			require.True(t, refused)
		})
	}
}

// keyedCall is a call with an idempotency key.
func keyedCall(tool string, args any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: args, Meta: mcp.Meta{"io.modelcontextprotocol/idempotencyKey": "key-1"}}
}

// TestKeyedCallsHearOfTheEnd: replay detaches its handlers from their callers, but not from
// their server, whether the caller is there or not.
func TestKeyedCallsHearOfTheEnd(t *testing.T) {
	for name, gone := range map[string]bool{"the caller waits": false, "the caller has gone": true} {
		for _, list := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/list=%t", name, list), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &drain.Drain{Grace: 4 * time.Second}
					cause, runs := make(chan error, 1), 0
					server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
					mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct {
						Bill int `json:"bill,omitempty"`
					}) (*mcp.CallToolResult, any, error) {
						runs++
						<-ctx.Done()
						cause <- context.Cause(ctx)
						time.Sleep(3 * time.Second) // it undoes what it has done
						return nil, nil, errors.New("stopped in the middle")
					})
					owner := func(context.Context, mcp.Request) string { return "somebody" }
					server.AddReceivingMiddleware(middleware.Chain(mcprecover.New(nil), mask.New(nil), drain.New(&drain.Options{Drain: d}),
						batch.New(&batch.Options{Lists: []batch.List{{Tool: "pay", Item: "bill", As: "pay_all"}}}),
						replay.New(&replay.Options{Owner: owner, Wait: -1}), retry.New(nil)))
					ours, theirs := mcp.NewInMemoryTransports()
					ss, err := server.Connect(t.Context(), theirs, nil)
					require.NoError(t, err)
					session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), ours, nil)
					require.NoError(t, err)
					params := keyedCall("pay", map[string]any{})
					if list {
						params = keyedCall("pay_all", map[string]any{"bills": []int{1}})
					}
					ctx, giveUp := context.WithCancel(t.Context())
					answer := make(chan *fault.Error, 1)
					go func() {
						f, _ := middleware.FaultOf(session.CallTool(ctx, params))
						answer <- f
					}()
					synctest.Wait()
					if gone {
						giveUp()
						time.Sleep(time.Minute) // a list has given up its items by now
						synctest.Wait()
					}
					start := time.Now()
					require.NoError(t, d.Shutdown(within(t, time.Second)))
					require.Equal(t, 4*time.Second, time.Since(start), "a second of the context, and three of the handler")
					require.Equal(t, drain.ErrShutdown, <-cause)
					f := <-answer
					if !gone && !list {
						require.Equal(t, fault.KindServiceUnavailable, f.Kind())
						require.Equal(t, fault.PartyServer, f.Party())
					}
					require.Equal(t, 1, runs)
					giveUp()
					require.NoError(t, session.Close())
					_ = ss.Wait()
				})
			})
		}
	}
}

// TestWorkThatBeginsWhenAllIsCut is ended at once: Shutdown waits for it, too, and has little time left.
func TestWorkThatBeginsWhenAllIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &drain.Drain{}
		var cause error
		handler := drain.New(&drain.Options{Drain: d})(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
			defer call.Detach(ctx, cancel)()
			cause = context.Cause(work)
			return nil, ctx.Err()
		})
		ended := make(chan error, 1)
		time.AfterFunc(time.Second, func() { ended <- d.Shutdown(within(t, time.Second)) })
		_, _ = handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
		require.NoError(t, <-ended)
		require.Equal(t, drain.ErrShutdown, cause)
	})
}

// TestWhateverTheWordsAre: a call that was cut is classified as cut, whatever its handler makes
// of the end of its context. What the handler says of the call itself stands.
func TestWhateverTheWordsAre(t *testing.T) {
	words := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	for name, tc := range map[string]struct {
		end func(ctx context.Context) (*mcp.CallToolResult, error)
		own fault.Kind // "" for one that was cut
	}{
		"the error": {func(ctx context.Context) (*mcp.CallToolResult, error) { return nil, ctx.Err() }, ""},
		"the cause": {func(ctx context.Context) (*mcp.CallToolResult, error) { return nil, context.Cause(ctx) }, ""},
		"a driver's words": {func(context.Context) (*mcp.CallToolResult, error) {
			return nil, errors.New("pq: canceling statement due to user request")
		}, ""},
		"a driver's error": {func(context.Context) (*mcp.CallToolResult, error) { return nil, sql.ErrConnDone }, ""},
		"net/http":         {fetch, ""},
		"a fault with it": {func(ctx context.Context) (*mcp.CallToolResult, error) {
			return nil, fault.Timeout("the query", time.Second).Because(context.Cause(ctx))
		}, ""},
		"a result with it": {func(ctx context.Context) (*mcp.CallToolResult, error) {
			return words("Error: " + ctx.Err().Error()), nil
		}, ""},
		"a result of its own": {func(context.Context) (*mcp.CallToolResult, error) { return words("invoice 7 is paid already"), nil }, fault.KindTool},
		"wrong arguments":     {func(context.Context) (*mcp.CallToolResult, error) { return nil, fault.Invalid("a", 1, "a name") }, fault.KindValidation},
		"a panic":             {func(context.Context) (*mcp.CallToolResult, error) { panic("bug") }, fault.KindInternal},
	} {
		for _, annotations := range []*mcp.ToolAnnotations{nil, {IdempotentHint: true}, {ReadOnlyHint: true}} {
			t.Run(fmt.Sprintf("%s/%v", name, annotations), func(t *testing.T) {
				log := &harness.Log{}
				d, began := &drain.Drain{}, make(chan struct{})
				server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
				server.AddTool(&mcp.Tool{Name: "it", Annotations: annotations, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					close(began)
					<-ctx.Done()
					return tc.end(ctx)
				})
				server.AddReceivingMiddleware(middleware.Chain(mcprecover.New(nil), mask.New(&mask.Options{Logger: log.Logger()}), drain.New(&drain.Options{Drain: d}), retry.New(nil), deadline.New(nil), mcprecover.New(nil)))
				ours, theirs := mcp.NewInMemoryTransports()
				_, err := server.Connect(t.Context(), theirs, nil)
				require.NoError(t, err)
				session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), ours, nil)
				require.NoError(t, err)
				defer session.Close()
				answer := make(chan *fault.Error, 1)
				go func() {
					f, _ := middleware.FaultOf(session.CallTool(context.Background(), &mcp.CallToolParams{Name: "it", Arguments: map[string]any{}}))
					answer <- f
				}()
				<-began
				require.NoError(t, d.Shutdown(within(t, time.Millisecond)))
				f := <-answer
				if tc.own != "" {
					require.Equal(t, tc.own, f.Kind(), f.Text())
					return
				}
				require.Equal(t, fault.KindServiceUnavailable, f.Kind(), f.Text())
				require.Equal(t, fault.PartyServer, f.Party())
				retry, _ := f.Retry()
				require.Equal(t, annotations != nil, retry.ShouldRetry, "what writes may have taken effect")
				require.NotContains(t, log.String(), `"level":"ERROR"`)
			})
		}
	}
}

// fetch asks a service that does not answer.
func fetch(ctx context.Context) (*mcp.CallToolResult, error) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return nil, err
}
