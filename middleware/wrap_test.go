package middleware_test

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestWrapOfEachKind has each handler that Wrap is for answer once and panic once. In the current
// era the SDK calls those of a client outside of its middlewares, and sends no subscriptions.
func TestWrapOfEachKind(t *testing.T) {
	mw := []middleware.Middleware{mcprecover.New(nil), mask.New(nil)}
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		for _, tools := range []bool{false, true} {
			t.Run(string(era), func(t *testing.T) {
				var panics bool
				entered := 0
				enter := func() {
					entered++
					if panics {
						panic(harness.Canary)
					}
				}
				client := &mcp.ClientOptions{
					ElicitationHandler: middleware.Wrap(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						enter()
						return &mcp.ElicitResult{Action: "accept"}, nil
					}, mw...),
				}
				var sampling mcp.InputRequest
				if tools {
					sampling = &mcp.CreateMessageWithToolsParams{MaxTokens: 1}
					client.CreateMessageWithToolsHandler = middleware.Wrap(func(context.Context, *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
						enter()
						return &mcp.CreateMessageWithToolsResult{Model: "m", Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
					}, mw...)
				} else {
					sampling = &mcp.CreateMessageParams{MaxTokens: 1}
					client.CreateMessageHandler = middleware.Wrap(func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
						enter()
						return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "fine"}}, nil
					}, mw...)
				}
				server := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{
					CompletionHandler: middleware.Wrap(func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
						enter()
						return &mcp.CompleteResult{}, nil
					}, mw...),
					SubscribeHandler:   middleware.Wrap(func(context.Context, *mcp.SubscribeRequest) error { enter(); return nil }, mw...),
					UnsubscribeHandler: middleware.Wrap(func(context.Context, *mcp.UnsubscribeRequest) error { enter(); return nil }, mw...),
				})
				asks := func(name string, params mcp.InputRequest) {
					mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
						if era == harness.Current && req.Params.InputResponses == nil {
							return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ask": params}, RequestState: "s"}, nil, nil
						}
						var err error
						if era == harness.Older {
							switch p := params.(type) {
							case *mcp.ElicitParams:
								_, err = req.Session.Elicit(ctx, p)
							case *mcp.CreateMessageParams:
								_, err = req.Session.CreateMessage(ctx, p)
							case *mcp.CreateMessageWithToolsParams:
								_, err = req.Session.CreateMessageWithTools(ctx, p)
							}
						}
						return &mcp.CallToolResult{}, nil, err
					})
				}
				asks("elicit", &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}})
				asks("sample", sampling)
				a, b := mcp.NewInMemoryTransports()
				_, err := server.Connect(t.Context(), b, nil)
				require.NoError(t, err)
				session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, client).Connect(t.Context(), a, speak.Version(string(era)))
				require.NoError(t, err)
				defer session.Close()

				call := func(tool string) func() error {
					return func() error {
						res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
						if err == nil && res.IsError {
							err = errors.New(res.Content[0].(*mcp.TextContent).Text)
						}
						return err
					}
				}
				kinds := map[string]func() error{"elicitation": call("elicit"), "sampling": call("sample"), "completion": func() error {
					_, err := session.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: mcp.CompleteParamsArgument{Name: "x"}})
					return err
				}}
				if era == harness.Older {
					kinds["subscription"] = func() error { return session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "x:///"}) }
					kinds["unsubscription"] = func() error { return session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "x:///"}) }
				}
				for name, ask := range kinds {
					for _, panics = range []bool{false, true, false} {
						entered = 0
						err := ask()
						require.Equal(t, 1, entered, name)
						if !panics {
							require.NoError(t, err, name)
							continue
						}
						require.Error(t, err, name)
						require.NotContains(t, err.Error(), harness.Canary, name)
						require.Contains(t, err.Error(), "failed unexpectedly", name)
					}
				}
			})
		}
	}
}
