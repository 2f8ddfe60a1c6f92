package retry_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/retry"
)

// What a model reads of the effect of a call that failed.
const (
	tookEffect  = "At least a part of this call took effect: check that before you try another way."
	mayHave     = "no, unless you see that it did not take effect."
	nothingDone = "Nothing was changed by this call."
)

var sentences = map[fault.Effect]string{fault.EffectCommitted: tookEffect, fault.EffectUnknown: mayHave, fault.EffectNone: nothingDone}

// shop is a service that answers as its path says.
func shop() http.Handler {
	mux := http.NewServeMux()
	for path, status := range map[string]int{
		"/ok": 200, "/created": 201, "/accepted": 202, "/no-content": 204, "/multi": 207, "/moved": 301, "/not-modified": 304,
		"/bad": 400, "/unauthorized": 401, "/forbidden": 403, "/missing": 404, "/slow": 408, "/conflict": 409, "/early": 425,
		"/limited": 429, "/legal": 451, "/gone-away": 499, "/broken": 500, "/unavailable": 503,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	redirect := func(to string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, to, status) }
	}
	mux.HandleFunc("/303", redirect("/ok", http.StatusSeeOther))
	mux.HandleFunc("/307", redirect("/created", http.StatusTemporaryRedirect))
	mux.HandleFunc("/307-to-limited", redirect("/limited", http.StatusTemporaryRedirect))
	mux.HandleFunc("/hang-up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/breaks-off", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	return mux
}

// send sends a request as handlers do, and reads the answer.
func send(ctx context.Context, client *http.Client, method, url string) {
	var body io.Reader
	if method != http.MethodGet {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		panic(err)
	}
	res, err := client.Do(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// tells calls a tool that sends something and fails, and returns what its caller reads.
func tells(t testing.TB, a *mcp.ToolAnnotations, opts *retry.Options, h func(ctx context.Context) error) (*fault.Error, string) {
	t.Helper()
	s := annotated(t, a, opts, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) { return nil, h(ctx) })
	answer := s.Call(t, "it")
	return answer.Fault(), answer.Text()
}

func effectOf(e *fault.Error) fault.Effect {
	r, _ := e.Retry()
	return r.Effect
}

var errElse = errors.New("something else has failed")

// TestWhatBecomesOfARequest: what a service did is what the caller reads, whatever the handler fails with.
func TestWhatBecomesOfARequest(t *testing.T) {
	service := httptest.NewServer(shop())
	t.Cleanup(service.Close)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, nobody.Close())
	const (
		took    = fault.EffectCommitted
		unknown = fault.EffectUnknown
		none    = fault.EffectNone
	)
	post := func(paths ...string) func(context.Context, *http.Client) {
		return func(ctx context.Context, client *http.Client) {
			for _, path := range paths {
				send(ctx, client, http.MethodPost, service.URL+path)
			}
		}
	}
	for name, tc := range map[string]struct {
		requests func(ctx context.Context, client *http.Client)
		want     fault.Effect
	}{
		"nothing":                              {func(context.Context, *http.Client) {}, none},
		"200":                                  {post("/ok"), took},
		"202, not yet done":                    {post("/accepted"), unknown},
		"207, for each part":                   {post("/multi"), unknown},
		"401":                                  {post("/unauthorized"), none},
		"408, which services say of their own": {post("/slow"), unknown},
		"409":                                  {post("/conflict"), none},
		"429":                                  {post("/limited"), none},
		"499, of a proxy":                      {post("/gone-away"), unknown},
		"500":                                  {post("/broken"), unknown},
		"301, which is followed by a GET":      {post("/moved"), unknown},
		"303 to a GET":                         {post("/303"), unknown},
		"307 to a POST that takes effect":      {post("/307"), took},
		"307 to a POST that is refused":        {post("/307-to-limited"), unknown},
		"it hangs up":                          {post("/hang-up"), unknown},
		"the answer breaks off":                {post("/breaks-off"), unknown},
		"one takes effect, one is refused":     {post("/ok", "/limited"), took},
		"one is lost, one takes effect":        {post("/hang-up", "/ok"), took},
		"a GET": {func(ctx context.Context, client *http.Client) {
			send(ctx, client, http.MethodGet, service.URL+"/ok")
			send(ctx, client, http.MethodGet, service.URL+"/hang-up")
		}, none},
		"a DELETE": {func(ctx context.Context, client *http.Client) {
			send(ctx, client, http.MethodDelete, service.URL+"/ok")
		}, took},
		"a refused connection": {func(ctx context.Context, client *http.Client) {
			send(ctx, client, http.MethodPost, "http://"+nobody.Addr().String()+"/ok")
		}, none},
		"a certificate that nobody knows": {func(ctx context.Context, client *http.Client) {
			safe := httptest.NewUnstartedServer(shop())
			safe.Config.ErrorLog = log.New(io.Discard, "", 0)
			safe.StartTLS()
			defer safe.Close()
			send(ctx, client, http.MethodPost, safe.URL+"/ok")
		}, none},
		"given up before": {func(ctx context.Context, client *http.Client) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			post("/ok")(ctx, client)
		}, none},
		"given up while nobody accepts the connection": {func(ctx context.Context, client *http.Client) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			slow := &http.Client{Transport: retry.Transport(&http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}, nil)}
			post("/ok")(ctx, slow)
		}, none},
		"given up after it was sent": {func(ctx context.Context, client *http.Client) {
			ctx, cancel := context.WithCancel(ctx)
			never := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				cancel()
				<-r.Context().Done()
			}))
			defer never.Close()
			send(ctx, client, http.MethodPost, never.URL)
		}, unknown},
		"the body is not read to its end": {func(ctx context.Context, client *http.Client) {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, service.URL+"/breaks-off", nil)
			res, err := client.Do(req)
			if err == nil {
				_ = res.Body.Close()
				_, _ = res.Body.Read(make([]byte, 1))
			}
		}, took},
		"in the context of nobody":    {func(_ context.Context, client *http.Client) { post("/ok")(context.Background(), client) }, none},
		"in a context without an end": {func(ctx context.Context, client *http.Client) { post("/ok")(context.WithoutCancel(ctx), client) }, took},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			client := &http.Client{Transport: retry.Transport(base, nil)}
			handle := func(ctx context.Context) error {
				tc.requests(ctx, client)
				return errElse
			}
			public, text := tells(t, nil, &retry.Options{Witnessed: always}, handle)
			require.Equal(t, tc.want, effectOf(public), text)
			require.Contains(t, text, sentences[tc.want])
			r, _ := public.Retry()
			require.Equal(t, tc.want == took, r.Partial)
			require.False(t, r.ShouldRetry)

			if tc.want == none { // silence is no word
				public, text = tells(t, nil, nil, handle)
				require.NotEqual(t, none, effectOf(public), text)
				require.NotContains(t, text, nothingDone)
				return
			}
			public, text = tells(t, nil, nil, handle)
			require.Equal(t, tc.want, effectOf(public), text)
			require.Contains(t, text, sentences[tc.want])
		})
	}
}

