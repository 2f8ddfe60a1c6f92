package call_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestGuidanceHasTheLastWord(t *testing.T) {
	inCall(t, func(_ context.Context, c *call.Call) {
		f := c.Judge(nil, fault.New(fault.KindConflict, "m").Suggest("s").Never("it would be done twice"))
		require.False(t, f.Guided())
		require.Equal(t, "Conflict: m.\nSuggestion: s.\nRetry: no. It would be done twice.", f.Fault().Text())
		once := f.Fault()
		require.Same(t, once, f.Fault(), "put together once")

		f.Guide(failure.Guidance{Retry: &fault.Retry{ShouldRetry: true}, Suggestion: "other"})
		require.True(t, f.Guided())
		require.Equal(t, "Conflict: m.\nSuggestion: other.\nRetry: yes.", f.Fault().Text())

		f.Guide(failure.Guidance{Retry: &fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1}})
		require.Equal(t, "Conflict: m.\nRetry: yes, after 1 s.", f.Fault().Text())
	})
}

// The rules of a program are asked about its own errors only: not when an internal look-up
// fails, which a wrapped handler cannot answer.
func TestNoRuleIsAskedAboutALookup(t *testing.T) {
	asked := 0
	rule := func(error) *fault.Error { asked++; return nil }
	looking := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		if c.Method() == middleware.MethodCallTool {
			_, err := c.Server().Tool(nil)
			require.Error(t, err)
		}
		return next(ctx, c.Method(), req)
	})
	got := harness.Call(t, harness.Place{Shape: harness.WrapTool, Era: harness.Current}, harness.Fail(errSecret),
		establish(&call.Settings{Rules: []classify.Rule{rule}}), looking)
	require.NotNil(t, got.Fault())
	require.Equal(t, 1, asked)
}
