package recover_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// logging returns a recovery that records to log.
func logging(log *harness.Log) mcp.Middleware {
	return mcprecover.New(&mcprecover.Options{Logger: log.Logger()})
}

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

// inside calls a recovery around a handler of a method and returns what a middleware
// outside of it sees, before anything is rendered.
func inside(method string, req mcp.Request, h mcp.MethodHandler, mw ...mcp.Middleware) (res mcp.Result, err error) {
	outer := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		res, err = next(ctx, c.Method(), req)
		return res, err
	})
	if len(mw) == 0 {
		mw = []mcp.Middleware{mcprecover.New(nil)}
	}
	_, _ = outer(middleware.Chain(mw...)(h))(context.Background(), method, req)
	return res, err
}

func returns(res mcp.Result) mcp.MethodHandler {
	return func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil }
}
