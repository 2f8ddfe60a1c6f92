package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/internal/speak"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/transport"
)

// TestHandlersSeeWhatTheClientSent in all kinds of server, and nothing of what leads to the POST.
func TestHandlersSeeWhatTheClientSent(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for _, opts := range []*mcp.StreamableHTTPOptions{{Stateless: true}, {Stateless: true, JSONResponse: true}, {}, {JSONResponse: true}} {
			if version == "2026-07-28" && !opts.Stateless {
				continue
			}
			var mu sync.Mutex
			var seen []http.Header
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, req.Extra.Header)
				return nil, nil, nil
			})
			server.AddReceivingMiddleware(mcprecover.New(nil))
			web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts), nil))
			client := &http.Client{Transport: forging{}}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: client, DisableStandaloneSSE: true}, speak.Version(version))
			require.NoError(t, err)
			_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
			require.NoError(t, err)
			require.NoError(t, session.Close())
			web.Close()
			require.Len(t, seen, 1)
			require.Equal(t, "mine", seen[0].Get("X-Mine"))
			require.NotContains(t, seen[0], exchange.Header)
			require.NotContains(t, fmt.Sprint(seen[0]), exchange.Header)
		}
	}
}

// forging is a client that sends a key of its own.
type forging struct{}

func (forging) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(exchange.Header, "guessed")
	req.Header.Set("X-Mine", "mine")
	return http.DefaultTransport.RoundTrip(req)
}

// TestAnswersAreWhole: an answer in JSON that is written at once gets its length. One of several
// parts, and one that has a length or an encoding, passes.
func TestAnswersAreWhole(t *testing.T) {
	const body = `{"a":"b"}`
	parts := func(n int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			for range n {
				_, _ = io.WriteString(w, body)
			}
		}
	}
	large := strings.Repeat("x", 65<<10)
	for name, tc := range map[string]struct {
		method  string
		handler http.HandlerFunc
		status  int
		body    string
		length  int64 // -1 for chunks
		flushed bool
	}{
		"at once": {http.MethodPost, parts(1), 200, body, 9, true},
		"with a status": {http.MethodPost, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			w.WriteHeader(http.StatusTeapot) // is too late
			parts(1)(w, r)
		}, 404, body, 9, true},
		"in parts":         {http.MethodPost, parts(3), 200, body + body + body, 27, true},
		"with its length":  {http.MethodPost, parts(2, "Content-Length", "18"), 200, body + body, 18, true},
		"with an encoding": {http.MethodPost, parts(2, "Content-Encoding", "identity"), 200, body + body, -1, true},
		"of no POST":       {http.MethodGet, parts(2), 200, body + body, 18, false},
		"flushed first": {http.MethodPost, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			parts(1)(w, r)
		}, 200, body, 9, true},
		"flushed between": {http.MethodPost, func(w http.ResponseWriter, r *http.Request) {
			parts(1)(w, r)
			if err := http.NewResponseController(w).Flush(); err != nil {
				panic(err)
			}
			parts(1)(w, r)
		}, 200, body + body, 18, true},
		"large, in parts": {http.MethodPost, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, large)
			parts(1)(w, r)
		}, 200, large + body, -1, true},
		"empty":           {http.MethodPost, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, 202, "", 0, false},
		"not touched":     {http.MethodPost, func(http.ResponseWriter, *http.Request) {}, 200, "", 0, false},
		"JSON of nothing": {http.MethodPost, parts(0), 200, "", 0, false},
		"a text": {http.MethodPost, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "session not found", http.StatusNotFound)
		}, 404, "session not found\n", 18, true},
	} {
		t.Run(name, func(t *testing.T) {
			flushes := 0
			inside := transport.HTTP(tc.handler, nil)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inside.ServeHTTP(&counting{w, &flushes}, r)
			}))
			defer web.Close()
			req, err := http.NewRequestWithContext(t.Context(), tc.method, web.URL, nil)
			require.NoError(t, err)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, tc.status, resp.StatusCode)
			require.Equal(t, tc.body, string(got))
			require.Equal(t, tc.length, resp.ContentLength)
			require.Equal(t, tc.flushed, flushes > 0)
		})
	}
}

type counting struct {
	http.ResponseWriter

	flushes *int
}

func (w *counting) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *counting) FlushError() error {
	*w.flushes++
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// TestTwiceShowsNothing: over raw HTTP, a handler gets the headers that its client sent, and no name of ours, however
// often HTTP stands around it.
func TestTwiceShowsNothing(t *testing.T) {
	for _, connection := range []string{"", "Connection: keep-alive, X-Mine\r\n"} {
		var got http.Header
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got = req.Extra.Header
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
		server.AddReceivingMiddleware(mcprecover.New(nil))
		var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
		for times := range 3 {
			handler = transport.HTTP(handler, nil)
			web := httptest.NewServer(handler)
			conn, err := net.Dial("tcp", web.Listener.Addr().String())
			require.NoError(t, err)
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it"}}`
			_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
				web.Listener.Addr(), connection, len(body), body)
			require.NoError(t, err)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.NotEmpty(t, got)
			for name, values := range got {
				require.NotContains(t, strings.ToLower(name+strings.Join(values, ",")), "mcpchain", "%d", times+1)
			}
			require.Equal(t, strings.TrimSuffix(strings.TrimPrefix(connection, "Connection: "), "\r\n"), strings.Join(got["Connection"], ","))
			_, named := got["Connection"]
			require.Equal(t, connection != "", named)
			require.NoError(t, conn.Close())
			web.Close()
			got = nil
		}
	}
}
