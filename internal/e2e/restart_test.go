package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/transport"
)

const (
	restartLag   = 300 * time.Millisecond
	largeAnswer  = 2 << 20
	restartCalls = 300 // of each group in the normal suite; the soak step makes 10,000 in all
	lastCalls    = 6   // run when a server is told to end, and end together
)

// serveUntilTold is a server process of [TestRollingRestart]. It ends when it gets SIGTERM, and
// logs how many calls its handler has ended. When Shutdown has returned it closes everything at
// once, so that what Shutdown did not wait for is lost.
func serveUntilTold(cfg config, logger *slog.Logger) error {
	var ended atomic.Int64
	last := make(chan struct{})
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d := &drain.Drain{Lag: restartLag}
	records, err := audit.Open(filepath.Join(filepath.Dir(cfg.Log), "audit.jsonl"), nil)
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "restarted", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "work"}, func(ctx context.Context, req *mcp.CallToolRequest, in job) (*mcp.CallToolResult, any, error) {
		defer ended.Add(1)
		if in.Last {
			<-last
		}
		for range in.Steps {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: 1})
			time.Sleep(time.Millisecond)
		}
		return textResult(strings.Repeat("x", in.Size)), nil, nil
	})
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{
		Logger: logger, Drain: drain.New(&drain.Options{Drain: d}), Audit: audit.New(&audit.Options{Log: records}),
	}))

	web := &http.Server{ReadHeaderTimeout: time.Minute}
	running, end := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	context.AfterFunc(told, func() {
		defer end()
		time.AfterFunc(restartLag+50*time.Millisecond, func() { close(last) })
		limit, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := d.Shutdown(limit)
		logger.Info("ended", "calls", ended.Load(), "refused", d.Refused())
		failed <- errors.Join(err, web.Close(), records.Close())
	})
	if cfg.Transport == "stdio" {
		_ = server.Run(running, transport.Stdio(nil))
		return <-failed
	}
	mux := http.NewServeMux()
	mux.Handle("/readyz", d.Ready())
	mux.HandleFunc("/running", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, d.Running()) })
	mux.Handle("/", transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: cfg.Transport == "stateless", JSONResponse: cfg.JSON,
	}), nil))
	web.Handler = mux
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-failed
}

// A job is what a call asks for.
type job struct {
	Size  int  `json:"size"`
	Steps int  `json:"steps"`
	Last  bool `json:"last"` // it ends with its server
}

// lastJob is a call that runs when its server is told to end.
func lastJob() *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "work", Arguments: job{Size: largeAnswer, Last: true}}
}

// jobOf returns the arguments of call number n: each twentieth answer is large, and each third
// call takes a while and tells its progress.
func jobOf(n int64) *mcp.CallToolParams {
	j := job{Size: 100}
	if n%20 == 0 {
		j.Size = largeAnswer
	}
	if n%3 == 0 {
		j.Steps = int(n % 7)
	}
	params := &mcp.CallToolParams{Name: "work", Arguments: j}
	params.SetProgressToken(n)
	return params
}

// check says what is wrong with the answer of a call, and whether the call was refused, so that
// it is to be made again.
func check(params *mcp.CallToolParams, res *mcp.CallToolResult, err error) (refused bool, _ error) {
	if f, failed := middleware.FaultOf(res, err); failed {
		retry, _ := f.Retry()
		return f.Kind() == fault.KindServiceUnavailable && retry.ShouldRetry && retry.Effect == fault.EffectNone, err
	}
	j, _ := params.Arguments.(job)
	if text, ok := res.Content[0].(*mcp.TextContent); !ok || len(text.Text) != j.Size {
		return false, errors.New("the answer is cut")
	}
	return false, nil
}

// A tally counts the calls of a group, and what became of them.
type tally struct {
	want int64 // how many there are to make

	made, done, last, refused, moved, ran, restarts atomic.Int64

	mu   sync.Mutex
	lost []error
}

func (y *tally) lose(err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.lost = append(y.lost, err)
}

