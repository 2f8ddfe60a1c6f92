package transport_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/transport"
)

// proxies stand between a client and a server, by what they do with its traffic. Those that give up do so early for
// the path /cut.
func proxies(t *testing.T, server string) map[string]http.Handler {
	at, err := url.Parse(server)
	require.NoError(t, err)
	reverse := func(flush time.Duration) http.Handler {
		p := httputil.NewSingleHostReverseProxy(at)
		p.FlushInterval, p.ErrorLog = flush, log.New(io.Discard, "", 0)
		return p
	}
	forward := func(ctx context.Context, req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		out, err := http.NewRequestWithContext(ctx, req.Method, server+req.URL.Path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		out.Header = req.Header.Clone()
		return http.DefaultTransport.RoundTrip(out)
	}
	pass := func(w http.ResponseWriter, resp *http.Response, body []byte) {
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body)
	}
	return map[string]http.Handler{
		"passes":          reverse(-1),
		"flushes by time": reverse(10 * time.Millisecond),
		"buffers": http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			resp, err := forward(req.Context(), req)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			pass(w, resp, body)
		}),
		"times out": http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			limit := 10 * time.Second
			if req.URL.Path == "/cut" {
				limit = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(req.Context(), limit)
			defer cancel()
			resp, err := forward(ctx, req)
			var body []byte
			if err == nil {
				defer resp.Body.Close()
				body, err = io.ReadAll(resp.Body)
			}
			if err != nil {
				w.WriteHeader(http.StatusGatewayTimeout)
				return
			}
			pass(w, resp, body)
		}),
		"cuts": http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			ctx, cancel := context.WithCancel(req.Context())
			defer cancel()
			if req.URL.Path == "/cut" {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			resp, err := forward(ctx, req)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			pass(w, resp, body)
		}),
	}
}

// behind serves a proxy, and requires that no header of ours passes it.
func behind(t *testing.T, proxy http.Handler) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() {
			for name, values := range w.Header() {
				if strings.Contains(name+strings.Join(values, ","), exchange.Header) {
					t.Error(w.Header())
				}
			}
		}()
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// TestBehindProxies: answers, challenges and refusals pass proxies, whether they buffer or not.
func TestBehindProxies(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			object := map[string]any{"type": "object"}
			server.AddTool(&mcp.Tool{Name: "it", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 100_000)}}}, nil
			})
			server.AddTool(&mcp.Tool{Name: "wait", InputSchema: object}, returns(fault.Unauthenticated("your access has expired")))
			w := newWaiting(t, of, transport.Options{}, mcpchain.Options{}, nil)
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: w.log.Logger()}))
			opts := of.opts
			opts.DisableLocalhostProtection = true
			web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &opts), &transport.Options{Logger: w.log.Logger()}))
			defer web.Close()
			for name, proxy := range proxies(t, web.URL) {
				at := behind(t, proxy)
				session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
					&mcp.StreamableClientTransport{Endpoint: at, DisableStandaloneSSE: true}, speak.Version(of.version))
				require.NoError(t, err, name)
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
				require.NoError(t, err, name)
				require.Len(t, res.Content[0].(*mcp.TextContent).Text, 100_000, name)
				require.NoError(t, session.Close())

				raw := &waiting{url: at, of: of, as: func(req *http.Request) { req.Header.Set("Authorization", "Bearer t") }}
				raw.initialize(t)
				status, header, answer := raw.raw(t, raw.call(1, ""))
				require.Equal(t, http.StatusUnauthorized, status, name)
				require.Equal(t, `Bearer error="invalid_token"`, header.Get("WWW-Authenticate"), name)
				require.Contains(t, answer, "your access has expired")
				status, _, answer = raw.raw(t, "{")
				require.Equal(t, http.StatusBadRequest, status, name)
				require.Contains(t, answer, `"code":-32700`)
			}
		})
	}
}

// TestProxiesThatGiveUp: a call that a proxy gave up is abandoned, where the specification says so.
func TestProxiesThatGiveUp(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"times out", "cuts"} {
				w := newWaiting(t, of, transport.Options{}, mcpchain.Options{}, nil)
				w.url = behind(t, proxies(t, w.url)[name]) + "/cut"
				resp, err := w.post(t.Context(), w.call(1, ""))
				if name == "cuts" {
					require.Error(t, err)
				} else {
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
				}
				if of.version >= "2026-07-28" {
					require.ErrorIs(t, <-w.ended, transport.ErrAbandoned, name)
					continue
				}
				select {
				case why := <-w.ended:
					t.Fatal(name, why)
				case <-time.After(50 * time.Millisecond):
				}
				close(w.goOn)
				require.NoError(t, <-w.ended)
			}
		})
	}
}

// TestAroundAProxy: what the handler inside passes on to another server has no header of ours.
func TestAroundAProxy(t *testing.T) {
	seen := make(chan http.Header, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { seen <- req.Header }))
	defer web.Close()
	at, err := url.Parse(web.URL)
	require.NoError(t, err)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}"))
	transport.HTTP(httputil.NewSingleHostReverseProxy(at), nil).ServeHTTP(httptest.NewRecorder(), req)
	require.NotContains(t, <-seen, exchange.Header)
}
