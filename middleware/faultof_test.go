package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestFaultOfASuccess(t *testing.T) {
	for _, res := range []mcp.Result{
		nil, (*mcp.CallToolResult)(nil), &mcp.CallToolResult{}, (*mcp.GetPromptResult)(nil), &mcp.GetPromptResult{},
		&mcp.ReadResourceResult{}, &mcp.CompleteResult{}, &mcp.ListToolsResult{},
		&mcp.CallToolResult{Meta: mcp.Meta{middleware.MetaKey: map[string]any{"type": "x", "message": "m"}}},
	} {
		f, failed := middleware.FaultOf(res, nil)
		require.False(t, failed, "%T", res)
		require.Nil(t, f)
	}
}

func TestFaultOfForeignServers(t *testing.T) {
	own := fault.NotFound("file", "a")
	told := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	withMeta := func(value any) *mcp.CallToolResult {
		res := told("in words")
		res.Meta = mcp.Meta{middleware.MetaKey: value}
		return res
	}
	setError := func(err error) *mcp.CallToolResult {
		var res mcp.CallToolResult
		res.SetError(err)
		return &res
	}
	tool := func(text string) fault.Data { return fault.New(fault.KindTool, text).Data() }
	nothing := fault.Generic(fault.KindTool).Data()
	kind := func(kind fault.Kind, text string) fault.Data { return fault.New(kind, text).Data() }
	wire := func(code int64, data string) error {
		return fmt.Errorf("calling %q: %w", "tools/call", &jsonrpc.Error{Code: code, Message: "in words", Data: json.RawMessage(data)})
	}
	text := func(message string) error {
		return fmt.Errorf("calling %q: %w", "resources/read", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message})
	}
	for _, c := range []struct {
		name string
		res  mcp.Result
		err  error
		want fault.Data
	}{
		{"plain text", told("in words"), nil, tool("in words")},
		{"no content", &mcp.CallToolResult{IsError: true}, nil, nothing},
		{"nil content", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{nil, (*mcp.TextContent)(nil)}}, nil, nothing},
		{"text after an image", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.ImageContent{}, &mcp.TextContent{Text: "in words"}}}, nil, tool("in words")},
		{"our fault", withMeta(own), nil, own.Data()},
		{"our data", withMeta(own.Data()), nil, own.Data()},
		{"raw JSON", withMeta(mustMarshal(t, own)), nil, own.Data()},
		{"decoded JSON", withMeta(map[string]any{"type": "not_found", "message": "gone", "unknown": 1}), nil, kind(fault.KindNotFound, "gone")},
		{"no type", withMeta(map[string]any{"message": "gone"}), nil, tool("in words")},
		{"broken JSON", withMeta(json.RawMessage(`{`)), nil, tool("in words")},
		{"JSON that cannot be written", withMeta(map[string]any{"type": "x", "message": "m", "f": func() {}}), nil, tool("in words")},
		{"error in the result", setError(own), nil, own.Data()},
		{"unknown error in the result", setError(errSecret), nil, fault.Generic(fault.KindInternal).WithParty(fault.PartyServer).Data()},
		{"error beside a result", told("in words"), own, own.Data()},
		{"error beside a typed nil", (*mcp.CallToolResult)(nil), own, own.Data()},

		{"code without data", nil, wire(-32602, ""), kind(fault.KindValidation, "in words")},
		{"code with a URI", nil, wire(-32602, `{"uri":"x"}`), kind(fault.KindNotFound, "in words")},
		{"code with our data", nil, wire(-32602, string(mustMarshal(t, own))), own.Data()},
		{"resource not found", nil, wire(-32002, `{"uri":"x"}`), kind(fault.KindNotFound, "in words")},
		{"unknown code", nil, wire(0, ""), kind(fault.KindServerError, "in words")},

		// A server that can send a text only.
		{"our text", nil, text("Internal error: the server failed unexpectedly.\nRetry: no. Tell the user.\nReference: 0198c7f2-9d3e (give it to the user to report)"),
			faults.WithReference(fault.New(fault.KindInternal, "the server failed unexpectedly").WithRetry(fault.Retry{}), "0198c7f2-9d3e").Data()},
		{"our text of a fault", nil, text("Not found: thing '7' does not exist. Did you mean '17'?"),
			kind(fault.KindNotFound, "thing '7' does not exist. Did you mean '17'?")},
		{"our text with a wait", nil, text("Rate limited: too many.\nSuggestion: wait.\nDetails: {\"a\":1}\nRetry: yes, after 1 h 30 min (attempt 2 of 3).\nNext: 1. Wait.\n      2. Read: call read {}."),
			fault.New(fault.KindRateLimited, "too many").Suggest("wait").WithRetry(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 5400}).Data()},
		{"our text, much later", nil, text("Rate limited: too many.\nRetry: not now: possible again in 5 h; tell the user."),
			fault.New(fault.KindRateLimited, "too many").WithRetry(fault.Retry{}).Data()},
		{"our text with a wait of others", nil, text("Timeout: it took too long.\nRetry: yes, after the weekend."), kind(fault.KindTimeout, "it took too long")},
		{"our text of several lines", nil, text("Validation Error: 2 arguments are wrong:\n- a\n- b\n> Retry: yes\nRetry: only with corrected arguments."),
			fault.New(fault.KindValidation, "2 arguments are wrong:\n- a\n- b\n> Retry: yes").WithRetry(fault.Retry{}).Data()},
		{"a text of others", nil, text("no such table: prices"), kind(fault.KindInternal, "no such table: prices")},
		{"another code has its own kind", nil, &jsonrpc.Error{Code: 404, Message: "Timeout: x"}, kind(fault.KindNotFound, "Timeout: x")},
		{"data has the last word", nil, &jsonrpc.Error{Code: -32603, Message: "Timeout: x", Data: json.RawMessage(`{"a":1}`)}, kind(fault.KindInternal, "Timeout: x")},

		{"gave up", nil, context.DeadlineExceeded, fault.Generic(fault.KindTimeout).Data()},
		{"connection closed", nil, fmt.Errorf("%w: calling %q", mcp.ErrConnectionClosed, "tools/call"), fault.Generic(fault.KindConnectionFailed).WithParty(fault.PartyUpstream).Data()},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, failed := middleware.FaultOf(c.res, c.err)
			require.True(t, failed)
			require.Equal(t, c.want, f.Data())
			var wire *jsonrpc.Error
			if c.err != nil && c.err != error(own) && !errors.As(c.err, &wire) {
				require.ErrorIs(t, f, c.err)
			}
		})
	}
}

