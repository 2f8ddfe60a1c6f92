package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
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
	first map[string]time.Time
	last  map[string]time.Time
	count map[string]int
}

func newWorld() *world {
	return &world{truth: map[string]int{}, first: map[string]time.Time{}, last: map[string]time.Time{}, count: map[string]int{}}
}

func (w *world) did(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.truth[what]++
}

func (w *world) facts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	facts := make(map[string]int, len(w.truth))
	for what, n := range w.truth {
		facts[what] = n
	}
	return facts
}

// asked notes a request to a service. It returns how often the service has been asked, how long ago for the first
// time, and how long ago for the time before this one.
func (w *world) asked(service string) (times int, since, quiet time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.count[service]++; w.count[service] == 1 {
		w.first[service], w.last[service] = now, now
	}
	quiet = now.Sub(w.last[service])
	w.last[service] = now
	return w.count[service], now.Sub(w.first[service]), quiet
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
func (s *site) say(plain error, worded func() *fault.Error) error {
	if s.whole {
		return worded().Because(plain)
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

// A service answers requests, and loses the connection of those for which it returns an error.
type service func(*http.Request) (*http.Response, error)

// serve makes the client of a service. The service is a function behind a pipe, and the transport is that of
// net/http, so that its errors are real. Whoever dials while down returns an error gets that error.
func (s *site) serve(f service, down func(to string) error) {
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
			resp, err := f(req)
			if err != nil {
				c.lost.Store(&err)
				return
			}
			_ = resp.Write(far)
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

func tcp(addr string) *net.TCPAddr {
	host, port, _ := strings.Cut(addr, ":")
	a := &net.TCPAddr{IP: net.ParseIP(host)}
	_, _ = fmt.Sscan(port, &a.Port)
	return a
}

func refused(to string) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: tcp(to), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func reset(from, to string) error {
	return &net.OpError{Op: "read", Net: "tcp", Source: tcp(from), Addr: tcp(to), Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

// respond returns the answer of a service. A text is sent as it is, anything else as JSON.
func respond(req *http.Request, status int, body any, headers ...string) (*http.Response, error) {
	b, ok := body.(string)
	if !ok {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		b = string(raw)
	}
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: req,
		Body: io.NopCloser(strings.NewReader(b)), ContentLength: int64(len(b)),
	}, nil
}

// decode reads the body of a request.
func decode(req *http.Request, into any) error { return json.NewDecoder(req.Body).Decode(into) }

// An apiError is the error of a generated client: it keeps what the service answered.
type apiError struct {
	StatusCode int
	Header     http.Header
	what       string
}

func (e *apiError) Error() string { return e.what }

// ask sends a request to a service and decodes its answer. In the arm "whole" retry.FromResponse makes the error.
func (s *site) ask(ctx context.Context, method, url string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if s.whole {
		if err := retry.FromResponse(resp); err != nil {
			return err
		}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		what := fmt.Sprintf("%s %s: %s: %s", method, req.URL.Path, resp.Status, strings.TrimSpace(string(text)))
		if s.plain {
			return fmt.Errorf("%s", what)
		}
		return &apiError{resp.StatusCode, resp.Header, what}
	}
	return json.Unmarshal(text, out)
}

// tool adds a tool, whose handler returns a value for the caller.
func tool[In any](server *mcp.Server, name, description string, a *mcp.ToolAnnotations, handler func(context.Context, In) (any, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: description, Annotations: a},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			out, err := handler(ctx, in)
			return nil, out, err
		})
}
