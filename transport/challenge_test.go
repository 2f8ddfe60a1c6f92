package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/transport"
)

// A sort is one of the six kinds of server over HTTP.
type sort struct {
	name, version string
	opts          mcp.StreamableHTTPOptions
}

func sorts() (all []sort) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for _, stateless := range []bool{true, false} {
			for _, inJSON := range []bool{false, true} {
				if version == "2025-11-25" || stateless { // stateful servers refuse the newer one
					name := fmt.Sprintf("%s/stateless=%v/json=%v", version, stateless, inJSON)
					all = append(all, sort{name, version, mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: inJSON}})
				}
			}
		}
	}
	return all
}

// A wiretap sends a token, if it has one, and keeps what answered the last call of a method.
type wiretap struct {
	token  string
	method string
	also   func(http.Header)

	mu     sync.Mutex
	calls  int
	status int
	header http.Header
	body   string
}

func (w *wiretap) RoundTrip(req *http.Request) (*http.Response, error) {
	return w.roundTrip(req.Clone(req.Context()), "evil.example")
}

func (w *wiretap) roundTrip(req *http.Request, host string) (*http.Response, error) {
	if w.token != "" {
		req.Header.Set("Authorization", "Bearer "+w.token)
	}
	req.Host = host
	if w.also != nil {
		w.also(req.Header)
	}
	var sent []byte
	if req.Body != nil {
		var err error
		if sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || !bytes.Contains(sent, []byte(`"method":"`+w.method+`"`)) {
		return resp, err
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(got))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.status, w.header, w.body = w.calls+1, resp.StatusCode, resp.Header, string(got)
	return resp, nil
}

// A failing server fails as the tool "it" says.
type failing struct {
	annotations *mcp.ToolAnnotations
	options     *mcpchain.Options
	bare        bool // no middleware stands there but one that renders
	inner       []mcp.Middleware
	transport   *transport.Options
	fail        func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

// call calls the tool once, as a client that cannot sign in, and once more "fine".
func (f failing) call(t *testing.T, of sort, tap *wiretap) (text string, err error) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}, Annotations: f.annotations}, f.fail)
	server.AddTool(&mcp.Tool{Name: "fine", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
	})
	chain := mcpchain.Options{}
	if f.options != nil {
		chain = *f.options
	}
	chain.Logger = slog.New(slog.DiscardHandler)
	if f.bare {
		server.AddReceivingMiddleware(middleware.Render(nil))
	} else {
		server.AddReceivingMiddleware(mcpchain.Standard(&chain, f.inner...))
	}
	opts := of.opts
	opts.DisableLocalhostProtection = true // for the header Host that the client makes up
	web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &opts), f.transport))
	defer web.Close()
	tap.method = middleware.MethodCallTool
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: tap}, DisableStandaloneSSE: true}, speak.Version(of.version))
	require.NoError(t, err)
	defer session.Close()
	params := &mcp.CallToolParams{Name: "it"}
	params.SetProgressToken("p")
	res, err := session.CallTool(t.Context(), params)
	if err == nil {
		text = res.Content[0].(*mcp.TextContent).Text
	}
	calls, status, header, body := tap.calls, tap.status, tap.header, tap.body
	_, later := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fine"})
	if !speak.Oldest { // the client of go-sdk v1.7 ends its session over any such status
		require.NoError(t, later, "the session goes on")
	}
	tap.calls, tap.status, tap.header, tap.body = calls, status, header, body
	return text, err
}

func returns(err error) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
}

var (
	reads      = &mcp.ToolAnnotations{ReadOnlyHint: true}
	idempotent = &mcp.ToolAnnotations{IdempotentHint: true}
)

// answered is the error of a service that refused credentials.
func answered(status int) error {
	req, err := http.NewRequest(http.MethodGet, "https://api.example/", nil)
	if err != nil {
		return err
	}
	return retry.FromResponse(&http.Response{StatusCode: status, Request: req, Header: http.Header{}, Body: http.NoBody})
}

