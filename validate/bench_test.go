package validate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/validate"
)

var (
	good     = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}
	goodCall = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it", Arguments: json.RawMessage(`{"a":1}`)}}
)

func succeed(context.Context, string, mcp.Request) (mcp.Result, error) { return good, nil }

// TestSuccessCostsNothing: beside the Call, which the first middleware of any chain
// opens, nothing is allocated.
func TestSuccessCostsNothing(t *testing.T) {
	if harness.Racing {
		t.Skip("a pool forgets at random")
	}
	alone := middleware.Render(nil)(succeed)
	with := middleware.Chain(middleware.Render(nil), validate.New(nil))(succeed)
	allocs := func(h mcp.MethodHandler) float64 {
		return testing.AllocsPerRun(1000, func() { _, _ = h(context.Background(), middleware.MethodCallTool, goodCall) })
	}
	require.Equal(t, int(allocs(alone)), int(allocs(with)))
}

func BenchmarkSuccess(b *testing.B) {
	for name, h := range map[string]mcp.MethodHandler{
		"without": middleware.Render(nil)(succeed),
		"with":    middleware.Chain(middleware.Render(nil), validate.New(nil))(succeed),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(context.Background(), middleware.MethodCallTool, goodCall); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInvalid is a whole call of eight fields that are all wrong, between a
// client and a server in one process.
func BenchmarkInvalid(b *testing.B) {
	properties, args := map[string]any{}, map[string]any{}
	for i := range 8 {
		properties[fmt.Sprintf("field%d", i)] = map[string]any{"type": "integer", "minimum": 1}
		args[fmt.Sprintf("field%d", i)] = "x"
	}
	for name, mw := range map[string]mcp.Middleware{
		"without": middleware.Render(nil), "with": validate.New(nil),
	} {
		b.Run(name, func(b *testing.B) {
			s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object", "properties": properties}},
				func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
					return nil, nil, nil
				})
			s.AddReceivingMiddleware(mw)
			client := connect(b, s)
			b.ReportAllocs()
			for b.Loop() {
				if res, err := client.CallTool(b.Context(), &mcp.CallToolParams{Name: "it", Arguments: args}); err != nil || !res.IsError {
					b.Fatal(res, err)
				}
			}
		})
	}
}

// BenchmarkPrompt is a whole prompts/get of a server of ten prompts, with the
// lookup and without.
func BenchmarkPrompt(b *testing.B) {
	for name, options := range map[string]*validate.Options{"checked": {StrictPrompts: true}, "not checked": nil} {
		b.Run(name, func(b *testing.B) {
			s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
			for i := range 10 {
				s.AddPrompt(&mcp.Prompt{Name: fmt.Sprintf("p%d", i), Arguments: []*mcp.PromptArgument{{Name: "a", Required: true}}},
					func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
						return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
					})
			}
			s.AddReceivingMiddleware(validate.New(options))
			client := connect(b, s)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.GetPrompt(b.Context(), &mcp.GetPromptParams{Name: "p7", Arguments: map[string]string{"a": "b"}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func connect(tb testing.TB, s *mcp.Server) *mcp.ClientSession {
	tb.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := s.Connect(tb.Context(), here, nil)
	require.NoError(tb, err)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(tb.Context(), there, nil)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_ = client.Close()
		_ = server.Wait()
	})
	return client
}
