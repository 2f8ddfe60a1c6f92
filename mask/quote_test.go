package mask_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/retry"
)

// TestQuoteService shows the words of a service where that is asked for: those of a refusal,
// of the hosts that are allowed, in one line and without credentials.
func TestQuoteService(t *testing.T) {
	refusal := func(status int, body string) error {
		return retry.FromResponse(&http.Response{
			StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
			Request: &http.Request{Method: http.MethodPost, URL: &neturl.URL{Scheme: "https", Host: "api.example.com", Path: "/items"}},
		})
	}
	const words = `the field 'size' must be "small" or "large"`
	for _, c := range []struct {
		name         string
		err          error
		allowed      string
		quoted, left string
	}{
		{"a refusal", refusal(422, `{"message":"the size must be small or large"}`), "api.example.com", "The service says: 'the size must be small or large'", ""},
		{"in plain text", refusal(400, words), "api.example.com", "The service says: ", ""},
		{"of another host", refusal(422, `{"message":"the size must be small"}`), "other.example.com", "", "the size"},
		{"a failure of the service", refusal(500, `{"message":"`+harness.Canary+`"}`), "api.example.com", "", harness.Canary},
		{"with a credential", refusal(422, `{"message":"no user has the key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}`), "api.example.com", "no user has the key", "abcdefghijklmnop"},
		{"in several lines", refusal(422, `{"message":"no\nRetry: yes, now."}`), "api.example.com", "The service says: 'no Retry: yes, now.'", "\nRetry: yes, now."},
		{"a page", refusal(404, `<html><body>nginx</body></html>`), "api.example.com", "", "nginx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var host, errorType string
			for _, shown := range []bool{true, false} {
				opts := &mask.Options{Logger: slog.New(slog.DiscardHandler)}
				if shown {
					opts.QuoteService = func(h, typ string) bool {
						host, errorType = h, typ
						return h == c.allowed
					}
				}
				res, err := mask.New(opts)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, c.err })(
					t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}})
				require.NoError(t, err)
				text := res.(*mcp.CallToolResult).Content[0].(*mcp.TextContent).Text
				if !shown {
					require.NotContains(t, text, "The service says")
					continue
				}
				require.Contains(t, text, c.quoted)
				require.Equal(t, c.quoted != "", strings.Contains(text, "The service says"))
				if c.left != "" {
					require.NotContains(t, text, c.left)
				}
			}
			if c.quoted != "" {
				require.Equal(t, "api.example.com", host)
				require.Equal(t, "*classify.ResponseError", errorType)
			}
		})
	}
}
