package retry_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
)

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	if b != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(req)
}

// overHTTP serves two tools that never succeed: "it", and "gone", whose failure does not pass. It returns a
// function that makes a client, which calls a tool and returns what it reads.
func overHTTP(t *testing.T, stateless, authenticate bool) func(token string) (call func(tool string) string) {
	guidance := retry.New(nil)
	serve := func(*http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		for name, err := range map[string]error{"it": fault.RateLimited("it", time.Second), "gone": fault.NotFound("file", "x")} {
			server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err })
		}
		server.AddReceivingMiddleware(guidance) // one for the servers of all requests
		return server
	}
	var handler http.Handler = mcp.NewStreamableHTTPHandler(serve, &mcp.StreamableHTTPOptions{
		Stateless: stateless, Logger: slog.New(slog.DiscardHandler),
	})
	if authenticate {
		handler = auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
		}, nil)(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return func(token string) func(string) string {
		client := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: web.URL, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
		}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		return func(tool string) string {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			require.NoError(t, err)
			return harness.Answer{Result: res}.Text()
		}
	}
}

const (
	second    = "(attempt 2)"
	third     = "(attempt 3)"
	uncounted = "Retry: yes, after 1 s."
)

// Where callers cannot be told apart, nothing is counted: else one of them could keep
// another from being served.
func TestNobodyIsCountedForAnother(t *testing.T) {
	t.Run("stateless, without authentication", func(t *testing.T) {
		client := overHTTP(t, true, false)
		ann, bob := client(""), client("")
		for range 10 {
			require.Contains(t, ann("it"), uncounted)
			require.Contains(t, bob("it"), uncounted)
		}
	})
	t.Run("stateless, with users", func(t *testing.T) {
		client := overHTTP(t, true, true)
		ann, annElsewhere, bob := client("ann"), client("ann"), client("bob")
		require.Contains(t, ann("it"), second)
		require.Contains(t, annElsewhere("it"), third)
		for range 6 {
			require.Contains(t, ann("gone"), "Not found")
		}
		require.Contains(t, annElsewhere("gone"), "so it is not made for the next")
		require.Contains(t, bob("gone"), "Not found")
		require.Contains(t, bob("it"), second)
	})
	t.Run("sessions, without authentication", func(t *testing.T) {
		client := overHTTP(t, false, false)
		ann, bob := client(""), client("")
		require.Contains(t, ann("it"), second)
		require.Contains(t, ann("it"), third)
		for range 6 {
			require.Contains(t, ann("gone"), "Not found")
		}
		require.Contains(t, ann("gone"), "so it is not made for the next")
		require.Contains(t, bob("gone"), "Not found")
		require.Contains(t, bob("it"), second)
	})
	t.Run("sessions, with users", func(t *testing.T) {
		client := overHTTP(t, false, true)
		ann, annElsewhere, bob := client("ann"), client("ann"), client("bob")
		require.Contains(t, ann("it"), second)
		require.Contains(t, annElsewhere("it"), third)
		require.Contains(t, bob("it"), second)
	})
	t.Run("connections of one server", func(t *testing.T) {
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": limited(time.Second)},
			Middleware: []mcp.Middleware{retry.New(nil)},
		})
		require.Contains(t, s.Call(t, "it").Text(), second)
		here, there := mcp.NewInMemoryTransports()
		_, err := s.Server.Connect(t.Context(), there, nil)
		require.NoError(t, err)
		other, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), here, nil)
		require.NoError(t, err)
		defer other.Close()
		res, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
		require.NoError(t, err)
		require.Contains(t, harness.Answer{Result: res}.Text(), second)
		require.Contains(t, s.Call(t, "it").Text(), third)
	})
}

// An authenticated caller of whom nobody knows who it is cannot be counted: that is
// recorded once.
func TestACallerWithoutAUserID(t *testing.T) {
	log := harness.NewLog(slog.LevelWarn)
	handler := middleware.Chain(mask.New(&mask.Options{Logger: log.Logger()}), retry.New(nil))(
		func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, fault.RateLimited("it", time.Second)
		})
	for range 3 {
		res, err := handler(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{
			Params: &mcp.CallToolParamsRaw{Name: "it"}, Session: &mcp.ServerSession{},
			Extra: &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{}, Header: http.Header{}},
		})
		require.NoError(t, err)
		require.Contains(t, harness.Answer{Result: res}.Text(), uncounted)
	}
	record := log.Only(t)
	require.Equal(t, "WARN", record["level"])
	require.Contains(t, record["msg"], "has no user ID")
}