// ends waits for a process that was told to end, and counts what it did.
func (y *tally) ends(t *testing.T, p *process) {
	select {
	case <-p.Exited:
	case <-time.After(2 * patience):
		t.Errorf("a server does not end\n%s", p.Stderr)
		return
	}
	if p.Err != nil {
		t.Errorf("%v\n%s", p.Err, p.Stderr)
	}
	for _, r := range p.Log.Since(t, 0) {
		if r.Text("msg") == "ended" {
			calls, _ := r["calls"].(float64)
			y.ran.Add(int64(calls))
		}
	}
}

// TestRollingRestart replaces the servers of a fleet one after the other, again and again, under
// clients that go on calling: of both protocol versions, over streams and JSON, with and without
// sessions, and over stdio. The balancer stands in between and looks at /readyz. No call that a
// server has let in is lost, and none is made twice.
func TestRollingRestart(t *testing.T) {
	calls := int64(restartCalls)
	if racing {
		calls /= 4
	}
	rollingRestart(t, calls, 1)
}

// TestLoadRollingRestart is TestRollingRestart with 10,000 calls.
func TestLoadRollingRestart(t *testing.T) {
	soak(t)
	rollingRestart(t, int64(loadSize(false))/5, 6)
}

func rollingRestart(t *testing.T, calls int64, restarts int64) {
	t.Helper()
	for _, cfg := range []config{
		{Transport: "stateless"},
		{Transport: "stateless", JSON: true},
		{Transport: "stateful"},
		{Transport: "stateful", JSON: true},
		{Transport: "stdio"},
	} {
		if racing && (cfg.JSON || cfg.Transport == "stateful") {
			continue // they differ in what the SDK does
		}
		cfg.Restart = true
		t.Run(fmt.Sprintf("%s/json=%t", cfg.Transport, cfg.JSON), func(t *testing.T) {
			t.Parallel()
			y := &tally{want: calls}
			if cfg.Transport == "stdio" {
				y.overStdio(t, cfg, restarts)
			} else {
				y.overHTTP(t, cfg, restarts)
			}
			t.Logf("%d calls answered, of which %d were the last of a server, %d refused and made again, %d sessions moved, %d servers replaced, %d lost",
				y.done.Load(), y.last.Load(), y.refused.Load(), y.moved.Load(), y.restarts.Load(), len(y.lost))
			for _, err := range y.lost[:min(5, len(y.lost))] {
				t.Errorf("lost: %v", err)
			}
			require.Empty(t, y.lost)
			require.Positive(t, y.last.Load(), "calls ran when their servers were told to end")
			require.Equal(t, y.want+y.last.Load(), y.done.Load())
			require.Equal(t, y.done.Load(), y.ran.Load(), "each call was made once")
			require.GreaterOrEqual(t, y.restarts.Load(), 2*restarts)
			require.GreaterOrEqual(t, y.last.Load(), lastCalls*2*restarts)
		})
	}
}

// slotHeader says to which server of the balancer a request goes.
const slotHeader = "X-Slot"

// pinned sends all requests to one slot.
type pinned string

func (p pinned) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(slotHeader, string(p))
	return http.DefaultTransport.RoundTrip(req)
}

// A slot of the balancer has one server.
type slot struct {
	*process
	proxy *httputil.ReverseProxy
}

// A balancer sends each request to one of two servers, those of a session to the same one. It
// is as small as a balancer can be.
type balancer struct {
	slots    [2]atomic.Pointer[slot] // nil for nowhere
	turn     atomic.Uint64
	sessions sync.Map // of an Mcp-Session-Id to its slot
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http closes the body of r when the first byte of the answer is written. Where the
	// proxy's Transport has not seen the end of the body by then, it takes that for an error
	// and closes the connection, with the answer on it.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the request broke", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	n := b.turn.Add(1)
	if r.Header.Get(slotHeader) == "1" {
		n = 1
	} else if r.Header.Get(slotHeader) == "0" {
		n = 0
	} else if to, known := b.sessions.Load(r.Header.Get("Mcp-Session-Id")); known {
		n, _ = to.(uint64)
	}
	for _, n := range []uint64{n % 2, (n + 1) % 2} {
		if s := b.slots[n].Load(); s != nil {
			s.proxy.ServeHTTP(&noting{w, b, n}, r)
			return
		}
	}
	http.Error(w, "no server", http.StatusBadGateway)
}

