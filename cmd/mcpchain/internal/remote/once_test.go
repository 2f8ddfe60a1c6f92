package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/rpc"
)

// A server that closes a connection once it has read a request may have done what it was asked for. The client of
// HTTP would send it again if a header says that it is idempotent.
func TestAPostIsSentOnce(t *testing.T) {
	for _, name := range []string{"X-Tenant", "Idempotency-Key", "idempotency-key", "X-Idempotency-Key"} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", reset), func(t *testing.T) {
				t.Parallel()
				var calls, keyed atomic.Int64
				s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if r.Header.Get(name) == "key" {
						keyed.Add(1)
					}
					if !strings.Contains(string(body), "write") {
						answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
						return
					}
					calls.Add(1)
					conn, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						return
					}
					if tcp, ok := conn.(interface{ SetLinger(sec int) error }); ok && reset {
						_ = tcp.SetLinger(0)
					}
					_ = conn.Close()
				}))
				s.client.Header = sentOnce(http.Header{name: {"key"}, "Authorization": {canary}})
				s.send(ping) // its connection is used again
				s.line()
				s.send(write)
				f := s.failure()
				require.ErrorContains(t, f, "the connection to the server broke before the answer came")
				require.Equal(t, fault.EffectUnknown, f.Effect())
				require.EqualValues(t, 1, calls.Load())
				require.EqualValues(t, 2, keyed.Load(), "the server gets the header")
			})
		}
	}
}

// Over HTTP/2 the client of HTTP sends a POST again after a reset of its stream that does not say whether it was
// read. So it is not spoken.
func TestHTTP2IsNotSpoken(t *testing.T) {
	var protocol atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	s := begin(t, server.URL)
	s.client.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	s.send(ping)
	s.line()
	require.Equal(t, "HTTP/1.1", protocol.Load())
}

// A redirect to the same server sends only what reads again. The session goes to the new place from then on.
func TestARedirectedCallIsSentOnce(t *testing.T) {
	for _, status := range []int{307, 308} {
		var mu sync.Mutex
		seen := map[string]int{}
		handler := func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m, err := rpc.Read(body)
			if err != nil {
				return
			}
			mu.Lock()
			seen[r.URL.Path+" "+m.Method]++
			mu.Unlock()
			switch {
			case r.URL.Path != "/mcp/":
				http.Redirect(w, r, "/mcp/", status)
			case m.Method == "initialize":
				w.Header().Set("Mcp-Session-Id", "s")
				answerJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`)
			default:
				answerJSON(w, 200, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)
			}
		}
		s := begin(t, serve(t, handler))
		s.send(hi)
		s.line()
		s.send(write)
		s.line()
		require.Equal(t, map[string]int{"/ initialize": 1, "/mcp/ initialize": 1, "/mcp/ tools/call": 1}, seen)

		seen = map[string]int{}
		s = begin(t, serve(t, handler))
		s.send(write) // before anything has told where the server is
		f := s.failure()
		require.ErrorContains(t, f, "a redirect to another place of the same server, where the next call is sent")
		require.Equal(t, fault.EffectUnknown, f.Effect())
		require.False(t, f.Refused())
		s.send(write)
		s.line()
		require.Equal(t, map[string]int{"/ tools/call": 1, "/mcp/ tools/call": 1}, seen)
	}
}

// A connection of which no byte could be written has brought nothing to the server: the request goes over another.
func TestWhatWasNotWrittenIsSentAgain(t *testing.T) {
	var calls atomic.Int64
	s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "write") {
			calls.Add(1)
		}
		answerJSON(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	first := &breaking{}
	transport := s.client.http.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if first.Conn == nil && err == nil {
			first.Conn = conn
			return first, nil
		}
		return conn, err
	}
	s.send(ping)
	s.line()
	first.broken.Store(true)
	s.send(write)
	require.Contains(t, s.line(), "result")
	require.EqualValues(t, 1, calls.Load())
}

// breaking is a connection that takes no byte any more once it is broken.
type breaking struct {
	net.Conn

	broken atomic.Bool
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.broken.Load() {
		return 0, io.ErrClosedPipe
	}
	return b.Conn.Write(p)
}

// A call is sent again only if the server has refused its headers as the specification says, and only with others.
func TestWrongHeadersAreRefusedWith400(t *testing.T) {
	for _, c := range []struct {
		status int
		tool   string
		times  int64
	}{{200, "größe", 1}, {404, "größe", 1}, {500, "größe", 1}, {400, "größe", 2}, {400, "write", 1}, {400, "bound", 2}} {
		status, times := c.status, c.times
		var calls atomic.Int64
		s := begin(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "tools/call") {
				calls.Add(1)
				answerJSON(w, status, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header mismatch"}}`)
				return
			}
			answerJSON(w, 200, `{"jsonrpc":"2.0","id":`+idOf(body)+`,"result":{"tools":[{"name":"bound","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}]}}`)
		}))
		s.send(callOf("1", c.tool, `{"a":1}`))
		require.Contains(t, s.line(), "header mismatch")
		require.Equal(t, times, calls.Load(), "%d %s", status, c.tool)
	}
}