// TestChallenges in all kinds of server: which failures ask the client to sign in, and which do not.
func TestChallenges(t *testing.T) {
	const metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
	const signIn = `Bearer error="invalid_token", resource_metadata="` + metadata + `"`
	const stepUp = `Bearer error="insufficient_scope", scope="notes:write", resource_metadata="` + metadata + `"`
	expired := fault.Unauthenticated("your access has expired")
	narrow := fault.Denied("write", "notes").Needs("notes:write")
	changed := func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		retry.Began(ctx)(nil)
		return nil, expired
	}
	passedOn := &mcpchain.Options{Mask: &mask.Options{CallersCredentials: true}}
	ruled := func(f *fault.Error) *mcpchain.Options {
		return &mcpchain.Options{Mask: &mask.Options{Rules: []mask.Rule{func(error) *fault.Error { return f }}}}
	}
	errPlain := errors.New("token rejected")
	witnessed := ruled(expired)
	witnessed.Retry = &retry.Options{Witnessed: func(string) bool { return true }}
	for name, tc := range map[string]struct {
		failing
		status int
		want   string
	}{
		"the handler says so":     {failing{fail: returns(expired)}, 401, signIn},
		"around another error":    {failing{fail: returns(fmt.Errorf("load: %w", expired.Because(errPlain)))}, 401, signIn},
		"a scope is missing":      {failing{fail: returns(narrow)}, 403, stepUp},
		"a middleware refuses it": {failing{fail: returns(nil), inner: []mcp.Middleware{refusing(narrow)}}, 403, stepUp},
		"two scopes are missing": {
			failing{fail: returns(fault.Denied("a", "b").Needs("x:y", "z"))}, 403,
			`Bearer error="insufficient_scope", scope="x:y z", resource_metadata="` + metadata + `"`,
		},
		"a sign-in with a scope": {
			failing{fail: returns(expired.Needs("x"))}, 401,
			`Bearer error="invalid_token", scope="x", resource_metadata="` + metadata + `"`,
		},
		"no scope would help":       {failing{fail: returns(fault.Denied("write", "notes"))}, 200, ""},
		"the permission is a text":  {failing{fail: returns(fault.Denied("write", "notes").Needs("project admin"))}, 200, ""},
		"a forged scope":            {failing{fail: returns(fault.Denied("write", "notes").Needs("x\", realm=\"y"))}, 200, ""},
		"something was changed":     {failing{fail: returns(expired.WithRetry(fault.Retry{Effect: fault.EffectCommitted}))}, 200, ""},
		"it is unknown what was":    {failing{fail: returns(expired.WithRetry(fault.Retry{Effect: fault.EffectUnknown}))}, 200, ""},
		"a change was seen":         {failing{fail: changed}, 200, ""},
		"a change in a repetition":  {failing{fail: changed, annotations: idempotent}, 401, signIn},
		"it was seen that nothing":  {failing{fail: returns(errPlain), options: witnessed}, 401, signIn},
		"a rule about a write":      {failing{fail: returns(errPlain), options: ruled(expired)}, 200, ""},
		"a rule about a read":       {failing{fail: returns(errPlain), options: ruled(expired), annotations: reads}, 401, signIn},
		"a rule that names it":      {failing{fail: returns(errPlain), options: ruled(expired.WithRetry(fault.Retry{Effect: fault.EffectNone}))}, 401, signIn},
		"the server's credentials":  {failing{fail: returns(answered(401)), annotations: reads}, 200, ""},
		"the operator's":            {failing{fail: returns(answered(401)), annotations: reads, options: &mcpchain.Options{Mask: &mask.Options{Reader: mask.Operator}}}, 200, ""},
		"the caller's, reading":     {failing{fail: returns(answered(401)), annotations: reads, options: passedOn}, 401, signIn},
		"the caller's, idempotent":  {failing{fail: returns(answered(401)), annotations: idempotent, options: passedOn}, 401, signIn},
		"the caller's, writing":     {failing{fail: returns(answered(401)), options: passedOn}, 200, ""},
		"the caller's, no scope":    {failing{fail: returns(answered(403)), annotations: reads, options: passedOn}, 200, ""},
		"the tool's own words":      {failing{fail: ownWords(expired), annotations: reads}, 200, ""},
		"another server's, reading": {failing{fail: returns(fmt.Errorf(`calling "tools/call": %w`, answer(expired))), annotations: reads}, 200, ""},
		"a deliberate wire error":   {failing{fail: returns(answer(expired)), annotations: reads}, 200, ""},
		"a kind alone":              {failing{fail: returns(fmt.Errorf("load: %w", fault.KindUnauthenticated)), annotations: reads}, 401, signIn},
		"a kind alone, writing":     {failing{fail: returns(fmt.Errorf("load: %w", fault.KindUnauthenticated))}, 200, ""},
		"another kind":              {failing{fail: returns(fault.NotFound("note", "x"))}, 200, ""},
		"a plain error":             {failing{fail: returns(errPlain), annotations: reads}, 200, ""},
		"observed":                  {failing{fail: returns(expired), options: &mcpchain.Options{Observe: true}}, 200, ""},
		"with package retry's word": {failing{fail: returns(expired.After(time.Second))}, 401, signIn},
	} {
		for _, of := range sorts() {
			t.Run(name+"/"+of.name, func(t *testing.T) {
				tap := &wiretap{token: "t"}
				tc.transport = &transport.Options{ResourceMetadata: metadata}
				text, err := tc.call(t, of, tap)
				require.Equal(t, tc.status, tap.status, tap.body)
				require.Equal(t, 1, tap.calls)
				require.Equal(t, tc.want, tap.header.Get("WWW-Authenticate"))
				require.NotContains(t, tap.header, exchange.Header)
				require.NotContains(t, fmt.Sprint(tap.header, tap.body), "evil.example")
				if tc.want == "" {
					if name != "observed" && name != "a deliberate wire error" { // these are sent as they are
						require.NoError(t, err)
						require.NotEmpty(t, text)
					}
					return
				}
				require.Error(t, err)
				require.Equal(t, "application/json", tap.header.Get("Content-Type"))
				var body struct {
					Error struct {
						Message string
						Data    struct{ Type string }
					}
				}
				require.NoError(t, json.Unmarshal([]byte(tap.body), &body), tap.body)
				require.Contains(t, []string{"unauthenticated", "permission_denied"}, body.Error.Data.Type)
				require.Contains(t, err.Error(), body.Error.Message)

				// Without a token it is the usual answer.
				without := &wiretap{}
				text, err = tc.call(t, of, without)
				require.Equal(t, 200, without.status)
				require.Empty(t, without.header.Get("WWW-Authenticate"))
				require.NoError(t, err)
				head, _, _ := strings.Cut(body.Error.Message, "\n")
				require.Contains(t, text, head, "the same text")
			})
		}
	}
}

