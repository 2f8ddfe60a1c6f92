package drain_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/transport"
)

// A kind is one of the kinds of server that there are over HTTP.
type kind struct {
	version           string
	stateless, asJSON bool
	events            bool // streams can be resumed
}

func (k kind) String() string {
	return fmt.Sprintf("%s/stateless=%t/json=%t/events=%t", k.version, k.stateless, k.asJSON, k.events)
}

var kinds = []kind{
	{version: "2026-07-28", stateless: true},
	{version: "2026-07-28", stateless: true, asJSON: true},
	{version: "2025-11-25", stateless: true},
	{version: "2025-11-25", stateless: true, asJSON: true},
	{version: "2025-11-25"},
	{version: "2025-11-25", asJSON: true},
	{version: "2025-11-25", events: true},
}

// after is a user's middleware that has work to do when a call has been handled, as audit has.
func after(work time.Duration) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			defer time.Sleep(work)
			return next(ctx, method, req)
		}
	}
}

// httpServer is a server over HTTP that can be ended at once.
type httpServer struct {
	kind
	url string
	web *http.Server
	log *harness.Log
}

// serve starts one whose tool "it" waits until release is closed and then returns an answer of
// this size.
func serve(t *testing.T, k kind, d *drain.Drain, size int, began *atomic.Int64, release chan struct{}, wrapped bool) *httpServer {
	t.Helper()
	s := &httpServer{kind: k, log: &harness.Log{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		began.Add(1)
		<-release
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", size)}}}, nil, nil
	})
	server.AddReceivingMiddleware(after(20*time.Millisecond), drain.New(&drain.Options{Drain: d}))
	opts := &mcp.StreamableHTTPOptions{Stateless: k.stateless, JSONResponse: k.asJSON}
	if k.events {
		opts.EventStore = mcp.NewMemoryEventStore(nil)
	}
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
	if wrapped {
		handler = transport.HTTP(handler, &transport.Options{Logger: s.log.Logger()})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.web, s.url = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}, "http://"+listener.Addr().String()
	go func() { _ = s.web.Serve(listener) }()
	t.Cleanup(func() { _ = s.web.Close() })
	return s
}

func (s *httpServer) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: &http.Transport{}}},
		speak.Version(s.version))
	require.NoError(t, err)
	return session
}

// TestAnswersAreOnTheWire ends the HTTP server in the moment in which Shutdown returns, as hard
// as it can be ended, with answers of all sizes under way. None is lost.
func TestAnswersAreOnTheWire(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			for _, size := range []int{10, 2 << 20} {
				calls := 2
				if os.Getenv("MCPCHAIN_SOAK") != "" {
					calls = 4
				}
				var began atomic.Int64
				d, release := &drain.Drain{}, make(chan struct{})
				s := serve(t, k, d, size, &began, release, true)
				lost := make(chan error, calls)
				var callers sync.WaitGroup
				for range calls {
					session := s.connect(t)
					callers.Go(func() {
						res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "it"})
						if err == nil && len(res.Content[0].(*mcp.TextContent).Text) != size {
							err = errors.New("cut")
						}
						if err != nil {
							lost <- err
						}
					})
				}
				harness.Eventually(t, func() bool { return began.Load() == int64(calls) })
				time.AfterFunc(10*time.Millisecond, func() { close(release) })
				require.NoError(t, d.Shutdown(within(t, time.Minute)))
				require.NoError(t, s.web.Close())
				callers.Wait()
				close(lost)
				for err := range lost {
					t.Errorf("lost: %d bytes: %v", size, err)
				}
			}
		})
	}
}

// post sends one body and returns the response, whose body the caller closes.
func (s *httpServer) post(ctx context.Context, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", s.version)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return (&http.Client{Transport: &http.Transport{}}).Do(req)
}