// noting notes where a session begins.
type noting struct {
	http.ResponseWriter
	*balancer

	slot uint64
}

func (w *noting) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *noting) WriteHeader(status int) {
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		w.sessions.LoadOrStore(id, w.slot)
	}
	w.ResponseWriter.WriteHeader(status)
}

// put starts a server in a slot.
func (b *balancer) put(t *testing.T, n int, cfg config) {
	p := start(t, cfg)
	to, err := url.Parse(p.URL)
	require.NoError(t, err)
	s := &slot{process: p, proxy: httputil.NewSingleHostReverseProxy(to)}
	s.proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	s.proxy.FlushInterval = -1
	s.proxy.ErrorLog = log.New(io.Discard, "", 0) // clients say what they miss
	b.slots[n].Store(s)
}

// replace replaces the server of a slot, as an orchestrator does, while calls run there that end
// together.
func (b *balancer) replace(t *testing.T, y *tally, n int, endpoint string) {
	old := b.slots[n].Load()
	var callers sync.WaitGroup
	defer callers.Wait()
	for i := range lastCalls {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{
				Endpoint: endpoint, HTTPClient: &http.Client{Transport: pinned(strconv.Itoa(n))},
				// The SDK's client drops what it is reading when the stream beside it ends and
				// the next server does not know its session.
				DisableStandaloneSSE: true,
			},
			&mcp.ClientSessionOptions{ProtocolVersion: []string{version2026, version2025}[i%2]})
		require.NoError(t, err)
		callers.Go(func() {
			y.callLast(t.Context(), session)
			_ = session.Close()
		})
	}
	for running(t, old.URL) < lastCalls {
		time.Sleep(2 * time.Millisecond)
	}
	require.NoError(t, old.Cmd.Process.Signal(syscall.SIGTERM))
	for ready(old.URL) {
		time.Sleep(2 * time.Millisecond)
	}
	b.slots[n].Store(nil)
	y.ends(t, old.process)
	y.restarts.Add(1)
}

// callLast makes a call that runs when its server is told to end.
func (y *tally) callLast(ctx context.Context, session *mcp.ClientSession) {
	y.last.Add(1)
	params := lastJob()
	res, err := session.CallTool(ctx, params)
	switch again, failed := check(params, res, err); {
	case again: // it came too late, and its caller knows that
		y.last.Add(-1)
		y.refused.Add(1)
	case failed != nil:
		y.lose(fmt.Errorf("the last call of a server: %w", failed))
	default:
		y.done.Add(1)
	}
}

// running returns how many calls a server runs.
func running(t *testing.T, server string) (n int) {
	t.Helper()
	resp, err := http.Get(server + "/running")
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = fmt.Fscan(resp.Body, &n)
	require.NoError(t, err)
	return n
}

func ready(server string) bool {
	resp, err := http.Get(server + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// overHTTP makes the calls of a group over HTTP.
func (y *tally) overHTTP(t *testing.T, cfg config, restarts int64) {
	b := &balancer{}
	for n := range b.slots {
		b.put(t, n, cfg)
	}
	front := httptest.NewServer(b)
	defer front.Close()
	defer front.CloseClientConnections()
	var callers sync.WaitGroup
	for n := range 8 {
		version := []string{version2026, version2025}[n%2]
		callers.Go(func() { y.callOverHTTP(t.Context(), front.URL, version) })
	}
	for i := range restarts {
		for n := range b.slots {
			for y.made.Load() < y.want*(2*i+int64(n)+1)/(2*restarts+1) {
				time.Sleep(time.Millisecond)
			}
			b.replace(t, y, n, front.URL)
			b.put(t, n, cfg)
		}
	}
	callers.Wait()
	for n := range b.slots {
		old := b.slots[n].Load()
		require.NoError(t, old.Cmd.Process.Signal(syscall.SIGTERM))
		y.ends(t, old.process)
	}
}

// callOverHTTP is a caller with a session of its own, who begins a new one when the server
// does not know it any more.
func (y *tally) callOverHTTP(ctx context.Context, endpoint, version string) {
	client := mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil)
	connect := func() *mcp.ClientSession {
		for {
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: &http.Transport{}}},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			if err == nil || ctx.Err() != nil {
				return session
			}
			y.moved.Add(1) // from a server that ends to another one
		}
	}
	session := connect()
	defer func() { _ = session.Close() }()
	for n := y.made.Add(1); n <= y.want && ctx.Err() == nil; n = y.made.Add(1) {
		for params := jobOf(n); ; {
			res, err := session.CallTool(ctx, params)
			again, failed := check(params, res, err)
			switch {
			case again:
				y.refused.Add(1)
				time.Sleep(10 * time.Millisecond)
				continue
			case failed != nil && unknownSession(failed): // by a server that let nothing in
				y.moved.Add(1)
				_ = session.Close()
				session = connect()
				continue
			case failed != nil:
				y.lose(fmt.Errorf("call %d of %s: %w", n, version, failed))
			default:
				y.done.Add(1)
			}
			break
		}
	}
}

