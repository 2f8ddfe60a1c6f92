package call_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
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

// establish returns a middleware that does nothing but take part in the Call.
func establish(s *call.Settings) mcp.Middleware {
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(s)
		return next(ctx, c.Method(), req)
	})
}

// masking returns a middleware that masks and, alone, logs, as package mask does.
func masking(log *harness.Log) mcp.Middleware {
	return establish(&call.Settings{Mask: func(text string) string { return text }, Logger: log.Logger()})
}

// invoke calls a middleware around a handler as method tools/call.
func invoke(mw mcp.Middleware, h mcp.MethodHandler) (mcp.Result, error) {
	return mw(h)(context.Background(), middleware.MethodCallTool, toolRequest("t"))
}

func text(res mcp.Result) string { return harness.Answer{Result: res}.Text() }

var quiet = slog.New(slog.DiscardHandler)

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

// recorder is a [call.Recorder] that makes IDs, and UUIDs where it is nil.
type recorder func(context.Context, mcp.Request) string

func (r recorder) NewID(c *call.Call) string {
	if r == nil {
		return ""
	}
	return r(c, c.Request())
}
func (recorder) Level(_ string, _ time.Duration, level slog.Level) slog.Level  { return level }
func (recorder) Attrs(*call.Call, time.Duration) []slog.Attr                   { return nil }
func (recorder) Ended(*call.Call, time.Duration, mcp.Result, *failure.Failure) {}
func (recorder) Stuck(int64)                                                   {}

// saying is a step that says the same of every failure.
type saying struct {
	say func(c *call.Call, f *failure.Failure)
}

func (s *saying) AtFailure(c *call.Call, f *failure.Failure, _ call.Entry) { s.say(c, f) }

// atFailure returns a middleware with one step.
func atFailure(say func(c *call.Call, f *failure.Failure)) mcp.Middleware {
	s := &saying{say}
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.AtFailure(s, call.Entry{Ctx: ctx, Req: req, Next: next})
		return next(ctx, c.Method(), req)
	})
}
