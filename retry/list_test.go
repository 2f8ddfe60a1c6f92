package retry_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/retry"
)

// TestAnItemIsToldAsACall: what an item failed with says no more of it than the same call alone, with guidance of its
// own or without, and whatever a rule makes of it.
func TestAnItemIsToldAsACall(t *testing.T) {
	limited := upstream{7 * time.Second}
	for name, tc := range map[string]struct {
		err   error
		rules []mask.Rule
		again bool
	}{
		"an answer of a service":     {err: limited},
		"a rule":                     {err: errElse, rules: []mask.Rule{mask.Is(errElse, fault.RateLimited("the API", 3*time.Second))}},
		"a fault around an error":    {err: fault.Unavailable("the bank").Because(errReset)},
		"a fault without an error":   {err: fault.Unavailable("the bank").After(time.Minute), again: true},
		"an error that nobody knows": {err: errElse},
	} {
		t.Run(name, func(t *testing.T) {
			for _, guided := range []bool{true, false} {
				log := harness.NewLog(100)
				mw := []mcp.Middleware{
					mask.New(&mask.Options{Logger: log.Logger(), Rules: tc.rules}),
					batch.New(&batch.Options{Lists: []batch.List{{Tool: "it", Item: "word", As: "them"}}}),
				}
				if guided {
					mw = append(mw, retry.New(nil))
				}
				s := harness.Start(t, rawAt, harness.Setup{Middleware: mw, More: func(server *mcp.Server) {
					mcp.AddTool(server, &mcp.Tool{Name: "it"}, func(context.Context, *mcp.CallToolRequest, struct {
						Word string `json:"word"`
					}) (*mcp.CallToolResult, any, error) {
						return nil, nil, tc.err
					})
				}})
				answer := s.CallTool(t.Context(), "them", map[string]any{"words": []string{"a"}})
				text := answer.Text()
				require.Equal(t, tc.again, strings.Contains(text, "Retry: yes"), text)
				require.Equal(t, tc.again, strings.Contains(text, "retry_items"), text)
				if tc.again {
					require.Contains(t, text, "after 60 s")
				}
			}
		})
	}
}

// TestARedirectedAnswerIsNotTheCallers: the status behind a redirect of a POST is about another resource than the one
// that the caller named.
func TestARedirectedAnswerIsNotTheCallers(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/receipt", http.StatusSeeOther)
			return
		}
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(service.Close)
	s := annotated(t, nil, nil, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, service.URL+"/pay", strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		return nil, retry.FromResponse(resp)
	})
	answer := s.Call(t, "it")
	require.Equal(t, fault.KindServerError, answer.Fault().Kind(), answer.Text())
	require.Equal(t, fault.PartyUpstream, answer.Fault().Party())
	require.NotContains(t, answer.Text(), "Retry: ")
}

// TestARefusalRemembersTheEffect: a call that is refused because it failed too often says that it may have taken effect.
func TestARefusalRemembersTheEffect(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"not known": {fault.New(fault.KindServerError, "the answer was lost").WithRetry(fault.Retry{Effect: fault.EffectUnknown}), true},
		"committed": {fault.New(fault.KindServerError, "the receipt was lost").WithRetry(fault.Retry{Effect: fault.EffectCommitted}), true},
		"nobody":    {errElse, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := annotated(t, nil, nil, harness.Fail(tc.err))
			for range 6 {
				s.Call(t, "it")
			}
			text := s.Call(t, "it").Text()
			require.Contains(t, text, "this exact call has failed 6 times")
			require.Equal(t, tc.want, strings.Contains(text, "It may have taken effect: look before you go on."), text)
		})
	}
}
