package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/retry"
)

// A world is the ground truth of a task: what was really done, and when each service was first asked. Everything
// that fails for a time counts that time from the first call, so that it fails for each player alike.
type world struct {
	mu    sync.Mutex
	truth map[string]int
	seen  map[string]visits
}

// visits say how often a service was asked, and when.
type visits struct {
	times       int
	first, last time.Time
}

func newWorld() *world { return &world{truth: map[string]int{}, seen: map[string]visits{}} }

func (w *world) did(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.truth[what]++
}

func (w *world) facts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.truth)
}

// asked notes a request to a service. It returns how often the service has been asked, how long ago for the first
// time, and how long ago for the time before this one.
func (w *world) asked(service string) (times int, since, quiet time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, now := w.seen[service], time.Now()
	if v.times++; v.times == 1 {
		v.first, v.last = now, now
	}
	quiet, v.last = now.Sub(v.last), now
	w.seen[service] = v
	return v.times, now.Sub(v.first), quiet
}

// A site is what the servers of all tasks share: the arm they are written for, and the client of their services.
type site struct {
	*world
	task   string
	whole  bool
	plain  bool // the author words what a service answers as a text
	client *http.Client
}

// say returns the error as its author wrote it, or in the arm "whole" the fault that its author wrote.
func (s *site) say(plain error, worded *fault.Error) error {
	if s.whole {
		return worded.Because(plain)
	}
	return plain
}

var (
	no         = false
	yes        = true
	reads      = &mcp.ToolAnnotations{ReadOnlyHint: true}
	adds       = &mcp.ToolAnnotations{DestructiveHint: &no}
	destroys   = &mcp.ToolAnnotations{DestructiveHint: &yes}
	idempotent = &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &no}
)

// only returns annotations that the author of the bare server left out.
func (s *site) only(a *mcp.ToolAnnotations) *mcp.ToolAnnotations {
	if s.whole {
		return a
	}
	return nil
}

// serve makes the client of services. They are a function behind a pipe, and the transport is that of net/http, so that
// its errors are real. If the function returns an error the connection is lost, and if down does there is none.
func (s *site) serve(f func(http.ResponseWriter, *http.Request) error, down func(to string) error) {
	dial := func(_ context.Context, _, to string) (net.Conn, error) {
		if down != nil {
			if err := down(to); err != nil {
				return nil, err
			}
		}
		near, far := net.Pipe()
		c := &conn{Conn: near}
		go func() {
			defer func() { _ = far.Close() }()
			req, err := http.ReadRequest(bufio.NewReader(far))
			if err != nil {
				return
			}
			answer := httptest.NewRecorder()
			if err := f(answer, req); err != nil {
				c.lost.Store(&err)
				return
			}
			_ = answer.Result().Write(far) //nolint:bodyclose // of a recorder
		}()
		return c, nil
	}
	var base http.RoundTripper = &http.Transport{DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true}
	if s.whole {
		base = retry.Transport(base, nil)
	}
	s.client = &http.Client{Transport: base}
}

// A conn fails as the service wants it to.
type conn struct {
	net.Conn

	lost atomic.Pointer[error]
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if lost := c.lost.Load(); err != nil && lost != nil {
		err = *lost
	}
	return n, err
}

func tcp(addr string) *net.TCPAddr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)) }

func refused(to string) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: tcp(to), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func reset(from, to string) error {
	return &net.OpError{Op: "read", Net: "tcp", Source: tcp(from), Addr: tcp(to), Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

// respond writes the answer of a service: a text as it is, anything else as JSON.
func respond(w http.ResponseWriter, status int, body any) error {
	w.WriteHeader(status)
	if text, ok := body.(string); ok {
		_, err := io.WriteString(w, text)
		return err
	}
	return json.NewEncoder(w).Encode(body)
}

// decode reads the body of a request, which ask has written.
func decode[T any](req *http.Request) (v T) {
	_ = json.NewDecoder(req.Body).Decode(&v)
	return v
}

// An apiError is the error of a generated client: it keeps what the service answered.
type apiError struct {
	StatusCode int
	Header     http.Header
	what       string
}

func (e *apiError) Error() string { return e.what }

// remote returns a handler that passes its arguments to a service, and what the service answers to the caller. In
// the arm "whole" retry.FromResponse makes the error of an answer.
func remote[In any](s *site, doing, method, url string) func(context.Context, In) (any, error) {
	ask := func(ctx context.Context, in In) (json.RawMessage, error) {
		body, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		resp, err := s.client.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		if s.whole {
			if err := retry.FromResponse(resp); err != nil {
				return nil, err
			}
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode/100 == 2 {
			return text, err
		}
		what := fmt.Sprintf("%s %s: %s: %s", method, req.URL.Path, resp.Status, bytes.TrimSpace(text))
		if s.plain {
			return nil, errors.New(what)
		}
		return nil, &apiError{resp.StatusCode, resp.Header, what}
	}
	return func(ctx context.Context, in In) (any, error) {
		out, err := ask(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		return out, nil
	}
}

// tool adds a tool, whose handler returns a value for the caller.
func tool[In any](server *mcp.Server, name, description string, a *mcp.ToolAnnotations, handler func(context.Context, In) (any, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: description, Annotations: a},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			out, err := handler(ctx, in)
			return nil, out, err
		})
}
