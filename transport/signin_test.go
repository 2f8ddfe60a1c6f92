package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness/authority"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestClientsSignInAgain: the token of the SDK's own client expires in the middle of a session, inside
// a tool and at the guard, and lacks a scope. Each time the call succeeds, and nothing is seen of it.
func TestClientsSignInAgain(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			a := authority.New(t)
			notes := authority.Serve(t, a, of.opts)
			handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
				PreregisteredClient: &oauthex.ClientCredentials{ClientID: authority.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: authority.Secret}},
				RedirectURL:         "http://127.0.0.1/callback", AuthorizationCodeFetcher: a.Fetch,
			})
			require.NoError(t, err)
			tap := &hostless{&wiretap{method: middleware.MethodCallTool}}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: notes.URL, HTTPClient: &http.Client{Transport: tap}, OAuthHandler: handler, DisableStandaloneSSE: true,
			}, speak.Version(of.version))
			require.NoError(t, err)
			keyed := func(tool, key string, posts int) {
				t.Helper()
				tap.calls = 0
				params := &mcp.CallToolParams{Name: tool}
				if key != "" {
					params.Meta = mcp.Meta{"io.modelcontextprotocol/idempotencyKey": key}
				}
				res, err := session.CallTool(t.Context(), params)
				require.NoError(t, err)
				require.False(t, res.IsError)
				require.Equal(t, "done", res.Content[0].(*mcp.TextContent).Text)
				require.Equal(t, posts, tap.calls)
			}
			call := func(tool string, posts int) {
				t.Helper()
				keyed(tool, "", posts)
			}
			call("read_note", 1)
			a.Expire()
			call("read_note", 2) // the tool asked for a new token
			call("read_note", 1)
			call("write_note", 2) // for one more scope
			call("write_note", 1)
			call("read_note", 1) // the others are still there
			a.Expire()
			keyed("write_note", "k", 2) // the refusal is not the answer that the key keeps
			keyed("write_note", "k", 1) // the success is
			a.Revoke()
			call("read_note", 2) // the guard asked
			require.NoError(t, session.Close())
			require.EqualValues(t, 5, notes.Reads.Load())
			require.EqualValues(t, 3, notes.Written.Load())
			require.Equal(t, "notes:read", a.Asked()[0])
			require.ElementsMatch(t, []string{"notes:read", "notes:write"}, strings.Fields(a.Asked()[2]))
			require.Len(t, a.Asked(), 5)
		})
	}
}
