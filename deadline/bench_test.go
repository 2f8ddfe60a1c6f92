package deadline_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/middleware"
)

// BenchmarkSuccess tells what a limit costs a call that succeeds at once.
func BenchmarkSuccess(b *testing.B) {
	open := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		return next(ctx, c.Method(), req)
	})
	byHand := func(next mcp.MethodHandler) mcp.MethodHandler { // with everything that is the least
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			type outcome struct {
				res mcp.Result
				err error
			}
			done := make(chan outcome, 1)
			go func() {
				res, err := next(ctx, method, req)
				done <- outcome{res, err}
			}()
			select {
			case o := <-done:
				return o.res, o.err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	for _, c := range []struct {
		name string
		mw   mcp.Middleware
	}{
		{"none", middleware.Chain()},
		{"a call opened only", open},
		{"by hand", byHand},
		{"no limit applies", deadline.New(&deadline.Options{Tools: map[string]time.Duration{"it": -1}})},
		{"limit", deadline.New(nil)},
		{"limit twice", middleware.Chain(deadline.New(nil), deadline.New(nil))},
	} {
		b.Run(c.name, func(b *testing.B) {
			res := &mcp.CallToolResult{}
			h := c.mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
			bench(b, h)
		})
	}
}

// BenchmarkFailure tells what a limit costs a call that fails at once, with and
// without it, without a log.
func BenchmarkFailure(b *testing.B) {
	for name, mw := range map[string]mcp.Middleware{
		"none": middleware.Render(nil), "limit": deadline.New(&deadline.Options{Logger: slog.New(slog.DiscardHandler)}),
	} {
		b.Run(name, func(b *testing.B) {
			err := errors.New("it broke")
			bench(b, mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, err }))
		})
	}
}

func bench(b *testing.B, h mcp.MethodHandler) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := mcp.Request(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
	b.ReportAllocs()
	for b.Loop() {
		if res, err := h(ctx, middleware.MethodCallTool, req); res == nil && err == nil {
			b.Fatal("no answer")
		}
	}
}
