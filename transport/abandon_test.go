package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/transport"
)

// A waiting server has the tool "wait", which works until its context ends or it is let go.
type waiting struct {
	as      func(*http.Request) // what the raw client adds; nil for nothing
	server  *httptest.Server
	url     string
	handler http.Handler // in the place of url
	session string       // of the raw client
	of      sort

	began sync.Map   // closed channels, by the number of the call
	ended chan error // why the context of a call ended; nil if the call was let go
	goOn  chan struct{}
	works atomic.Int64
	log   *harness.Log
}

func newWaiting(t *testing.T, of sort, opts transport.Options, chain mcpchain.Options, around func(http.Handler) http.Handler) *waiting {
	t.Helper()
	w := &waiting{of: of, ended: make(chan error, 1000), goOn: make(chan struct{}), log: &harness.Log{}}
	opts.Logger, chain.Logger = w.log.Logger(), w.log.Logger()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: map[string]any{"type": "object"}}, w.wait)
	server.AddReceivingMiddleware(mcpchain.Standard(&chain))
	handler := transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &of.opts), &opts)
	if around != nil {
		handler = around(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	w.url, w.server = web.URL, web
	w.initialize(t)
	return w
}

// initialize begins the session of the raw client, if the server has sessions.
func (w *waiting) initialize(t testing.TB) {
	t.Helper()
	if w.of.opts.Stateless {
		return
	}
	_, header, _ := w.raw(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+w.of.version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	w.session = header.Get("Mcp-Session-Id")
	require.NotEmpty(t, w.session)
	status, _, _ := w.raw(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Equal(t, http.StatusAccepted, status)
}

func (w *waiting) wait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ N string }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	w.works.Add(1)
	defer w.works.Add(-1)
	close(w.beginning(in.N))
	select {
	case <-ctx.Done():
		w.ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	case <-w.goOn:
		w.ended <- nil
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	}
}

// beginning returns a channel that is closed when a call begins.
func (w *waiting) beginning(n string) chan struct{} {
	began, _ := w.began.LoadOrStore(n, make(chan struct{}))
	return began.(chan struct{})
}

// request returns a POST as a client of the version sends it.
func (w *waiting) request(ctx context.Context, body string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", w.of.version)
	if w.session != "" {
		req.Header.Set("Mcp-Session-Id", w.session)
	}
	if w.of.version == "2026-07-28" {
		var m struct{ Method string }
		if json.Unmarshal([]byte(body), &m) == nil {
			req.Header.Set("Mcp-Method", m.Method)
			req.Header.Set("Mcp-Name", "wait")
		}
	}
	if w.as != nil {
		w.as(req)
	}
	return req, nil
}

// post sends a message.
func (w *waiting) post(ctx context.Context, body string) (*http.Response, error) {
	req, err := w.request(ctx, body)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// raw sends a message and returns the answer.
func (w *waiting) raw(t testing.TB, body string) (status int, header http.Header, answer string) {
	t.Helper()
	if w.handler != nil {
		req, err := w.request(t.Context(), body)
		require.NoError(t, err)
		recorder := httptest.NewRecorder()
		w.handler.ServeHTTP(recorder, req)
		return recorder.Code, recorder.Header(), recorder.Body.String()
	}
	resp, err := w.post(t.Context(), body)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header, string(got)
}

// answer sends a message and reads the whole answer.
func (w *waiting) answer(ctx context.Context, body string) (string, error) {
	resp, err := w.post(ctx, body)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}

const newerMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// meta returns the member of parameters that clients of the version send.
func (s sort) meta() string {
	if s.version == "2026-07-28" {
		return `,"_meta":{` + newerMeta + `}`
	}
	return ""
}

// call returns a call of the tool.
func (w *waiting) call(id int, meta string) string {
	if w.of.version == "2026-07-28" {
		meta += "," + newerMeta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{"n":"%d"},"_meta":{%s}}}`, id, id, strings.TrimPrefix(meta, ","))
}

// abandon makes a call and closes its connection when the handler has begun.
func (w *waiting) abandon(t *testing.T, id int, meta string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, err := w.answer(ctx, w.call(id, meta))
		if !errors.Is(err, context.Canceled) {
			t.Error(id, err)
		}
	}()
	<-w.beginning(strconv.Itoa(id))
	leave()
	<-gone
}

// TestAbandonedCallsEnd in all kinds of server: of 1,000 calls that nobody waits for, none works on.
func TestAbandonedCallsEnd(t *testing.T) {
	each := 1000 / len(sorts())
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting(t, of, transport.Options{CancelOlder: of.version < "2026-07-28"}, mcpchain.Options{}, nil)
			calls := make(chan int)
			var clients sync.WaitGroup
			for range 16 {
				clients.Go(func() {
					for id := range calls {
						w.abandon(t, id, "")
					}
				})
			}
			for id := range each + 1 {
				calls <- id + 1
			}
			close(calls)
			clients.Wait()
			for range each + 1 {
				select {
				case why := <-w.ended:
					require.ErrorIs(t, why, transport.ErrAbandoned)
					require.ErrorIs(t, why, context.Canceled)
				case <-time.After(10 * time.Second):
					t.Fatal("a call works on: ", w.works.Load())
				}
			}
			require.Eventually(t, func() bool {
				return w.works.Load() == 0 && strings.Count(w.log.String(), `"outcome":"cancelled"`) == each+1
			}, 10*time.Second, time.Millisecond)
		})
	}
}

// TestOlderCallsWorkOn: before 2026-07-28 a closed connection is no cancellation, unless an option says so, and never of
// a stream that can be resumed.
func TestOlderCallsWorkOn(t *testing.T) {
	for _, of := range sorts() {
		if of.version >= "2026-07-28" {
			continue
		}
		resumable := of
		resumable.opts.EventStore = mcp.NewMemoryEventStore(nil)
		for name, tc := range map[string]struct {
			of   sort
			opts transport.Options
			skip bool
		}{
			"by default": {of: of},
			"resumable":  {resumable, transport.Options{CancelOlder: true}, of.opts.JSONResponse}, // JSON has no event with an ID
		} {
			t.Run(of.name+"/"+name, func(t *testing.T) {
				if tc.skip {
					return
				}
				t.Parallel()
				w := newWaiting(t, tc.of, tc.opts, mcpchain.Options{}, nil)
				w.abandon(t, 1, "")
				select {
				case why := <-w.ended:
					t.Fatal(why)
				case <-time.After(100 * time.Millisecond):
				}
				close(w.goOn)
				require.NoError(t, <-w.ended)
			})
		}
	}
}

// TestAbandonedCallsUnderAKey work on, and whoever calls again gets their answers.
func TestAbandonedCallsUnderAKey(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting(t, of, transport.Options{CancelOlder: true}, mcpchain.Options{
				Replay: replay.New(&replay.Options{Owner: func(context.Context, mcp.Request) string { return "o" }}),
			}, nil)
			const key = `,"io.modelcontextprotocol/idempotencyKey":"0198c7f2-9d3e"`
			w.abandon(t, 1, key)
			select {
			case why := <-w.ended:
				t.Fatal(why)
			case <-time.After(100 * time.Millisecond):
			}
			close(w.goOn)
			require.NoError(t, <-w.ended)
			answer, err := w.answer(t.Context(), strings.Replace(w.call(1, key), `"id":1`, `"id":2`, 1))
			require.NoError(t, err)
			require.Contains(t, answer, `"text":"done"`)
			require.Empty(t, w.ended, "it ran once")
		})
	}
}

// TestWhoGivesUp: it counts alike whether the client has gone or a handler outside has given up.
func TestWhoGivesUp(t *testing.T) {
	impatient := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			ctx, cancel := context.WithTimeout(req.Context(), 50*time.Millisecond)
			defer cancel()
			next.ServeHTTP(w, req.WithContext(ctx))
		})
	}
	of := sorts()[0]
	w := newWaiting(t, of, transport.Options{}, mcpchain.Options{Deadline: deadline.New(&deadline.Options{Limit: time.Hour})}, impatient)
	_, err := w.answer(t.Context(), w.call(1, ""))
	require.NoError(t, err)
	require.ErrorIs(t, <-w.ended, transport.ErrAbandoned)
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), `"outcome":"cancelled"`) }, 10*time.Second, time.Millisecond)
	require.Contains(t, w.log.String(), transport.ErrAbandoned.Error())
}

// TestAbandonedHandlers: one handler that is wrapped alone ends as one behind a chain does.
func TestAbandonedHandlers(t *testing.T) {
	of, w := sorts()[0], &waiting{of: sorts()[0], ended: make(chan error, 1)}
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: map[string]any{"type": "object"}}, middleware.Tool(w.wait, mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)})))
	web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &of.opts), nil))
	t.Cleanup(web.Close)
	w.url = web.URL
	w.abandon(t, 1, "")
	require.ErrorIs(t, <-w.ended, transport.ErrAbandoned)
}