func TestNextSteps(t *testing.T) {
	steps := []fault.Step{
		{Number: 9, Action: "Read it back", Tool: "get", Parameters: map[string]any{"id": 7}},
		{Action: "Tell the user"},
	}
	const words = "Next: 1. Read it back: call get {\"id\":7}.\n      2. Tell the user."

	own := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}, Meta: mcp.Meta{"k": "v"}, StructuredContent: 1}
	require.Same(t, own, middleware.NextSteps(own), "without steps it is the same")
	require.Nil(t, middleware.NextSteps(nil))

	got := middleware.NextSteps(own, steps...)
	require.NotSame(t, own, got)
	require.Len(t, own.Content, 1, "the handler's own is not written to")
	require.Equal(t, mcp.Meta{"k": "v"}, own.Meta)
	require.Len(t, got.Content, 2)
	require.Equal(t, "done", text(got))
	require.Equal(t, words, got.Content[1].(*mcp.TextContent).Text)
	require.Equal(t, "v", got.Meta["k"])
	require.Equal(t, 1, got.StructuredContent)
	require.Equal(t, 9, steps[0].Number, "neither are the steps")

	// The SDK writes the output of a typed handler into a result without content only, so
	// the text is added when the answer leaves.
	empty := middleware.NextSteps(nil, steps...)
	require.Empty(t, empty.Content)
	sent, err := invoke(layer(&call.Settings{}), returns(empty, nil))
	require.NoError(t, err)
	require.Equal(t, words, text(sent))
	require.False(t, empty.IsError)

	unwritable := middleware.NextSteps(nil, fault.Step{Action: "a", Tool: "t", Parameters: map[string]any{"f": func() {}}})
	_, err = json.Marshal(unwritable)
	require.NoError(t, err)
}

func TestNextStepsOverTheWire(t *testing.T) {
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		got := harness.Call(t, at, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
			return middleware.NextSteps(harness.Success(req).(*mcp.CallToolResult), fault.Step{Action: "Read it back", Tool: "get"}), nil
		}, masking(harness.NewLog(0)))
		require.Nil(t, got.Fault())
		require.Equal(t, "Next: 1. Read it back: call get {}.", got.Tool().Content[1].(*mcp.TextContent).Text)
		require.Equal(t, []any{map[string]any{"step": 1.0, "action": "Read it back", "tool": "get"}}, got.Tool().Meta["io.github.mcpchain/next_steps"])
	})
}

func mustMarshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}
