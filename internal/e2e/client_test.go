package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/child"
)

const (
	version2026 = "2026-07-28"
	version2025 = "2025-11-25"
)

// A process is one server process.
type process struct {
	*child.Process
	cfg config
}

// start starts a server process, which is killed at the end of the test.
func start(t *testing.T, cfg config) *process {
	t.Helper()
	p := &process{cfg: cfg}
	p.Process = child.Start(t, func(log string) any {
		p.cfg.Log = log
		return p.cfg
	})
	if cfg.Transport != "stdio" {
		p.ReadURL(t)
	}
	return p
}

// A shape is one way for a client to talk to a server.
type shape struct {
	transport string
	asks      string // the version that the client asks for
	speaks    string // the version that they agree on
	json      bool
}

func (s shape) String() string {
	name := s.transport + "-" + s.asks
	if s.json {
		name += "-json"
	}
	return name
}

// shapes are all ways. Stateful HTTP servers of the SDK do not speak 2026-07-28: a
// client that asks for it falls back.
var shapes = []shape{
	{"stdio", version2026, version2026, false},
	{"stdio", version2025, version2025, false},
	{"stateful", version2026, version2025, true},
	{"stateful", version2025, version2025, false},
	{"stateless", version2026, version2026, false},
	{"stateless", version2025, version2025, true},
}

// A peer is a client of a server process.
type peer struct {
	*process
	rec     *recorder
	cs      *mcp.ClientSession
	http    *http.Client
	stdio   *lockedWriter
	version string // that they agreed on
	rawIDs  atomic.Int64
	pool    *pool
	pid     int
}

// lockedWriter lets the test put messages between those of the client.
type lockedWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

// newClient returns a client of the SDK, which accepts what it is asked when the
// message says so, and declines everything else.
func newClient(t *testing.T) *mcp.Client {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e-client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if strings.Contains(req.Params.Message, "slowly") {
				time.Sleep(thinking)
			}
			if strings.Contains(req.Params.Message, "accept") {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "x"}}, nil
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	for _, s := range scenarios() {
		if s.kind == "custom" {
			require.NoError(t, mcp.AddSendingCustomMethod[*customParams, *customResult](client, "acme/"+s.name))
		}
	}
	return client
}

// connect connects a client of the SDK, with these middlewares around what it sends.
func connect(t *testing.T, p *process, version string, sending ...mcp.Middleware) *peer {
	t.Helper()
	peer := &peer{process: p, rec: &recorder{}, version: version}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := newClient(t)
	client.AddSendingMiddleware(sending...)
	var err error
	peer.cs, err = client.Connect(ctx, peer.transport(t), &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err, "%s", p.Stderr)
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill() // so that Close does not wait for a server that is stuck
		_ = peer.cs.Close()
	})
	peer.version = peer.cs.InitializeResult().ProtocolVersion
	peer.pid = peer.stats(t, false).PID
	require.Equal(t, p.Cmd.Process.Pid, peer.pid)
	return peer
}

func (p *peer) transport(t *testing.T) mcp.Transport {
	if p.URL == "" {
		p.stdio = &lockedWriter{WriteCloser: p.Stdin}
		return &mcp.IOTransport{Reader: &tee{Reader: io.NopCloser(p.Stdout), rec: p.rec, stream: p.rec.open(false)}, Writer: p.stdio}
	}
	base := &http.Transport{MaxIdleConnsPerHost: 512}
	t.Cleanup(base.CloseIdleConnections)
	p.http = &http.Client{Transport: &httpTee{base: base, rec: p.rec}}
	return &mcp.StreamableClientTransport{Endpoint: p.URL, HTTPClient: p.http}
}

// stats asks the server about itself.
func (p *peer) stats(t require.TestingT, gc bool) stats {
	args := map[string]any{}
	if gc {
		args["gc"] = true
	}
	var s stats
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "stats", Arguments: args})
	require.NoError(t, err, "%s", p.Stderr)
	require.NoError(t, json.Unmarshal([]byte(textOf(res)), &s))
	return s
}

