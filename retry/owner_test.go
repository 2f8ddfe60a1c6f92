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

// overHTTP serves a tool that never succeeds, and returns a function that makes a
// client of it, which calls the tool and returns what it reads.
func overHTTP(t *testing.T, stateless, authenticate bool) func(token string) (call func() string) {
	guidance := retry.New(nil)
	serve := func(*http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, fault.RateLimited("it", time.Second)
			})
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
	return func(token string) func() string {
		client := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: web.URL, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
		}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		return func() string {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
			require.NoError(t, err)
			return harness.Answer{Result: res}.Text()
		}
	}
}

const (
	secondOf3 = "(attempt 2 of 3)"
	thirdOf3  = "(attempt 3 of 3)"
	uncounted = "(3 attempts at most)"
)

// Where callers cannot be told apart, nothing is counted: else one of them could keep
// another from being served.
func TestNobodyIsCountedForAnother(t *testing.T) {
	t.Run("stateless, without authentication", func(t *testing.T) {
		client := overHTTP(t, true, false)
		ann, bob := client(""), client("")
		for range 10 {
			require.Contains(t, ann(), uncounted)
			require.Contains(t, bob(), uncounted)
		}
	})
	t.Run("stateless, with users", func(t *testing.T) {
		client := overHTTP(t, true, true)
		ann, annElsewhere, bob := client("ann"), client("ann"), client("bob")
		require.Contains(t, ann(), secondOf3)
		require.Contains(t, annElsewhere(), thirdOf3)
		for range 10 {
			ann()
		}
		require.Contains(t, annElsewhere(), "so for the next")
		require.Contains(t, bob(), secondOf3)
	})
	t.Run("sessions, without authentication", func(t *testing.T) {
		client := overHTTP(t, false, false)
		ann, bob := client(""), client("")
		require.Contains(t, ann(), secondOf3)
		require.Contains(t, ann(), thirdOf3)
		for range 10 {
			ann()
		}
		require.Contains(t, ann(), "so for the next")
		require.Contains(t, bob(), secondOf3)
	})
	t.Run("sessions, with users", func(t *testing.T) {
		client := overHTTP(t, false, true)
		ann, annElsewhere, bob := client("ann"), client("ann"), client("bob")
		require.Contains(t, ann(), secondOf3)
		require.Contains(t, annElsewhere(), thirdOf3)
		require.Contains(t, bob(), secondOf3)
	})
	t.Run("connections of one server", func(t *testing.T) {
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": limited(time.Second)},
			Middleware: []mcp.Middleware{retry.New(nil)},
		})
		require.Contains(t, s.Call(t, "it").Text(), secondOf3)
		here, there := mcp.NewInMemoryTransports()
		_, err := s.Server.Connect(t.Context(), there, nil)
		require.NoError(t, err)
		other, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), here, nil)
		require.NoError(t, err)
		defer other.Close()
		res, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "it"})
		require.NoError(t, err)
		require.Contains(t, harness.Answer{Result: res}.Text(), secondOf3)
		require.Contains(t, s.Call(t, "it").Text(), thirdOf3)
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