func TestSafeRequests(t *testing.T) {
	service := httptest.NewServer(shop())
	t.Cleanup(service.Close)
	client := &http.Client{Transport: retry.Transport(nil, &retry.TransportOptions{Safe: func(req *http.Request) bool {
		if req.URL.Path == "/created" {
			panic(harness.Canary)
		}
		return req.URL.Path == "/ok"
	}})}
	for path, want := range map[string]fault.Effect{"/ok": fault.EffectNone, "/no-content": fault.EffectCommitted, "/created": fault.EffectCommitted} {
		public, text := tells(t, nil, &retry.Options{Witnessed: always}, func(ctx context.Context) error {
			send(ctx, client, http.MethodPost, service.URL+path)
			return errElse
		})
		require.Equal(t, want, effectOf(public), text)
	}
}

// witnessed runs f in a call, and returns what it saw.
func witnessed(t testing.TB, f func(ctx context.Context)) (effect fault.Effect) {
	h := call.Wrap(func(ctx context.Context, c *call.Call, _ mcp.Request, _ call.Handler) (mcp.Result, error) {
		f(ctx)
		effect = c.Witness().Effect()
		return &mcp.CallToolResult{}, nil
	})(nil)
	_, err := h(t.Context(), call.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
	require.NoError(t, err)
	return effect
}

// fake is a RoundTripper that says nothing of its connections.
type fake func(*http.Request) (*http.Response, error)

func (f fake) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func answer(status int, body io.ReadCloser) fake {
	return func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: body, Request: req}, nil
	}
}

