package front

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/proxy"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
	"github.com/mcpchain/mcpchain/transport"
)

// A fake is a server in memory. handle gets each message, one after the other.
type fake struct {
	handle func(f *fake, m *rpc.Message)
	out    chan []byte
	ended  chan struct{}
	once   sync.Once
}

func (f *fake) say(line string) {
	select {
	case f.out <- []byte(line):
	case <-f.ended:
	}
}

func (f *fake) answer(m *rpc.Message, result string) {
	f.say(string(rpc.Answered(m.ID, json.RawMessage(result)).Line))
}

func (f *fake) Write(m *rpc.Message) error {
	f.handle(f, m)
	return nil
}

func (f *fake) Next() (*rpc.Message, error) {
	select {
	case line := <-f.out:
		return rpc.Read(line)
	case <-f.ended:
		return nil, io.EOF
	}
}

func (f *fake) EndInput()              {}
func (f *fake) Ended() <-chan struct{} { return f.ended }
func (f *fake) How() string            { return "it ended" }
func (f *fake) Status() int            { return 0 }
func (f *fake) Stop(time.Duration)     { f.Kill() }
func (f *fake) Kill()                  { f.once.Do(func() { close(f.ended) }) }
func (f *fake) Close()                 {}

// usual answers what every session begins with, and reports whether it did.
func (f *fake) usual(m *rpc.Message) bool {
	switch m.Method {
	case "initialize":
		var params struct{ ProtocolVersion string }
		_ = json.Unmarshal(m.Params, &params)
		f.answer(m, `{"protocolVersion":"`+params.ProtocolVersion+`","capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)
	case "server/discover":
		f.answer(m, `{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)
	case "subscriptions/listen":
		var params struct{ Notifications json.RawMessage }
		_ = json.Unmarshal(m.Params, &params)
		f.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `},"notifications":` + string(params.Notifications) + `}}`)
	case "notifications/initialized", "notifications/cancelled", "ping":
	default:
		return false
	}
	return true
}

// A world is a Front over HTTP, as the program has it.
type world struct {
	*testing.T

	front *Front
	url   string
	log   *safeLog
}

type safeLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t *testing.T, handle func(f *fake, m *rpc.Message), change func(*Options)) *world {
	t.Helper()
	w := &world{T: t, log: &safeLog{}}
	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts := Options{
		Proxy: proxy.Options{
			Logger: logger, Stderr: func(string) {}, Chain: func(next mcp.MethodHandler) mcp.MethodHandler { return next },
			Hide: func(text string) string { return text }, MaxRequest: 9 << 20, MaxAnswer: 9 << 20,
			Restart: proxy.Restart{First: time.Millisecond, Most: time.Second, Steady: time.Second},
			Start: func() (proxy.Server, error) {
				return &fake{handle: handle, out: make(chan []byte, 1000), ended: make(chan struct{})}, nil
			},
		},
		Logger: logger, Sessions: 50, Idle: time.Minute,
	}
	if change != nil {
		change(&opts)
	}
	w.front = New(opts)
	web := httptest.NewServer(Patient(transport.HTTP(w.front, &transport.Options{Logger: logger, Bounds: w.front.Bounds()})))
	w.url = web.URL
	t.Cleanup(func() {
		web.CloseClientConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		w.front.Close(ctx)
		web.Close()
	})
	return w
}

// client gives up, so that a test ends.
var client = &http.Client{Timeout: 20 * time.Second}

// A response is one of HTTP, whose body is closed at the end of the test.
type response struct {
	StatusCode int
	Header     http.Header
	Body       io.ReadCloser
}

// do sends a request. header has names and values in turn.
func (w *world) do(ctx context.Context, method, body string, header ...string) *response {
	w.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	require.NoError(w, err)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	require.NoError(w, err)
	w.Cleanup(func() { _ = res.Body.Close() })
	return &response{res.StatusCode, res.Header, res.Body}
}

// begin begins a session of an older version, and returns its ID.
func (w *world) begin(version string) string {
	w.Helper()
	res := w.do(w.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(w, http.StatusOK, res.StatusCode)
	_ = all(w, res)
	return res.Header.Get(sessionHeader)
}

const about = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// newer calls a tool as of 2026-07-28.
func (w *world) newer(ctx context.Context, id, tool, args string, header ...string) *response {
	w.Helper()
	return w.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`,`+about+`}}`,
		append([]string{versionHeader, modern, "Mcp-Method", "tools/call", "Mcp-Name", tool}, header...)...)
}

func all(t require.TestingT, res *response) string {
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(body)
}

// events reads a stream.
type events struct{ r *bufio.Reader }

func eventsOf(res *response) *events { return &events{bufio.NewReader(res.Body)} }

// next returns the next event, its ID and its data.
func (e *events) next(t require.TestingT) (id, data string) {
	for {
		line, err := e.r.ReadString('\n')
		require.NoError(t, err)
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && (id != "" || data != ""):
			return id, data
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		}
	}
}