func textOf(res *mcp.CallToolResult) string {
	if len(res.Content) == 0 {
		return ""
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	if text == nil {
		return ""
	}
	return text.Text
}

// raw sends a request that no client would, or waits for an answer that no client
// does, and returns the message that came back.
func (p *peer) raw(ctx context.Context, method string, params any) (message, error) {
	id := fmt.Sprintf("raw-%d", p.rawIDs.Add(1))
	data, err := json.Marshal(p.request(id, method, params))
	if err != nil {
		return message{}, err
	}
	return p.send(ctx, id, method, data)
}

// request returns a request as a client of the version writes it.
func (p *peer) request(id any, method string, params any) map[string]any {
	if m, ok := params.(map[string]any); ok || params == nil {
		if p.version >= version2026 {
			if m == nil {
				m = map[string]any{}
			}
			m["_meta"] = map[string]any{
				"io.modelcontextprotocol/protocolVersion":    p.version,
				"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "raw", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			}
		}
		if m != nil {
			params = m
		}
	}
	req := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		req["params"] = params
	}
	return req
}

// send sends a message and waits for the response with the id.
func (p *peer) send(ctx context.Context, id, method string, data []byte) (message, error) {
	mark := p.rec.mark()
	if p.URL == "" {
		if _, err := p.stdio.Write(append(data, '\n')); err != nil {
			return message{}, err
		}
	} else {
		resp, err := p.post(ctx, method, data)
		if err != nil {
			return message{}, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return message{}, err
		}
	}
	for {
		for _, raw := range p.rec.messages(mark) {
			var m message
			if err := json.Unmarshal(raw, &m); err == nil && m.Method == "" && string(m.ID) == `"`+id+`"` {
				m.raw = raw
				var wire jsonrpc.Error
				if m.Error != nil {
					if err := json.Unmarshal(m.Error, &wire); err != nil {
						return m, err
					}
					return m, &wire
				}
				return m, nil
			}
		}
		select {
		case <-ctx.Done():
			return message{}, ctx.Err()
		case <-p.Exited:
			return message{}, errors.New("the server is dead")
		case <-time.After(time.Millisecond):
		}
	}
}

// post makes one HTTP request as a client does.
func (p *peer) post(ctx context.Context, method string, data []byte) (*http.Response, error) {
	return p.postWith(ctx, method, data, p.cs.ID())
}

func (p *peer) postWith(ctx context.Context, method string, data []byte, session string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", p.version)
	if p.version >= version2026 {
		req.Header.Set("Mcp-Method", method)
		var m struct{ Params struct{ Name, URI string } }
		_ = json.Unmarshal(data, &m)
		if name := m.Params.Name + m.Params.URI; name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	return p.http.Do(req)
}

// A pool keeps a number of slow calls in flight, all the time.
type pool struct {
	p       *peer
	started int
	flying  []*flight
}

type flight struct {
	key  string
	done chan error
}

// inFlight is how many calls are in flight while others fail.
const inFlight = 100

// fly starts n calls and waits until the server is at work on all that there are.
func (o *pool) fly(t require.TestingT, n int) {
	for range n {
		f := &flight{key: fmt.Sprintf("k%d", o.started), done: make(chan error, 1)}
		way := o.started % 4
		o.started++
		o.flying = append(o.flying, f)
		go func() { f.done <- o.p.slow(way, f.key) }()
	}
	eventually(t, "the calls arrive", func() bool {
		o.p.Alive(t)
		return o.p.stats(t, false).Waiting == int64(len(o.flying))
	})
}

// eventually waits until something is so.
func eventually(t require.TestingT, what string, so func() bool) {
	for deadline := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "not in time: "+what)
		}
	}
}

// land releases the n oldest calls and requires that they are answered as they
// should be.
func (o *pool) land(t require.TestingT, n int) {
	n = min(n, len(o.flying))
	keys := make([]string, n)
	for i, f := range o.flying[:n] {
		keys[i] = f.key
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := o.p.cs.CallTool(ctx, &mcp.CallToolParams{Name: "release", Arguments: map[string]any{"keys": keys}})
	require.NoError(t, err)
	for _, f := range o.flying[:n] {
		select {
		case err := <-f.done:
			require.NoError(t, err)
		case <-ctx.Done():
			require.FailNow(t, "a call in flight is not answered", f.key)
		}
	}
	o.flying = o.flying[n:]
}

// slow makes one of the calls that wait until they are released.
func (p *peer) slow(way int, key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	var text string
	switch way {
	case 0, 1:
		name := []string{"slow", "slow_raw"}[way]
		res, err := p.cs.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"key": key}})
		if err != nil {
			return err
		}
		text = textOf(res)
	case 2:
		res, err := p.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: slowURI + key})
		if err != nil {
			return err
		}
		text = res.Contents[0].Text
	default:
		res, err := p.cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "slow", Arguments: map[string]string{"key": key}})
		if err != nil {
			return err
		}
		if content, ok := res.Messages[0].Content.(*mcp.TextContent); ok {
			text = content.Text
		}
	}
	if text != slowAnswer(key) {
		return fmt.Errorf("the answer to %s is %q", key, text)
	}
	return nil
}
