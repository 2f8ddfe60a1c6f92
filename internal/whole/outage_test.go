package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestAnOutageDoesNotMultiplyItself: when every call of every tool fails for everybody, a server is asked
// for its tools once a second for each caller and each page, whichever tools they call, and not once more
// for each call. The next second shows what a tool has become.
func TestAnOutageDoesNotMultiplyItself(t *testing.T) {
	const tools, calls = 1000, 12
	clients := 16
	if soaking() {
		clients = 128
	}
	for name, c := range map[string]struct {
		audit bool
		err   error
		lists int // of each caller
	}{
		"unknown errors":                {err: errors.New("the disk is on fire"), lists: 1},
		"unknown errors, audited":       {audit: true, err: errors.New("the disk is on fire"), lists: 2}, // outside of filters, and inside of them
		"steps":                         {err: fault.Unavailable("the bank").WithRetry(fault.Retry{}).Step("Look at another one", toolOf(7), nil), lists: 1},
		"steps that nobody may take":    {err: fault.Unavailable("the bank").WithRetry(fault.Retry{}).Step("Look", "hidden-1", nil).Step("Look again", "hidden-2", nil), lists: 1},
		"nothing hangs on what it does": {err: fault.Invalid("a", "an integer", "x")},
		"successes, audited":            {audit: true, lists: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lists atomic.Int64
				server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
				add := func(i int, a *mcp.ToolAnnotations) {
					server.AddTool(&mcp.Tool{Name: toolOf(i), Annotations: a, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						if c.err != nil {
							return nil, c.err
						}
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
					})
				}
				for i := range tools {
					add(i, nil)
				}
				opts := &mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}
				if c.audit {
					opts.Audit = audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil)})
				}
				server.AddReceivingMiddleware(mcpchain.Standard(opts), func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if method == "tools/list" && middleware.IsLookup(ctx) {
							lists.Add(1)
						}
						return next(ctx, method, req)
					}
				})
				sessions := make([]*mcp.ClientSession, clients)
				for i := range sessions {
					ours, theirs := mcp.NewInMemoryTransports()
					_, err := server.Connect(t.Context(), ours, nil)
					require.NoError(t, err)
					sessions[i], err = mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), theirs, nil)
					require.NoError(t, err)
					defer func() { _ = sessions[i].Close() }()
				}
				for second := range 2 {
					var all sync.WaitGroup
					for i, session := range sessions {
						all.Go(func() {
							for n := range calls {
								_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: toolOf((i*389 + n*7 + second) % tools)})
								if err != nil {
									t.Error(err)
								}
							}
						})
					}
					all.Wait()
					require.EqualValues(t, clients*c.lists*(second+1), lists.Load())
					time.Sleep(table.Lasts)
				}
				if name != "unknown errors" {
					return
				}
				says := func(session *mcp.ClientSession, want string, holds bool) {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: toolOf(999)})
					require.NoError(t, err)
					text, ok := res.Content[0].(*mcp.TextContent)
					require.True(t, ok)
					require.Equal(t, holds, strings.Contains(text.Text, want), text.Text)
				}
				const reads = "One more try does no harm"
				says(sessions[0], reads, false)
				add(999, &mcp.ToolAnnotations{ReadOnlyHint: true})
				time.Sleep(table.Lasts)
				says(sessions[1], reads, true)
			})
		})
	}
}

func toolOf(i int) string { return fmt.Sprintf("tool-%04d", i) }

// TestWrongArgumentsAskOnceASecond: a tool's schema is remembered as what it does is. One that was replaced
// is asked for at once where the old one would take the arguments, and within a second in any case.
func TestWrongArgumentsAskOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		add := func(typ string) {
			mcp.AddTool(server, &mcp.Tool{Name: "it", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"` + typ + `"}}}`)},
				func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
					return nil, nil, nil
				})
		}
		add("integer")
		server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}), func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" && middleware.IsLookup(ctx) {
					lists++
				}
				return next(ctx, method, req)
			}
		})
		ours, theirs := mcp.NewInMemoryTransports()
		_, err := server.Connect(t.Context(), ours, nil)
		require.NoError(t, err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), theirs, nil)
		require.NoError(t, err)
		defer func() { _ = session.Close() }()
		says := func(value any, want string) {
			t.Helper()
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "it", Arguments: map[string]any{"a": value}})
			require.NoError(t, err)
			text, ok := res.Content[0].(*mcp.TextContent)
			require.True(t, ok)
			require.Contains(t, text.Text, want)
		}
		for i := range 10 {
			says(fmt.Sprint("five", i), "expected an integer")
		}
		require.Equal(t, 1, lists)
		time.Sleep(table.Lasts)
		says("five", "expected an integer")
		require.Equal(t, 2, lists)

		add("string")
		says(5, "expected a string") // the old one takes it
		require.Equal(t, 3, lists)
		add("boolean")
		time.Sleep(table.Lasts)
		says("x", "expected true or false")
		says("y", "expected true or false")
		require.Equal(t, 4, lists)
	})
}
