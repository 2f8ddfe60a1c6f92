package mask_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

func passThrough(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		return next(ctx, method, req)
	}
}

// TestAMiddlewareOutsideIsReported calls twice, and the log has one warning at most.
func TestAMiddlewareOutsideIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		chain []mcp.Middleware // what stands outside of mask
		warns bool
	}{
		"alone":            {nil, false},
		"ours outside":     {[]mcp.Middleware{mcprecover.New(nil)}, false},
		"a list form":      {[]mcp.Middleware{batch.New(nil)}, false},
		"selected":         {[]mcp.Middleware{middleware.ForMethods(mcprecover.New(nil), middleware.MethodCallTool)}, false},
		"theirs between":   {[]mcp.Middleware{mcprecover.New(nil), passThrough}, false},
		"theirs outside":   {[]mcp.Middleware{passThrough}, true},
		"outside of ours":  {[]mcp.Middleware{passThrough, mcprecover.New(nil)}, true},
		"several of those": {[]mcp.Middleware{passThrough, passThrough}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			masking := mask.New(&mask.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
			at := harness.Place{Shape: harness.ServerRaw, Era: harness.Current}
			for range 2 {
				require.Equal(t, "fine", harness.Call(t, at, harness.Succeed(), append(c.chain, masking)...).Text())
			}
			if !c.warns {
				require.Empty(t, out.String())
				return
			}
			require.Equal(t, 1, strings.Count(out.String(), "stands outside of mask"), out.String())
			require.Contains(t, out.String(), "passThrough", "it names the function")
		})
	}
	// A call that no server received, as users' own tests make it, is no reason to warn.
	var out bytes.Buffer
	_, _ = mask.New(&mask.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{}, nil
	})(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{})
	require.Empty(t, out.String())
}
