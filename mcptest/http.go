package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/conduct"
)

// StartHTTP serves an HTTP handler on loopback and connects a client to it, which speaks
// streamable HTTP. Give it what the program serves, with its authentication:
//
//	handler := mcp.NewStreamableHTTPHandler(
//		func(*http.Request) *mcp.Server { return server },
//		&mcp.StreamableHTTPOptions{Stateless: true})
//	s := mcptest.StartHTTP(t, handler, nil)
//
// A handler that is not stateless speaks [Older]: the SDK serves [Current] only without
// sessions. StartHTTP ends the test if the client is not accepted. A request that is not
// answered [Options.Patience] after the end of the test fails the test.
func StartHTTP(t testing.TB, handler http.Handler, opts *Options) *Session {
	t.Helper()
	watchDrops()
	web := httptest.NewServer(handler)
	var s *Session
	t.Cleanup(func() {
		if s != nil {
			_ = s.Close() // the server may have closed it
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			web.Close()
		}()
		select {
		case <-ended:
		case <-time.After(patience(opts)):
			t.Errorf("mcptest.StartHTTP: a request is not answered %v after the end of the test", patience(opts))
			web.CloseClientConnections()
		}
	})
	s = connect(t, "mcptest.StartHTTP", opts, func(s *Session) mcp.Transport {
		s.http = &exchanges{received: &s.received, base: web.Client().Transport}
		if opts != nil {
			s.http.header = opts.Header
		}
		return &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: s.http}}
	})
	return s
}

// exchanges are the requests of a client and their responses. It is the client's
// RoundTripper.
type exchanges struct {
	base     http.RoundTripper
	header   http.Header
	received *recorder

	mu  sync.Mutex
	all []*exchange
}

// An exchange is a response, as far as the client has read it.
type exchange struct {
	contentType string
	status      int
	head, body  recorder
	ended       atomic.Bool
}

// A body records what is read from it.
type body struct {
	io.ReadCloser
	x *exchange
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.x.body.Write(p[:n])
	if errors.Is(err, io.EOF) {
		b.x.ended.Store(true)
	}
	return n, err
}

func (e *exchanges) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	maps.Copy(req.Header, e.header)
	if req.Body != nil {
		sent, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		_, _ = e.received.Write(append(bytes.TrimRight(sent, "\n"), '\n'))
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := e.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x := &exchange{status: res.StatusCode}
	x.contentType, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	fmt.Fprintf(&x.head, "%s %s\n", res.Proto, res.Status)
	_ = res.Header.Write(&x.head)
	e.mu.Lock()
	e.all = append(e.all, x)
	e.mu.Unlock()
	res.Body = body{res.Body, x}
	return res, nil
}

// each visits the responses so far, the first one first.
func (e *exchanges) each(visit func(*exchange)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.all {
		visit(x)
	}
}

// bytes returns the responses, one behind the other.
func (e *exchanges) bytes() []byte {
	var all []byte
	e.each(func(x *exchange) {
		all = append(append(append(append(all, x.head.bytes()...), '\n'), x.body.bytes()...), '\n')
	})
	return all
}

// messages returns the complete JSON-RPC messages in the responses.
func (e *exchanges) messages() iter.Seq[[]byte] {
	var all [][]byte
	e.each(func(x *exchange) {
		switch ended, body := x.ended.Load(), x.body.bytes(); x.contentType {
		case "application/json":
			var m conduct.Message
			// A refusal by a handler in front of the MCP server need not be JSON-RPC.
			if ended && (x.status < 300 || json.Unmarshal(body, &m) == nil && m.Version != "") {
				all = append(all, body)
			}
		case "text/event-stream":
			for line := range bytes.Lines(body) {
				data, ok := bytes.CutPrefix(line, []byte("data:"))
				if whole := bytes.HasSuffix(data, []byte("\n")); ok && whole && len(bytes.TrimSpace(data)) > 0 {
					all = append(all, bytes.TrimSpace(data))
				}
			}
		}
	})
	return slices.Values(all)
}
