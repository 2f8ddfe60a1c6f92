package whole_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// TestRewrittenErrorsStayHidden: a middleware of the program's own that rewrites the text of a failed typed
// tool does not make it a text for the caller.
func TestRewrittenErrorsStayHidden(t *testing.T) {
	text := func(change func(string) string) func(r *mcp.CallToolResult) {
		return func(r *mcp.CallToolResult) {
			r.Content = []mcp.Content{&mcp.TextContent{Text: change(r.Content[0].(*mcp.TextContent).Text)}}
		}
	}
	for name, change := range map[string]func(r *mcp.CallToolResult){
		"capitals":   text(strings.ToUpper),
		"cut":        text(func(s string) string { return s[:len(s)-3] + "..." }),
		"head cut":   text(func(s string) string { return s[3:] }),
		"quoted":     text(func(s string) string { return fmt.Sprintf("%q", s) }),
		"escaped":    text(html.EscapeString),
		"joined":     text(func(s string) string { return strings.Join(strings.Fields(s), " ") }),
		"a sentence": text(func(s string) string { return "It failed: " + s + "." }),
		"two blocks": func(r *mcp.CallToolResult) {
			s := r.Content[0].(*mcp.TextContent).Text
			r.Content = []mcp.Content{&mcp.TextContent{Text: s[:9]}, &mcp.TextContent{Text: s[9:]}}
		},
		"another error around it": func(r *mcp.CallToolResult) { r.SetError(fmt.Errorf("outer: %w", r.GetError())) },
		"one block more":          func(r *mcp.CallToolResult) { r.Content = append(r.Content, &mcp.TextContent{Text: "P.S."}) },
	} {
		t.Run(name, func(t *testing.T) {
			rewrite := func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					if r, ok := res.(*mcp.CallToolResult); ok && r != nil && r.IsError {
						other := *r
						change(&other)
						return &other, err
					}
					return res, err
				}
			}
			s := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, harness.Setup{
				Handlers:   map[string]harness.Handler{"it": harness.Fail(errors.New("row \"7\" <of>\nthe " + canary + " table at step nine"))},
				Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: quiet()}, rewrite)},
			})
			got := s.Call(t, "it")
			require.Contains(t, got.Text(), "Internal error: ")
			require.NotContains(t, strings.ToLower(s.Sent()), canary)
		})
	}
}