// TestTransportIsATransport: requests and answers pass as they are.
func TestTransportIsATransport(t *testing.T) {
	request := func(ctx context.Context) *http.Request {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/ok", strings.NewReader("{}"))
		require.NoError(t, err)
		return req
	}
	t.Run("a request is not changed, and stands in its answer", func(t *testing.T) {
		witnessed(t, func(ctx context.Context) {
			req := request(ctx)
			req.GetBody = nil // functions cannot be compared
			was := *req
			res, err := retry.Transport(answer(200, http.NoBody), nil).RoundTrip(req) //nolint:bodyclose // nothing has to be closed
			require.NoError(t, err)
			require.Same(t, req, res.Request)
			require.Equal(t, was, *req)
		})
	})
	t.Run("a base that fails without a word of its connections", func(t *testing.T) {
		require.Equal(t, fault.EffectUnknown, witnessed(t, func(ctx context.Context) {
			_, err := retry.Transport(fake(func(*http.Request) (*http.Response, error) { return nil, errRefused }), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
			require.ErrorIs(t, err, errRefused)
		}))
	})
	t.Run("a base that panics", func(t *testing.T) {
		require.Equal(t, fault.EffectUnknown, witnessed(t, func(ctx context.Context) {
			require.Panics(t, func() {
				_, _ = retry.Transport(fake(func(*http.Request) (*http.Response, error) { panic("it") }), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
			})
		}))
	})
	t.Run("the cause of a context that has ended, and the body is closed", func(t *testing.T) {
		require.Empty(t, witnessed(t, func(ctx context.Context) {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(errElse)
			req := request(ctx)
			closed := &closing{Reader: strings.NewReader("")}
			req.Body = closed
			_, err := retry.Transport(fake(func(*http.Request) (*http.Response, error) { panic("it is not asked") }), nil).RoundTrip(req) //nolint:bodyclose // nothing has to be closed
			require.ErrorIs(t, err, errElse)
			require.True(t, closed.closed)
		}))
	})
	t.Run("a connection that was switched to another protocol", func(t *testing.T) {
		connection := &readWriter{}
		require.Equal(t, fault.EffectUnknown, witnessed(t, func(ctx context.Context) {
			res, err := retry.Transport(answer(101, connection), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
			require.NoError(t, err)
			require.Same(t, connection, res.Body)
		}))
		witnessed(t, func(ctx context.Context) { // of CONNECT
			res, err := retry.Transport(answer(200, connection), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
			require.NoError(t, err)
			require.Same(t, connection, res.Body)
		})
	})
	t.Run("a body in memory", func(t *testing.T) {
		body := io.NopCloser(bytes.NewReader([]byte("it")))
		require.Equal(t, fault.EffectCommitted, witnessed(t, func(ctx context.Context) {
			res, err := retry.Transport(answer(200, body), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
			require.NoError(t, err)
			require.Equal(t, body, res.Body)
		}))
	})
	t.Run("no body at all", func(t *testing.T) {
		witnessed(t, func(ctx context.Context) {
			res, err := retry.Transport(answer(200, nil), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
			require.NoError(t, err)
			require.Nil(t, res.Body)
		})
	})
	t.Run("idle connections are closed", func(t *testing.T) {
		closer := &idle{}
		(&http.Client{Transport: retry.Transport(closer, nil)}).CloseIdleConnections()
		require.True(t, closer.closed)
		(&http.Client{Transport: retry.Transport(answer(200, nil), nil)}).CloseIdleConnections()
	})
	t.Run("one around another counts one request, whatever it is", func(t *testing.T) {
		for status, want := range map[int]fault.Effect{200: fault.EffectCommitted, 404: fault.EffectUnknown, 500: fault.EffectUnknown} {
			require.Equal(t, want, witnessed(t, func(ctx context.Context) {
				_, err := retry.Transport(retry.Transport(answer(status, http.NoBody), nil), nil).RoundTrip(request(ctx)) //nolint:bodyclose // nothing has to be closed
				require.NoError(t, err)
			}))
		}
	})
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

type readWriter struct{ net.Conn }

type idle struct {
	fake
	closed bool
}

func (i *idle) CloseIdleConnections() { i.closed = true }

// TestARequestThatIsSentTwice: net/http sends a request with an Idempotency-Key again, and others do so without
// one. That the second was refused says nothing of the first.
func TestARequestThatIsSentTwice(t *testing.T) {
	var asked atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked.Add(1) {
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			w.WriteHeader(http.StatusConflict)
		}
	}))
	t.Cleanup(service.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	client := &http.Client{Transport: retry.Transport(base, nil)}
	send(t.Context(), client, http.MethodGet, service.URL) // the connection is kept
	require.Equal(t, fault.EffectUnknown, witnessed(t, func(ctx context.Context) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, service.URL, strings.NewReader("{}"))
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "k-1")
		res, err := client.Do(req)
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, res.StatusCode)
		_ = res.Body.Close()
	}))
	require.EqualValues(t, 3, asked.Load())
}

func TestTransportOverHTTP2(t *testing.T) {
	service := httptest.NewUnstartedServer(shop())
	service.Config.ErrorLog = log.New(io.Discard, "", 0)
	service.EnableHTTP2 = true
	service.StartTLS()
	t.Cleanup(service.Close)
	base := service.Client().Transport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	client := &http.Client{Transport: retry.Transport(base, nil)}
	for path, want := range map[string]fault.Effect{"/ok": fault.EffectCommitted, "/limited": "", "/hang-up": fault.EffectUnknown, "/breaks-off": fault.EffectUnknown} {
		require.Equal(t, want, witnessed(t, func(ctx context.Context) { send(ctx, client, http.MethodPost, service.URL+path) }), path)
	}
	distrustful := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13}, ForceAttemptHTTP2: true}
	require.Empty(t, witnessed(t, func(ctx context.Context) {
		send(ctx, &http.Client{Transport: retry.Transport(distrustful, nil)}, http.MethodPost, service.URL+"/ok")
	}))
}