const callIt = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"it","arguments":{}}}`

// TestSlowReaders: a client that does not read holds the server for as long as the context of
// Shutdown and Grace say, and is named.
func TestSlowReaders(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		var began atomic.Int64
		d, release := &drain.Drain{Grace: 50 * time.Millisecond}, make(chan struct{})
		close(release)
		s := serve(t, kind{version: "2025-11-25", stateless: true, asJSON: asJSON}, d, 12<<20, &began, release, true)
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		body := fmt.Sprintf(callIt, 1)
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		require.NoError(t, err)
		harness.Eventually(t, func() bool { return began.Load() == 1 && d.Running() == 0 })
		require.Regexp(t, `^drain: calls that did not end: 1, tools/call "it" for \S+ \(\S+\), whose answer is not written$`, d.Shutdown(within(t, 50*time.Millisecond)).Error())
		require.NoError(t, conn.Close())
		require.NoError(t, d.Shutdown(within(t, time.Minute)), "a client that has gone holds nothing")
	}
}

// TestClientsThatHaveGone do not hold the server.
func TestClientsThatHaveGone(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			var began atomic.Int64
			d, release := &drain.Drain{}, make(chan struct{})
			s := serve(t, k, d, 10, &began, release, true)
			session := s.connect(t)
			ctx, giveUp := context.WithCancel(t.Context())
			var caller sync.WaitGroup
			caller.Go(func() { _, _ = session.CallTool(ctx, &mcp.CallToolParams{Name: "it"}) })
			harness.Eventually(t, func() bool { return began.Load() == 1 })
			giveUp()
			caller.Wait()
			time.AfterFunc(20*time.Millisecond, func() { close(release) })
			require.NoError(t, d.Shutdown(within(t, time.Minute)))
			require.Zero(t, d.Running())
		})
	}
}

// TestManyCallsInOnePOST waits for all of them, and for the one answer of all.
func TestManyCallsInOnePOST(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		var began atomic.Int64
		d, release := &drain.Drain{}, make(chan struct{})
		s := serve(t, kind{version: "2025-03-26", stateless: true, asJSON: asJSON}, d, 1<<20, &began, release, true)
		answer := make(chan string, 1)
		go func() {
			resp, err := s.post(context.Background(), "["+fmt.Sprintf(callIt, 1)+","+fmt.Sprintf(callIt, 2)+","+fmt.Sprintf(callIt, 3)+`,{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
			if err != nil {
				answer <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body) // without the last chunk of a stream it is an error
			answer <- string(text)
		}()
		harness.Eventually(t, func() bool { return began.Load() == 3 })
		time.AfterFunc(10*time.Millisecond, func() { close(release) })
		require.NoError(t, d.Shutdown(within(t, time.Minute)))
		require.NoError(t, s.web.Close())
		require.Equal(t, 3, strings.Count(<-answer, `"result"`))
	}
}

// TestRefusalsAreWritten: the answers of calls that are refused count, and none that comes later
// holds Shutdown.
func TestRefusalsAreWritten(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel() // it waits
			var began atomic.Int64
			d, release := &drain.Drain{}, make(chan struct{})
			s := serve(t, k, d, 10, &began, release, true)
			running, late := s.connect(t), s.connect(t)
			var callers sync.WaitGroup
			defer callers.Wait()
			callers.Go(func() { _, _ = running.CallTool(context.Background(), &mcp.CallToolParams{Name: "it"}) })
			harness.Eventually(t, func() bool { return began.Load() == 1 })
			ended := make(chan error, 1)
			go func() { ended <- d.Shutdown(within(t, time.Minute)) }()
			harness.Eventually(t, func() bool { return ready(d) == http.StatusServiceUnavailable })
			var refused, lost atomic.Int64
			for range 4 {
				callers.Go(func() {
					res, err := late.CallTool(context.Background(), &mcp.CallToolParams{Name: "it"})
					if f, failed := middleware.FaultOf(res, err); failed && f.Kind() == fault.KindServiceUnavailable && f.Party() == fault.PartyServer {
						refused.Add(1)
					} else {
						lost.Add(1)
						t.Log(err)
					}
				})
			}
			harness.Eventually(t, func() bool { return d.Refused() == 4 })
			close(release) // their answers take 20 ms more
			require.NoError(t, <-ended)
			require.NoError(t, s.web.Close())
			callers.Wait()
			require.EqualValues(t, 4, refused.Load())
			require.Zero(t, lost.Load())
		})
	}
}

// TestClientsMoveOn: answers of a server that is not ready any more end their connections, so
// that clients which keep theirs reach another server.
func TestClientsMoveOn(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		var began atomic.Int64
		d, release := &drain.Drain{Lag: time.Minute}, make(chan struct{})
		close(release)
		s := serve(t, kind{version: "2025-11-25", stateless: true, asJSON: asJSON}, d, 10, &began, release, true)
		closes := func() bool {
			resp, err := s.post(t.Context(), fmt.Sprintf(callIt, 1))
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return resp.Close
		}
		require.False(t, closes())
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Shutdown(ctx) }()
		harness.Eventually(t, func() bool { return ready(d) == http.StatusServiceUnavailable })
		require.True(t, closes(), "a call that is accepted")
		end()
		require.NoError(t, <-ended)
		require.True(t, closes(), "a call that is refused")
	}
}