// answer is a protocol error with a fault, as another server answers it.
func answer(f *fault.Error) *jsonrpc.Error {
	data, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return &jsonrpc.Error{Code: 403, Message: f.Error(), Data: data}
}

func refusing(err error) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.Name == "it" {
				return nil, err
			}
			return next(ctx, method, req)
		}
	}
}

// ownWords is a gateway's tool that passes on the result of another server.
func ownWords(f *fault.Error) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Meta: mcp.Meta{middleware.MetaKey: f}, IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: f.Text()}},
		}, nil
	}
}

// TestChallengesKeepWhatWasGranted: before 2026-07-28 a client asks for the scopes of the challenge
// alone, and would lose those that it has.
func TestChallengesKeepWhatWasGranted(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, returns(fault.Denied("write", "notes").Needs("notes:write")))
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
			verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
				return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour), Scopes: []string{"notes:read", "notes:write", `bro"ken`}}, nil
			}
			guard := auth.RequireBearerToken(verify, nil)
			web := httptest.NewServer(transport.HTTP(guard(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &of.opts)), nil))
			defer web.Close()
			tap := &hostless{&wiretap{token: "t", method: middleware.MethodCallTool}}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: tap}, DisableStandaloneSSE: true}, speak.Version(of.version))
			require.NoError(t, err)
			_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
			require.ErrorContains(t, err, "you are not allowed to write notes")
			require.NoError(t, session.Close())
			want := `Bearer error="insufficient_scope", scope="notes:write"`
			if of.version == "2025-11-25" {
				want = `Bearer error="insufficient_scope", scope="notes:read notes:write"`
			}
			require.Equal(t, want, tap.header.Get("WWW-Authenticate"))
		})
	}
}

// hostless is a wiretap that leaves the header Host alone.
type hostless struct{ *wiretap }

func (h *hostless) RoundTrip(req *http.Request) (*http.Response, error) {
	return h.wiretap.roundTrip(req.Clone(req.Context()), req.URL.Host)
}

