package retry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/retry"
)

// sqlState is the error of a driver of PostgreSQL.
type sqlState string

func (e sqlState) Error() string    { return "ERROR: canceling statement (SQLSTATE " + string(e) + ")" }
func (e sqlState) SQLState() string { return string(e) }

// answered counts the requests of a service, and refuses those to /limited.
func answered(t *testing.T) (service *httptest.Server, orders *int) {
	orders = new(int)
	service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/limited":
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/half":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		default:
			*orders++
		}
	}))
	t.Cleanup(service.Close)
	return service, orders
}

// What had been done before the step that failed is not undone by its failure: the last error of a handler does
// not say that the call changed nothing, nor that it may be made again.
func TestWhatWasDoneBeforeTheStepThatFailed(t *testing.T) {
	service, orders := answered(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	send := func(ctx context.Context, url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("order: %w", err)
		}
		if err := retry.FromResponse(resp); err != nil {
			return err
		}
		return resp.Body.Close()
	}
	destroys := true
	for name, last := range map[string]func(ctx context.Context) error{
		"a statement that took too long":      func(context.Context) error { return sqlState("57014") }, // begin; insert; commit; set statement_timeout; pg_sleep
		"two transactions that collided":      func(context.Context) error { return sqlState("40001") },
		"a second connection that is refused": func(ctx context.Context) error { return send(ctx, closed) },
		"a limit":                             func(ctx context.Context) error { return send(ctx, service.URL+"/limited") },
	} {
		for tool, a := range map[string]*mcp.ToolAnnotations{
			"not annotated": nil, "destroys": {DestructiveHint: &destroys}, "adds": additive, "titled": {Title: "Order"},
		} {
			t.Run(name+"/"+tool, func(t *testing.T) {
				*orders = 0
				s := annotated(t, a, nil, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
					require.NoError(t, send(ctx, service.URL)) // the write that took effect
					return nil, last(ctx)
				})
				got := s.Call(t, "it")
				require.Equal(t, 1, *orders)
				require.NotContains(t, got.Text(), "Nothing was changed by this call")
				require.NotContains(t, got.Text(), "Retry:")
				require.NotContains(t, got.Text(), "changed nothing")
				require.NotContains(t, got.Text(), "effect")
				require.Equal(t, name == "a limit", strings.Contains(got.Text(), "\nThe service asks to wait 30 s.\n"))
				if name == "a limit" {
					require.Equal(t, map[string]any{"retry_after_seconds": 30.0}, got.Machine()["retry"])
				} else {
					require.NotContains(t, got.Machine(), "retry")
				}

				// Nor does the server make the call again.
				*orders = 0
				harness.Call(t, rawAt, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
					require.NoError(t, send(ctx, service.URL))
					return nil, last(ctx)
				}, retry.New(nil), retry.Server(nil))
				require.Equal(t, 1, *orders)
			})
		}
	}
}

// A body that ends in the middle is a connection that was lost.
func TestHalfOfAnAnswer(t *testing.T) {
	service, _ := answered(t)
	half := func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, service.URL+"/half", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		_, err = io.ReadAll(resp.Body)
		return nil, fmt.Errorf("reading: %w", err)
	}
	require.Contains(t, shown(annotated(t, readOnly, nil, half).Call(t, "it").Text()), "\nRetry: yes, after W (attempt 2 of 3).")
	text := annotated(t, nil, nil, half).Call(t, "it").Text()
	require.NotContains(t, text, "effect")
	require.NotContains(t, text, "Retry:")
}

// Where nothing is counted a masked failure says what ends a loop.
func TestWhoIsNotCounted(t *testing.T) {
	nobody := &retry.Options{Owner: func(context.Context, mcp.Request) string { return "" }}
	for name, err := range map[string]error{"unknown": errCanary, "a service": errReset} {
		for tool, a := range map[string]*mcp.ToolAnnotations{"not annotated": nil, "reads": readOnly, "adds": additive} {
			t.Run(name+"/"+tool, func(t *testing.T) {
				s := annotated(t, a, nobody, harness.Fail(err))
				for range 5 {
					text := s.Call(t, "it").Text()
					suggestion := "\nSuggestion: Tell the user if it fails again.\n"
					if name == "a service" && tool == "reads" {
						suggestion = "\nSuggestion: Keep the arguments: they are not the cause. Tell the user if it fails again.\n"
					}
					require.Contains(t, text, suggestion)
				}
				counted := annotated(t, a, nil, harness.Fail(err))
				require.NotContains(t, counted.Call(t, "it").Text(), "if it fails again")
			})
		}
	}
	worded := harness.Start(t, rawAt, harness.Setup{
		Handlers:   map[string]harness.Handler{"it": harness.Tell()},
		Middleware: chain(harness.NewLog(slog.LevelError+1), nobody),
	})
	require.Equal(t, harness.ToldText, worded.Call(t, "it").Text(), "the words of a tool stay as they are")
}
