package call_test

import (
	"context"
	"errors"
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

// TestAnswer has a handler that fails after it was answered for.
func TestAnswer(t *testing.T) {
	at := harness.Place{Shape: harness.ServerRaw, Era: harness.Current}
	answer, late := fault.New(fault.KindTimeout, "it took too long"), errors.New("late")
	kept := false
	got := harness.Call(t, at, harness.Fail(errors.New("early")), middleware.ForTools(call.Wrap(
		func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			_, _ = next(ctx, c.Method(), req)
			c.Answer(answer)
			f := c.Failure(nil, answer)
			f.Guide(failure.Guidance{Retry: &fault.Retry{Reason: "kept"}})
			require.Same(t, f, c.Failure(nil, answer))
			other := c.Failure(nil, late)
			require.NotSame(t, f, other)
			require.Same(t, other, c.Failure(nil, late), "another failure is known as always")
			require.Same(t, f, c.Failure(nil, answer))
			c.Explain(f, classify.Finding{Fault: fault.Generic(fault.KindValidation)})
			kept = f == c.Failure(nil, answer)
			return nil, answer
		}), "it"))
	require.Equal(t, "Timeout: it took too long.\nRetry: no. Kept.", got.Text())
	require.True(t, kept, "whatever the handler inside makes of the same error")
}
