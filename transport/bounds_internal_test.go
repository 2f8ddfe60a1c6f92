package transport

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/stretchr/testify/require"
)

// TestAddress: what of an address stands for a caller.
func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1":                "192.0.2.1",
		"192.0.2.1":                  "192.0.2.1", // as handlers that read a proxy's header leave it
		"[::ffff:192.0.2.1]:1":       "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1":   "2001:db8:1:2::/64",
		"2001:db8:1:2::1":            "2001:db8:1:2::/64",
		"[2001:db8:1:2::1%eth0]:443": "2001:db8:1:2::/64",
		"127.0.0.1:1":                "",
		"[::1]:1":                    "",
		"10.1.2.3:1":                 "",
		"192.168.1.1:1":              "",
		"[fd00::1]:1":                "",
		"[fe80::1%eth0]:1":           "",
		"0.0.0.0:1":                  "",
		"@":                          "", // a socket of Unix
		"":                           "",
	} {
		require.Equal(t, want, address(remote), remote)
	}
}

// TestCallerOfABody: whose bytes they are, and that what a client names is no proof of who it is.
func TestCallerOfABody(t *testing.T) {
	l := newLimits(Bounds{})
	l.users.Put("session", "alice")
	req := httptest.NewRequest(http.MethodPost, "/", nil)
	req.Header.Set(sessionHeader, "session")
	require.Equal(t, "192.0.2.1", l.ofBody(req))
	var user string
	auth.RequireBearerToken(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "bob", Expiration: time.Now().Add(time.Hour)}, nil
	}, nil)(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { user = l.ofBody(req) })).ServeHTTP(httptest.NewRecorder(), func() *http.Request {
		req := req.Clone(t.Context())
		req.Header.Set("Authorization", "Bearer x")
		return req
	}())
	require.Equal(t, "user bob", user)
	l.Caller = func(*http.Request) string { return "carol" }
	require.Equal(t, "carol", l.ofBody(req))
	l.Caller = func(*http.Request) string { panic("theirs") }
	require.Empty(t, l.ofBody(req))
}

// TestFilledBounds: no body is larger than all of them may be.
func TestFilledBounds(t *testing.T) {
	require.EqualValues(t, 16<<20, Bounds{}.filled().BodyBytes)
	require.EqualValues(t, 100, Bounds{CallerBytes: 100}.filled().BodyBytes)
	require.EqualValues(t, 100, Bounds{AllBytes: 100, BodyBytes: -1}.filled().BodyBytes)
	require.EqualValues(t, -1, Bounds{AllBytes: -1, CallerBytes: -1, BodyBytes: -1}.filled().BodyBytes)
}
