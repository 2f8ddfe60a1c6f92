package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/transport"
)

// refusedAs requires that an answer is the refusal of something that exceeds a bound, with its record.
func refusedAs(t *testing.T, log *harness.Log, header http.Header, answer string, code int, says string) {
	t.Helper()
	require.Equal(t, "application/json", header.Get("Content-Type"))
	var message struct {
		Error struct {
			Code int
			Data struct {
				Message   string
				Reference string `json:"reference_id"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &message), answer)
	require.Equal(t, code, message.Error.Code)
	require.Equal(t, says, message.Error.Data.Message)
	require.Contains(t, log.String(), message.Error.Data.Reference)
}

// TestBodyBytes: a body above the bound is refused in words, whoever has set the bound, and reaches no handler.
func TestBodyBytes(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting(t, of, transport.Options{Bounds: transport.Bounds{BodyBytes: 1000}}, mcpchain.Options{}, nil)
			close(w.goOn)
			call := w.call(1, "")
			for name, tc := range map[string]struct {
				bytes   int
				chunked bool
				status  int
			}{
				"at the bound":                    {1000, false, 200},
				"at the bound, of unknown length": {1000, true, 200},
				"above":                           {1001, false, 413},
				"above, of unknown length":        {1001, true, 413},
				"far above":                       {1 << 20, false, 413},
			} {
				req, err := w.request(t.Context(), strings.Replace(call, `"n":"1"`, `"n":"1","pad":"`+strings.Repeat("x", tc.bytes-len(call)-len(`,"pad":""`))+`"`, 1))
				require.NoError(t, err)
				require.Equal(t, int64(tc.bytes), req.ContentLength)
				if tc.chunked {
					req.ContentLength = -1
				}
				w.began.Clear()
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err, name)
				answer, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, tc.status, resp.StatusCode, name)
				if tc.status == 413 {
					refusedAs(t, w.log, resp.Header, string(answer), -32600, "the body has more than 1000 bytes, which is the most that this server reads")
					_, began := w.began.Load("1")
					require.False(t, began)
				}
			}
		})
	}
}

// TestLargeBodies: the bound is the SDK's if nobody has set one.
func TestLargeBodies(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`
	of := sorts()[2]
	theirs := newWaiting(t, of, transport.Options{}, mcpchain.Options{}, nil)
	status, header, answer := theirs.raw(t, large)
	require.Equal(t, 413, status)
	refusedAs(t, theirs.log, header, answer, -32600, "the body has more than 4194304 bytes, which is the most that this server reads")
	of.opts.MaxRequestBodyBytes = -1
	raised := newWaiting(t, of, transport.Options{}, mcpchain.Options{}, nil)
	status, _, _ = raised.raw(t, large)
	require.Equal(t, 200, status, "16 MiB")
	none := newWaiting(t, of, transport.Options{Bounds: transport.Bounds{BodyBytes: -1}}, mcpchain.Options{}, nil)
	status, _, _ = none.raw(t, strings.Replace(large, `"x":`, `"y":"`+strings.Repeat("x", 12<<20)+`","x":`, 1))
	require.Equal(t, 200, status)
}

// TestBodyTime: a body that does not arrive is refused in words, however slowly it comes.
func TestBodyTime(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting(t, of, transport.Options{Bounds: transport.Bounds{BodyTime: 150 * time.Millisecond}}, mcpchain.Options{}, nil)
			for _, pause := range []time.Duration{time.Hour, 20 * time.Millisecond} {
				conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
				require.NoError(t, err)
				defer conn.Close()
				req, err := w.request(t.Context(), w.call(1, ""))
				require.NoError(t, err)
				head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 100000\r\n", req.Host)
				for name := range req.Header {
					head += name + ": " + req.Header.Get(name) + "\r\n"
				}
				_, err = io.WriteString(conn, head+"\r\n{")
				require.NoError(t, err)
				stop := make(chan struct{})
				go func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(pause):
							if _, err := io.WriteString(conn, " "); err != nil {
								return
							}
						}
					}
				}()
				resp, err := http.ReadResponse(bufio.NewReader(conn), req)
				require.NoError(t, err)
				answer, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				close(stop)
				require.Equal(t, 408, resp.StatusCode)
				require.True(t, resp.Close)
				refusedAs(t, w.log, resp.Header, string(answer), 504, "the body did not arrive within 150 ms")
			}
		})
	}
}

// TestBodyTimeOfHTTP2 is the same for a stream of HTTP/2, whose connection goes on.
func TestBodyTimeOfHTTP2(t *testing.T) {
	of, log := sorts()[2], &harness.Log{}
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	web := httptest.NewUnstartedServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &of.opts),
		&transport.Options{Logger: log.Logger(), Bounds: transport.Bounds{BodyTime: 50 * time.Millisecond}}))
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	w := &waiting{url: web.URL, of: of}
	body, sends := io.Pipe()
	defer sends.Close()
	req, err := w.request(t.Context(), "")
	require.NoError(t, err)
	req.Body, req.ContentLength = body, -1
	go func() { _, _ = io.WriteString(sends, "{") }()
	resp, err := web.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 2, resp.ProtoMajor)
	require.Equal(t, 408, resp.StatusCode)
	refusedAs(t, log, resp.Header, string(answer), 504, "the body did not arrive within 50 ms")
	require.NotContains(t, resp.Header, "Connection")
}

