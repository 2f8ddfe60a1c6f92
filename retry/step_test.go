package retry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/retry"
)

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
