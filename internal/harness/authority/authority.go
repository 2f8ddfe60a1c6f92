// Package authority is an OAuth authorization server for tests, as small as clients accept it: it
// lets everybody in, and grants every scope that is asked for.
package authority

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The client that the Authority knows.
const (
	ClientID = "client"
	Secret   = "client-secret"
)

// An Authority gives tokens. All methods may be called concurrently.
type Authority struct {
	URL string

	mu     sync.Mutex
	tokens map[string]*auth.TokenInfo
	ended  map[string]bool
	asked  []string // the scopes of each token
}

// New starts an Authority that lasts as long as the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{tokens: map[string]*auth.TokenInfo{}, ended: map[string]bool{}}
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	a.URL = web.URL
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "client_credentials"},
			"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
		})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		scope := r.FormValue("scope")
		if code := r.FormValue("code"); code != "" {
			scope, _ = url.QueryUnescape(code)
		}
		reply(w, map[string]any{"access_token": a.Token(strings.Fields(scope)...), "token_type": "Bearer", "expires_in": 3600, "scope": scope})
	})
	return a
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

// Token gives a token.
func (a *Authority) Token(scopes ...string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	token := rand.Text()
	a.tokens[token] = &auth.TokenInfo{UserID: "ada", Scopes: scopes, Expiration: time.Now().Add(time.Hour), Extra: map[string]any{"token": token}}
	a.asked = append(a.asked, strings.Join(scopes, " "))
	return token
}

// Asked returns the scopes of each token that was given, in their order.
func (a *Authority) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// Verify is an [auth.TokenVerifier]. It does not know of Expire, like one that keeps what it has verified.
func (a *Authority) Verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if info := a.tokens[token]; info != nil {
		return info, nil
	}
	return nil, auth.ErrInvalidToken
}

// Expire ends all tokens.
func (a *Authority) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for token := range a.tokens {
		a.ended[token] = true
	}
}

// Revoke makes Verify refuse all tokens.
func (a *Authority) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.tokens)
}

// Expired reports whether Expire has ended a token since it was given.
func (a *Authority) Expired(info *auth.TokenInfo) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	token, _ := info.Extra["token"].(string)
	return a.ended[token]
}

// Fetch is an [auth.AuthorizationCodeFetcher] of a user who agrees to everything.
func (a *Authority) Fetch(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil {
		return nil, err
	}
	return &auth.AuthorizationResult{Code: url.QueryEscape(u.Query().Get("scope")), State: u.Query().Get("state")}, nil
}

// Metadata returns a handler of the metadata of a protected resource that trusts the Authority.
func (a *Authority) Metadata(resource string, scopes ...string) http.Handler {
	return auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: resource, AuthorizationServers: []string{a.URL}, ScopesSupported: scopes,
	})
}