// unknownSession reports whether a server has answered that it has no such session.
func unknownSession(err error) bool {
	return errors.Is(err, mcp.ErrSessionMissing) || strings.Contains(err.Error(), "session not found")
}

// overStdio makes the calls of a group over stdio, to one process after the other.
func (y *tally) overStdio(t *testing.T, cfg config, restarts int64) {
	type member struct {
		*process
		session *mcp.ClientSession
		begun   int64 // calls that were given to the session; guarded by mu
		sent    *atomic.Int64
	}
	var callers sync.WaitGroup
	var mu sync.Mutex
	var now *member
	next := func() (before *member) {
		m := &member{process: start(t, cfg), sent: &atomic.Int64{}}
		var err error
		m.session, err = mcp.NewClient(&mcp.Implementation{Name: "caller", Version: "1"}, nil).Connect(t.Context(),
			&sending{&mcp.IOTransport{Reader: io.NopCloser(m.Stdout), Writer: m.Stdin}, m.sent}, nil)
		require.NoError(t, err, "%s", m.Stderr)
		mu.Lock()
		defer mu.Unlock()
		before, now = now, m
		return before
	}
	end := func(m *member) {
		for range lastCalls {
			mu.Lock()
			m.begun++
			mu.Unlock()
			callers.Go(func() { y.callLast(t.Context(), m.session) })
		}
		for {
			mu.Lock()
			begun := m.begun
			mu.Unlock()
			if m.sent.Load() >= begun { // no line is on its way to a process that ends
				break
			}
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, m.Cmd.Process.Signal(syscall.SIGTERM))
		y.ends(t, m.process)
		y.restarts.Add(1)
	}
	next()
	for range 8 {
		callers.Go(func() {
			for n := y.made.Add(1); n <= y.want && t.Context().Err() == nil; n = y.made.Add(1) {
				for params, again := jobOf(n), true; again; {
					mu.Lock()
					m := now
					m.begun++
					mu.Unlock()
					res, err := m.session.CallTool(t.Context(), params)
					var failed error
					if again, failed = check(params, res, err); again {
						y.refused.Add(1)
					} else if failed != nil {
						y.lose(fmt.Errorf("call %d: %w", n, failed))
					} else {
						y.done.Add(1)
					}
				}
			}
		})
	}
	for i := range 2 * restarts {
		for y.made.Load() < y.want*(i+1)/(2*restarts+1) {
			time.Sleep(time.Millisecond)
		}
		end(next())
	}
	callers.Wait()
	end(now)
	callers.Wait()
}

// sending counts the calls of tools that a client has written.
type sending struct {
	mcp.Transport
	sent *atomic.Int64
}

func (s *sending) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := s.Transport.Connect(ctx)
	return &sendingConn{c, s.sent}, err
}

type sendingConn struct {
	mcp.Connection
	sent *atomic.Int64
}

func (c *sendingConn) Write(ctx context.Context, message jsonrpc.Message) error {
	if req, ok := message.(*jsonrpc.Request); ok && req.Method == middleware.MethodCallTool {
		defer c.sent.Add(1)
	}
	return c.Connection.Write(ctx, message)
}