// TestBatchesAreNotChallenged: the status would be that of every call.
func TestBatchesAreNotChallenged(t *testing.T) {
	for _, inJSON := range []bool{false, true} {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, returns(fault.Unauthenticated("")))
		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
		web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: inJSON}), nil))
		const one = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"it","arguments":{}}}`
		for body, status := range map[string]int{
			" \n[" + fmt.Sprintf(one+","+one, 1, 2) + "]": 200,
			"[" + fmt.Sprintf(one, 1) + "]":               200,
			"\t" + fmt.Sprintf(one, 1):                    401,
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("Authorization", "bearer t")
			req.Header.Set("Mcp-Protocol-Version", "2025-03-26")
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, status, resp.StatusCode, "%s", got)
			require.Contains(t, string(got), "Not authenticated")
		}
		web.Close()
	}
}

// TestStatuses: what passes is 200, unless the host wants its status.
func TestStatuses(t *testing.T) {
	limited := fault.RateLimited("the API", 90*time.Second)
	for name, tc := range map[string]struct {
		fail   error
		status int
		after  string
	}{
		"limited":          {limited, 429, "90"},
		"limited for good": {limited.Never("no"), 200, ""},
		"unavailable":      {fault.Unavailable("the API").WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 0.2, Effect: fault.EffectNone}), 503, "1"},
		"endless":          {limited.WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1e300}), 429, "2592000"}, // the longest wait that there is
		"may have changed": {fault.Unavailable("the API").WithRetry(fault.Retry{Effect: fault.EffectUnknown}), 200, ""},
		"another":          {fault.NotFound("note", "x"), 200, ""},
	} {
		for _, of := range sorts() {
			t.Run(name+"/"+of.name, func(t *testing.T) {
				tap := &wiretap{}
				_, err := failing{fail: returns(tc.fail)}.call(t, of, tap)
				require.NoError(t, err)
				require.Equal(t, 200, tap.status)
				require.Empty(t, tap.header.Get("Retry-After"))

				tap = &wiretap{}
				_, _ = failing{fail: returns(tc.fail), transport: &transport.Options{Statuses: true}}.call(t, of, tap)
				require.Equal(t, tc.status, tap.status)
				require.Equal(t, tc.after, tap.header.Get("Retry-After"))
				require.Contains(t, tap.body, `"isError":true`)
			})
		}
	}
}

// TestRateLimitHeaders stand on every refusal of package limit.
func TestRateLimitHeaders(t *testing.T) {
	for name, tc := range map[string]struct {
		limit         limit.Limit
		policy, state string
	}{
		"a rate":  {limit.Limit{Tools: []string{"it"}, Name: "it", Calls: 1, Per: time.Hour, Burst: 1}, `"it";q=1;w=3600`, `"it";r=0;t=`},
		"running": {limit.Limit{Tools: []string{"it"}, Running: 1}, `"owner-0";q=1;qu="concurrent-requests"`, `"owner-0";r=0;t=1`},
		"never":   {limit.Limit{Tools: []string{"it"}, Calls: -1}, `"owner-0";q=0`, `"owner-0";r=0`},
	} {
		for _, of := range sorts() {
			t.Run(name+"/"+of.name, func(t *testing.T) {
				tap := &wiretap{}
				limited := limit.New(&limit.Options{Limits: []limit.Limit{tc.limit}, Wait: -1})
				fail := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				}
				f := failing{fail: fail, inner: []mcp.Middleware{holding(limited)}}
				text, err := f.call(t, of, tap)
				require.NoError(t, err)
				require.Contains(t, text, "Rate limited")
				require.Equal(t, 200, tap.status)
				require.Equal(t, tc.policy, tap.header.Get("Ratelimit-Policy"))
				require.True(t, strings.HasPrefix(tap.header.Get("Ratelimit"), tc.state), tap.header.Get("Ratelimit"))
			})
		}
	}
}

// holding calls the limited tool once inside of itself, so that a limit of one call is used up.
func holding(limited mcp.Middleware) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		var inner mcp.MethodHandler
		inner = limited(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if ctx.Value(heldKey{}) == nil {
				return inner(context.WithValue(ctx, heldKey{}, true), method, req)
			}
			return next(ctx, method, req)
		})
		return inner
	}
}

type heldKey struct{}

// TestNobodyAnswersForAnother: calls at the same time, of which half are challenged. Each status is that
// of the call's own POST, although every client names the POST of another one.
func TestNobodyAnswersForAnother(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			var mu sync.Mutex
			var keys []string // of all POSTs
			server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				time.Sleep(time.Millisecond) // the others come in the meantime
				if strings.Contains(string(req.Params.Arguments), "deny") {
					return nil, fault.Unauthenticated("")
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
			})
			server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { // outside of the chain
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					mu.Lock()
					keys = append(keys, req.GetExtra().Header.Get(exchange.Header))
					mu.Unlock()
					return next(ctx, method, req)
				}
			})
			web := httptest.NewServer(transport.HTTP(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &of.opts), nil))
			defer web.Close()
			var clients sync.WaitGroup
			for i := range 8 {
				clients.Go(func() {
					tap := &wiretap{token: "t", method: middleware.MethodCallTool}
					tap.also = func(h http.Header) {
						mu.Lock()
						defer mu.Unlock()
						h[exchange.Header] = append([]string(nil), keys...)
					}
					session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
						&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: &hostless{tap}}, DisableStandaloneSSE: true}, speak.Version(of.version))
					if err != nil {
						t.Error(err)
						return
					}
					defer session.Close()
					for range 5 {
						args := map[string]any{"please": "go on"}
						if i%2 == 0 {
							args["please"] = "deny"
						}
						_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Arguments: args})
						if denied := i%2 == 0; (err != nil) != denied || (tap.status == 401) != denied || tap.header.Get(exchange.Header) != "" {
							t.Errorf("%d: %v %d %v", i, err, tap.status, tap.header)
						}
					}
				})
			}
			clients.Wait()
		})
	}
}
