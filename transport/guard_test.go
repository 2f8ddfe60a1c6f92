package transport_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/exchange"
	"github.com/mcpchain/mcpchain/transport"
)

const (
	ours   = "https://a.example/.well-known/oauth-protected-resource"
	theirs = "https://b.example/.well-known/oauth-protected-resource"
)

// ask sends a request with a header Authorization and returns the status and the challenges.
func ask(t *testing.T, handler http.Handler, method, path, authorization string) (status int, challenges []string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "http://evil.example"+path, strings.NewReader("{}"))
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	_, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, w.Header()["Www-Authenticate"]
}

// TestGuards: the challenge of the SDK's guard gets what it leaves out.
func TestGuards(t *testing.T) {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		switch token {
		case "narrow":
			return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
		case "old":
			return &auth.TokenInfo{Expiration: time.Now().Add(-time.Hour), Scopes: []string{"a", "b"}}, nil
		case "broken":
			return nil, errors.New("the database is down")
		}
		return nil, auth.ErrInvalidToken
	}
	all := &auth.RequireBearerTokenOptions{ResourceMetadataURL: theirs, Scopes: []string{"a", "b"}}
	const at = `resource_metadata="`
	for name, tc := range map[string]struct {
		guard         *auth.RequireBearerTokenOptions
		metadata      string
		authorization string
		status        int
		want          string
	}{
		"no token":                        {all, "", "", 401, `Bearer ` + at + theirs + `", scope="a b"`},
		"another scheme":                  {all, "", "Basic YTpi", 401, `Bearer ` + at + theirs + `", scope="a b"`},
		"an empty token":                  {all, "", "Bearer ", 401, `Bearer ` + at + theirs + `", scope="a b"`},
		"a wrong token":                   {all, ours, "Bearer x", 401, `Bearer ` + at + theirs + `", scope="a b", error="invalid_token"`},
		"an expired one":                  {all, ours, "bearer old", 401, `Bearer ` + at + theirs + `", scope="a b", error="invalid_token"`},
		"a narrow one":                    {all, "", "Bearer narrow", 403, `Bearer ` + at + theirs + `", scope="a b", error="insufficient_scope"`},
		"scopes only":                     {&auth.RequireBearerTokenOptions{Scopes: []string{"a"}}, ours, "Bearer x", 401, `Bearer scope="a", error="invalid_token", ` + at + ours + `"`},
		"no options":                      {nil, "", "Bearer x", 401, `Bearer error="invalid_token"`},
		"no options, with metadata":       {nil, ours, "Bearer x", 401, `Bearer error="invalid_token", ` + at + ours + `"`},
		"no options, no token":            {nil, "", "", 401, `Bearer`},
		"no options, no token, with them": {nil, ours, "", 401, `Bearer ` + at + ours + `"`},
		"it cannot be known":              {all, ours, "Bearer broken", 500, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inside := auth.RequireBearerToken(verify, tc.guard)(http.NotFoundHandler())
			handler := transport.HTTP(inside, &transport.Options{ResourceMetadata: tc.metadata, Logger: slog.New(slog.DiscardHandler)})
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				status, got := ask(t, handler, method, "/mcp", tc.authorization)
				require.Equal(t, tc.status, status)
				require.Equal(t, tc.want, strings.Join(got, "|"))
				_, err := oauthex.ParseWWWAuthenticate(got)
				require.NoError(t, err)
			}
		})
	}
}

// TestOtherGuards: what is complete, cannot be read or is of another scheme stays.
func TestOtherGuards(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		have   []string
		want   []string
	}{
		"complete":             {401, []string{`Bearer error="expired", ` + `resource_metadata="` + theirs + `"`}, nil},
		"another scheme":       {401, []string{`Basic realm="x"`}, nil},
		"two in one line":      {401, []string{`Basic realm="x", Bearer realm="y"`}, nil},
		"two lines":            {401, []string{`Basic realm="x"`, `Bearer realm="y"`}, []string{`Basic realm="x"`, `Bearer realm="y", error="invalid_token", resource_metadata="` + ours + `"`}},
		"broken":               {401, []string{`Bearer realm`}, nil},
		"broken quotes":        {401, []string{`Bearer realm="x`}, nil},
		"no challenge in 403":  {403, nil, nil},
		"403 about no scope":   {403, []string{`Bearer resource_metadata="` + theirs + `"`}, nil},
		"a challenge in a 200": {200, []string{`Bearer realm="x"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			handler := transport.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for _, line := range tc.have {
					w.Header().Add("WWW-Authenticate", line)
				}
				w.WriteHeader(tc.status)
			}), &transport.Options{ResourceMetadata: ours})
			if tc.want == nil {
				tc.want = tc.have
			}
			_, got := ask(t, handler, http.MethodPost, "/", "Bearer x")
			require.Equal(t, tc.want, got)
		})
	}
}

// TestWhereTheMetadataIs: it is the guard that says so, of the very request; nothing is kept for another.
func TestWhereTheMetadataIs(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, returns(fault.Unauthenticated("")))
	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}))
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true})
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	inside := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := map[string]string{"/a": ours, "/b": theirs, "/host": "https://" + r.Host + "/x", "/broken": "https://a.example/\"x"}[r.URL.Path]
		switch {
		case r.URL.Path == "/open":
			serve.ServeHTTP(w, r)
		case r.Method == http.MethodHead && r.URL.Path == "/panics":
			panic("a guard")
		case r.Method == http.MethodHead && (r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || r.Header.Get(exchange.Header) != "" || r.ContentLength != 0):
			t.Error(r.Header)
		default:
			auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: at})(serve).ServeHTTP(w, r)
		}
	})
	handler := transport.HTTP(inside, nil)
	call := func(host, path string) string {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+path,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it","arguments":{}}}`))
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
			"Authorization": {"Bearer x"}, "Cookie": {"a=b"}, exchange.Header: {"guessed"},
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		require.Equal(t, http.StatusUnauthorized, w.Code, w.Body.String())
		return strings.TrimPrefix(w.Header().Get("WWW-Authenticate"), `Bearer error="invalid_token"`)
	}
	for range 2 {
		require.Equal(t, `, resource_metadata="`+ours+`"`, call("evil.example", "/a"))
		require.Equal(t, `, resource_metadata="`+theirs+`"`, call("evil.example", "/b"))
		require.Equal(t, `, resource_metadata="https://evil.example/x"`, call("evil.example", "/host"), "as its own guard says to who sends that")
		require.Equal(t, `, resource_metadata="https://good.example/x"`, call("good.example", "/host"), "another one reads nothing of it")
		for _, path := range []string{"/none", "/open", "/panics", "/broken"} {
			require.Empty(t, call("evil.example", path), path)
		}
	}
}

func TestResourceMetadataIsAURL(t *testing.T) {
	for _, broken := range []string{"x", "/a", "ftp://a.example/x", "https:///x", `https://a.example/"x`, "https://a.example/ x", "https://a.example/\nx", "https://a.example/ü"} {
		require.PanicsWithValue(t, "transport.HTTP: Options.ResourceMetadata is not an absolute URL; give that of the metadata, such as https://example.com/.well-known/oauth-protected-resource/mcp",
			func() { transport.HTTP(http.NotFoundHandler(), &transport.Options{ResourceMetadata: broken}) }, broken)
	}
	transport.HTTP(http.NotFoundHandler(), &transport.Options{ResourceMetadata: ours})
}
