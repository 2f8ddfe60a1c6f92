package call_test

import (
	"context"
	"errors"
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

// guiding returns a middleware that says the same of every failure.
func guiding(g failure.Guidance) mcp.Middleware {
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		res, err := next(ctx, c.Method(), req)
		if f := c.Failure(res, err); f != nil {
			f.Guide(g)
		}
		return res, err
	})
}

// recording returns a middleware that records every call, so that there are references.
func recording() mcp.Middleware {
	return establish(&call.Settings{
		Logger: quiet, Recorder: recorder(func(context.Context, mcp.Request) string { return "r-1" }),
		Mask: func(text string) string { return text },
	})
}

func TestGuidanceHasTheLastWord(t *testing.T) {
	inCall(t, func(_ context.Context, c *call.Call) {
		f := c.Failure(nil, fault.New(fault.KindConflict, "m").Suggest("s").Never("it would be done twice"))
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

// Who is told not to call again is not told what to do when it fails again.
func TestGuidanceOfAnUnknownFailureWithAHint(t *testing.T) {
	mw := middleware.Chain(recording(), guiding(failure.Guidance{Suggestion: "Ask Ann", Retry: &fault.Retry{}}))
	res, err := invoke(mw, returns(nil, public{hint: "Ask Ann"}))
	require.NoError(t, err)
	require.Contains(t, text(res), "Suggestion: Ask Ann.\nRetry: no.\nReference: r-1 (give it to the user to report)")
}

func TestGuidanceOfAnUnknownFailure(t *testing.T) {
	no := failure.Guidance{Retry: &fault.Retry{Reason: "it is broken"}}
	yes := failure.Guidance{Retry: &fault.Retry{ShouldRetry: true}}
	const first = "Internal error: the server failed unexpectedly.\n"
	for _, tc := range []struct {
		name     string
		guidance failure.Guidance
		mw       mcp.Middleware
		want     string
	}{
		{"no, recorded", no, recording(), first + "Retry: no. It is broken.\nReference: r-1 (give it to the user to report)"},
		{"yes, recorded", yes, recording(), first + "Retry: yes.\nReference: r-1 (give it to the user to report)"},
		// Without a record there is no reference to give.
		{"no", no, nil, "Internal error: " + harness.Canary + " is wrong.\nRetry: no. It is broken."},
		{"yes", yes, nil, "Internal error: " + harness.Canary + " is wrong.\nRetry: yes."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := invoke(middleware.Chain(tc.mw, guiding(tc.guidance)), returns(nil, errSecret))
			require.NoError(t, err)
			require.Equal(t, tc.want, text(res))
		})
	}
}

func TestGuidanceOfAToolsOwnWords(t *testing.T) {
	retry := fault.Retry{Reason: "it has failed 4 times"}
	const line = "Retry: no. It has failed 4 times."
	image := &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}
	for _, tc := range []struct {
		name    string
		content []mcp.Content
		want    []string // the texts
	}{
		{"a text", []mcp.Content{&mcp.TextContent{Text: "the oven is cold\n"}}, []string{"the oven is cold\n"}},
		{"an image and two texts", []mcp.Content{image, &mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}, []string{"", "a", "b"}},
		{"without words", []mcp.Content{image}, []string{""}},
		{"without content", nil, []string{"Tool error: the tool reported a failure.\n" + line}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := &mcp.CallToolResult{IsError: true, Content: tc.content}
			before := append([]mcp.Content(nil), own.Content...)
			res, err := invoke(guiding(failure.Guidance{Retry: &retry}), returns(own, nil))
			require.NoError(t, err)
			got := res.(*mcp.CallToolResult)
			require.Len(t, got.Content, len(tc.want))
			for i, want := range tc.want {
				require.Equal(t, want, text(&mcp.CallToolResult{Content: got.Content[i:]}))
			}
			require.Equal(t, &retry, got.Meta[middleware.MetaKey].(*fault.Error).Data().Retry)
			require.Equal(t, before, own.Content)
		})
	}
}

func TestGuidanceLeavesAProtocolErrorAlone(t *testing.T) {
	wire := &jsonrpc.Error{Code: -32042, Message: "log in first"}
	_, err := invoke(guiding(failure.Guidance{Retry: &fault.Retry{ShouldRetry: true}}), returns(nil, wire))
	require.Same(t, wire, err)
}

func TestGuidanceInEveryShape(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		got := harness.Call(t, at, harness.Fail(errors.New("x")), recording(),
			guiding(failure.Guidance{Retry: &fault.Retry{ShouldRetry: true, RetryAfterSeconds: 2}, Suggestion: "Wait."}))
		require.Contains(t, got.Text(), "\nSuggestion: Wait.\nRetry: yes, after 2 s.\n")
		require.Equal(t, map[string]any{"should_retry": true, "retry_after_seconds": 2.0}, got.Machine()["retry"])
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
