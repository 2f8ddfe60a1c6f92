package middleware_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// errSecret is what no caller may see. The scrubber does not know its shape.
var errSecret = errors.New(harness.Canary + " is wrong")

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(quiet)
	os.Exit(m.Run())
}

// toolRequest is a request as a test makes it, without a session.
func toolRequest(name string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name}}
}

// returns is a handler that returns the same for every method.
func returns(res mcp.Result, err error) mcp.MethodHandler {
	return func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, err }
}

// middleware returns a middleware that does nothing but take part in the Call.
func layer(s *call.Settings) mcp.Middleware {
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(s)
		return next(ctx, c.Method(), req)
	})
}

// masking returns a middleware that masks and, alone, logs, as package mask does.
func masking(log *harness.Log) mcp.Middleware {
	return layer(&call.Settings{Mask: func(text string) string { return text }, Logger: log.Logger()})
}

// invoke calls a middleware around a handler as method tools/call.
func invoke(mw mcp.Middleware, h mcp.MethodHandler) (mcp.Result, error) {
	return mw(h)(context.Background(), middleware.MethodCallTool, toolRequest("t"))
}

func text(res mcp.Result) string { return harness.Answer{Result: res}.Text() }

var quiet = slog.New(slog.DiscardHandler)