// TestLongCallsAreNotSlowBodies: the time to read a body ends with the body, and so does the server's own ReadTimeout.
func TestLongCallsAreNotSlowBodies(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting(t, of, transport.Options{CancelOlder: true, Bounds: transport.Bounds{BodyTime: 50 * time.Millisecond}}, mcpchain.Options{}, nil)
			web := httptest.NewUnstartedServer(w.server.Config.Handler)
			web.Config.ReadTimeout = 50 * time.Millisecond
			web.Start()
			defer web.Close()
			w.url = web.URL
			time.AfterFunc(200*time.Millisecond, func() { close(w.goOn) })
			status, _, answer := w.raw(t, w.call(1, ""))
			require.Equal(t, 200, status)
			require.Contains(t, answer, `"text":"done"`)
			require.NoError(t, <-w.ended)
		})
	}
}

// TestStreams: nobody holds more streams than the bound, and who has closed one may open another.
func TestStreams(t *testing.T) {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	for _, of := range sorts() {
		if of.version < "2026-07-28" && of.opts.Stateless {
			continue // it has no streams
		}
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			log := &harness.Log{}
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, returns(nil))
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
			opts := of.opts
			opts.Logger = slog.New(slog.DiscardHandler)
			inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &opts)
			guarded := auth.RequireBearerToken(verify, nil)(inner)
			handler := transport.HTTP(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Header.Get("Authorization") != "" {
					guarded.ServeHTTP(w, req)
					return
				}
				inner.ServeHTTP(w, req)
			}), &transport.Options{Logger: log.Logger(), Bounds: transport.Bounds{Streams: 2}})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if from := req.Header.Get("X-From"); from != "" { // as a handler behind a proxy does
					req.RemoteAddr = from
				}
				handler.ServeHTTP(w, req)
			}))
			t.Cleanup(web.Close) // after the end of all streams
			// open opens a stream, in a session of its own if there are sessions.
			open := func(from, user string) (status int, header http.Header, answer string, end func()) {
				as := func(req *http.Request) {
					req.Header.Set("X-From", from)
					if user != "" {
						req.Header.Set("Authorization", "Bearer "+user)
					}
				}
				w := &waiting{url: web.URL, of: of, as: as}
				w.initialize(t)
				ctx, cancel := context.WithCancel(t.Context())
				req, err := w.request(ctx, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}`+of.meta()+`}}`)
				require.NoError(t, err)
				if of.version < "2026-07-28" {
					req.Method, req.Body, req.ContentLength = http.MethodGet, nil, 0
				}
				resp, err := http.DefaultClient.Do(req) //nolint:bodyclose // end does
				require.NoError(t, err)
				end = func() {
					cancel()
					_ = resp.Body.Close()
				}
				if resp.StatusCode != http.StatusOK {
					defer end()
					raw, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					answer = string(raw)
				}
				return resp.StatusCode, resp.Header, answer, end
			}
			for name, callers := range map[string][3][2]string{
				"an address":         {{"192.0.2.1:1000", ""}, {"192.0.2.1:1001", ""}, {"192.0.2.2:1000", ""}},
				"a network":          {{"[2001:db8:0:1::1]:1", ""}, {"[2001:db8:0:1::2]:1", ""}, {"[2001:db8:0:2::1]:1", ""}},
				"a user, from where": {{"192.0.2.3:1", "alice"}, {"192.0.2.4:1", "alice"}, {"192.0.2.3:1", "bob"}},
				"a private address":  {{"10.0.0.1:1", "carol"}, {"10.0.0.1:1", "carol"}, {"10.0.0.1:1", ""}},
			} {
				var ends []func()
				for i := range 2 {
					status, _, _, end := open(callers[i][0], callers[i][1])
					require.Equal(t, 200, status, name)
					ends = append(ends, end)
				}
				status, header, answer, end := open(callers[0][0], callers[0][1])
				end()
				require.Equal(t, 429, status, name)
				refusedAs(t, log, header, answer, 429, "you have 2 streams open, and no more are accepted")
				for range 5 {
					status, _, _, end = open(callers[2][0], callers[2][1])
					ends = append(ends, end)
					require.Equal(t, 200, status, name)
					if name != "a private address" {
						break
					}
				}
				ends[0]()
				require.Eventually(t, func() bool {
					status, _, _, end := open(callers[1][0], callers[1][1])
					defer end()
					return status == http.StatusOK
				}, 5*time.Second, 10*time.Millisecond, name)
				for _, end := range ends {
					end()
				}
			}
		})
	}
}