// TestStandingStreams: the streams of clients that wait for messages of the server end with
// Shutdown, and not before. The HTTP server then ends at once.
func TestStandingStreams(t *testing.T) {
	var began atomic.Int64
	d, release := &drain.Drain{}, make(chan struct{})
	s := serve(t, kind{version: "2025-11-25"}, d, 10, &began, release, true)
	session := s.connect(t)
	open := func() *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Mcp-Session-Id", session.ID())
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		return resp
	}
	var caller sync.WaitGroup
	caller.Go(func() { _, _ = session.CallTool(context.Background(), &mcp.CallToolParams{Name: "it"}) })
	harness.Eventually(t, func() bool { return began.Load() == 1 })
	taken := open()
	require.Equal(t, http.StatusConflict, taken.StatusCode, "the stream of the client stands while a call runs")
	require.NoError(t, taken.Body.Close())
	close(release)
	require.NoError(t, d.Shutdown(within(t, time.Minute)))
	caller.Wait()
	ended := open()
	_, err := io.ReadAll(ended.Body)
	require.NoError(t, err, "it ends at once")
	require.NoError(t, ended.Body.Close())
	require.NoError(t, s.web.Shutdown(within(t, time.Minute)))
}

// TestWithoutATransport says that Shutdown does not see answers, once.
func TestWithoutATransport(t *testing.T) {
	for _, wrapped := range []bool{false, true} {
		log := &harness.Log{}
		before := slog.Default()
		slog.SetDefault(log.Logger())
		var began atomic.Int64
		d, release := &drain.Drain{}, make(chan struct{})
		close(release)
		s := serve(t, kinds[0], d, 10, &began, release, wrapped)
		_, err := s.connect(t).CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
		require.NoError(t, err)
		require.NoError(t, d.Shutdown(within(t, time.Minute)))
		require.NoError(t, d.Shutdown(within(t, time.Minute)))
		slog.SetDefault(before)
		want := 1
		if wrapped {
			want = 0
		}
		require.Equal(t, want, strings.Count(log.String(), "Drain.Shutdown returns before answers are written"), log.String())
	}
}

// A slowStore takes its time to store what is sent.
type slowStore struct {
	mcp.EventStore
	answers atomic.Int64
}

func (s *slowStore) Append(ctx context.Context, session, stream string, data []byte) error {
	if strings.Contains(string(data), `"result"`) {
		time.Sleep(100 * time.Millisecond)
		defer s.answers.Add(1)
	}
	return s.EventStore.Append(ctx, session, stream, data)
}

// TestStreamsThatAreResumed: where the stream of a call ended before its answer, Shutdown waits
// until the answer is in the store, and with the client that took up the stream again.
func TestStreamsThatAreResumed(t *testing.T) {
	t.Parallel() // it waits
	for _, resumed := range []bool{false, true} {
		d, parted, release := &drain.Drain{}, make(chan struct{}), make(chan struct{})
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
		mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: time.Millisecond})
			close(parted)
			<-release
			return nil, nil, nil
		})
		server.AddReceivingMiddleware(drain.New(&drain.Options{Drain: d}))
		events := &slowStore{EventStore: mcp.NewMemoryEventStore(nil)}
		web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{EventStore: events}), nil))
		s := &httpServer{url: web.URL, kind: kind{version: "2025-11-25"}}
		session := s.connect(t)
		events.answers.Store(0) // of initialize
		got := make(chan error, 1)
		if resumed {
			go func() {
				_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "it"})
				got <- err
			}()
			<-parted
			time.Sleep(300 * time.Millisecond) // until the client is back
		} else {
			resp, err := s.post(t.Context(), fmt.Sprintf(callIt, 1000), "Mcp-Session-Id", session.ID())
			require.NoError(t, err)
			<-parted
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
		time.AfterFunc(20*time.Millisecond, func() { close(release) })
		require.NoError(t, d.Shutdown(within(t, time.Minute)))
		require.EqualValues(t, 1, events.answers.Load())
		if resumed {
			require.NoError(t, web.Config.Close())
			require.NoError(t, <-got)
		}
		web.CloseClientConnections()
		web.Close()
	}
}
