package call_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// explaining returns a middleware that explains every failure.
func explaining(x classify.Finding) mcp.Middleware {
	return atFailure(func(c *call.Call, f *failure.Failure) { c.Explain(f, x) })
}

func TestExplain(t *testing.T) {
	errCanary := errors.New(harness.Canary)
	public := fault.Invalid("q", 1, "a text")
	wire := &jsonrpc.Error{Code: -32602, Message: "explained"}
	masked := func(log *slog.Logger) mcp.Middleware {
		settings := &call.Settings{Mask: func(text string) string { return text }, Logger: log}
		return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
			c.Establish(settings)
			return next(ctx, c.Method(), req)
		})
	}
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		for name, c := range map[string]struct {
			x        classify.Finding
			text     string
			protocol bool
		}{
			"fault":    {classify.Finding{Fault: public}, public.Text(), !at.Shape.Tool()},
			"protocol": {classify.Finding{Fault: public, Protocol: true}, public.Text(), true},
			"wire":     {classify.Finding{Wire: wire}, "explained", true},
		} {
			t.Run(name, func(t *testing.T) {
				log := harness.NewLog(slog.LevelInfo)
				var seen error
				look := harness.Look(func(_ context.Context, res mcp.Result, err error) {
					if tool, ok := res.(*mcp.CallToolResult); ok && err == nil {
						err = tool.GetError()
					}
					seen = err
				})
				s := harness.Start(t, at, harness.Setup{
					Handlers:   map[string]harness.Handler{"it": harness.Fail(errCanary), "good": harness.Succeed()},
					Middleware: []mcp.Middleware{masked(log.Logger()), look, explaining(c.x)},
				})
				got := s.Call(t, "it")
				require.Equal(t, c.text, got.Text())
				require.Equal(t, c.protocol, got.Protocol() != nil)
				require.NotContains(t, s.Sent(), harness.Canary)
				require.Equal(t, errCanary, seen, "the error stays what it was")
				if c.protocol {
					require.EqualValues(t, -32602, got.Protocol().Code)
				}
				if at.Shape != harness.ServerCompletion {
					require.Equal(t, fault.KindValidation, got.Fault().Kind())
				}
				require.Equal(t, harness.Canary, log.Only(t)["error"], "and is for the log")
				require.Equal(t, "fine", s.Call(t, "good").Text())
			})
		}
	})
}

// TestExplainable: what somebody said already is not to be explained.
func TestExplainable(t *testing.T) {
	refused := errors.New(`validating "arguments": x`)
	var told mcp.CallToolResult
	told.SetError(refused)
	for name, c := range map[string]struct {
		res                  mcp.Result
		err                  error
		explainable, refused bool
	}{
		"unknown":         {err: errors.New("x"), explainable: true},
		"deadline":        {err: context.DeadlineExceeded, explainable: true},
		"ruled":           {err: errRuled},
		"fault":           {err: fault.New("a", "b")},
		"protocol":        {err: &jsonrpc.Error{}},
		"panic":           {err: fault.Panicked("x", 0)},
		"told":            {res: &mcp.CallToolResult{IsError: true}},
		"output":          {err: errors.New("validating tool output: x")},
		"refused":         {res: &told, explainable: true, refused: true},
		"refused, as raw": {err: refused, explainable: true},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			settings := &call.Settings{Rules: []classify.Rule{func(err error) *fault.Error {
				if errors.Is(err, errRuled) {
					return fault.New("ruled", "x")
				}
				return nil
			}}}
			_, _ = call.Wrap(func(ctx context.Context, this *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
				this.Establish(settings)
				res, err := next(ctx, this.Method(), req)
				f := this.Judge(res, err)
				require.Equal(t, c.explainable, f.Explainable())
				require.Equal(t, c.refused, f.Refused())
				ran = true
				return res, err
			})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return c.res, c.err })(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{})
			require.True(t, ran)
		})
	}
}

var errRuled = errors.New("ruled")