// TestExpectContinue: a service that answers before it got the body has refused the request.
func TestExpectContinue(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ok" {
			_, _ = io.Copy(io.Discard, req.Body)
			return
		}
		w.WriteHeader(http.StatusExpectationFailed)
	}))
	t.Cleanup(service.Close)
	client := &http.Client{Transport: retry.Transport(nil, nil)}
	for path, want := range map[string]fault.Effect{"/ok": fault.EffectCommitted, "/refused": ""} {
		require.Equal(t, want, witnessed(t, func(ctx context.Context) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, service.URL+path, strings.NewReader("{}"))
			require.NoError(t, err)
			req.Header.Set("Expect", "100-continue")
			res, err := client.Do(req)
			require.NoError(t, err)
			_ = res.Body.Close()
		}), path)
	}
}

// TestNotesOfManyGoroutines: handlers send requests at the same time, and go on when their call was answered.
func TestNotesOfManyGoroutines(t *testing.T) {
	service := httptest.NewServer(shop())
	t.Cleanup(service.Close)
	client := &http.Client{Transport: retry.Transport(nil, nil)}
	var late sync.WaitGroup
	public, text := tells(t, nil, nil, func(ctx context.Context) error {
		ctx = context.WithoutCancel(ctx)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { send(ctx, client, http.MethodPost, service.URL+"/limited") })
			late.Go(func() { send(ctx, client, http.MethodPost, service.URL+"/hang-up") })
		}
		all.Go(func() { send(ctx, client, http.MethodPost, service.URL+"/ok") })
		all.Wait()
		return errElse
	})
	late.Wait()
	require.Equal(t, fault.EffectCommitted, effectOf(public), text)
}

// TestTransportAllocations holds what a request costs: nothing where nobody asks what became of it. Else it is
// traced, because nothing but the trace says whether a byte of it was written.
func TestTransportAllocations(t *testing.T) {
	res := &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}
	rt := retry.Transport(fake(func(*http.Request) (*http.Response, error) { return res, nil }), nil)
	cost := func(ctx context.Context, method string) float64 {
		req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1/", nil)
		require.NoError(t, err)
		return testing.AllocsPerRun(100, func() { _, _ = rt.RoundTrip(req) }) //nolint:bodyclose // nothing has to be closed
	}
	require.Zero(t, cost(t.Context(), http.MethodPost), "outside of a call")
	witnessed(t, func(ctx context.Context) {
		require.Zero(t, cost(ctx, http.MethodGet), "a safe request")
		require.LessOrEqual(t, cost(ctx, http.MethodPost), 6., "one that is not")
	})
}
