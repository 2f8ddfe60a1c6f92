// Package harness runs a test case in every shape. The middlewares stand around a whole
// server or a single handler, in front of a typed tool, a raw tool, a resource, a prompt
// or a completion. The client speaks the current protocol or an older one. Client and server are the SDK's own. They talk over a pipe in memory,
// and the harness keeps every byte.
//
// A case that is the same everywhere:
//
//	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
//		log := harness.NewLog(slog.LevelInfo)
//		got := harness.Call(t, at, harness.Fail(errSecret), mask.New(&mask.Options{Logger: log.Logger()}))
//		require.Contains(t, got.Text(), "Internal error")
//		require.NotContains(t, string(got.Wire), "secret")
//		require.Len(t, log.Records(), 1)
//	})
//
// Several calls of one server, or a server with options of its own: [Start].
// [Trace] shows the order in which middlewares run, as one string. [Log] has the server's
// log, as parsed JSON.
package harness

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/middleware"
)

// An Era is the protocol version that a client speaks.
type Era string

// The eras: their results differ, and so does the start of a session.
const (
	Current Era = "2026-07-28"
	Older   Era = "2025-11-25"
)

// A Shape says what is called and where the middlewares stand.
type Shape string

// The middlewares stand around the whole server, or around the one handler.
const (
	ServerTyped      Shape = "server/typed"
	ServerRaw        Shape = "server/raw"
	ServerResource   Shape = "server/resource"
	ServerPrompt     Shape = "server/prompt"
	ServerCompletion Shape = "server/completion"
	WrapAddTool      Shape = "wrap/AddTool"
	WrapTool         Shape = "wrap/Tool"
	WrapResource     Shape = "wrap/Resource"
	WrapPrompt       Shape = "wrap/Prompt"
)

// Shapes returns all shapes.
func Shapes() []Shape {
	return []Shape{
		ServerTyped, ServerRaw, ServerResource, ServerPrompt, ServerCompletion,
		WrapAddTool, WrapTool, WrapResource, WrapPrompt,
	}
}

// Tools returns the shapes that call a tool.
func Tools() []Shape { return []Shape{ServerTyped, ServerRaw, WrapAddTool, WrapTool} }

// Others returns the shapes that call something else than a tool.
func Others() []Shape {
	return []Shape{ServerResource, ServerPrompt, ServerCompletion, WrapResource, WrapPrompt}
}

// Method returns the method that is called.
func (s Shape) Method() string {
	switch s {
	case ServerResource, WrapResource:
		return middleware.MethodReadResource
	case ServerPrompt, WrapPrompt:
		return middleware.MethodGetPrompt
	case ServerCompletion:
		return middleware.MethodComplete
	default:
		return middleware.MethodCallTool
	}
}

// Tool reports whether a tool is called.
func (s Shape) Tool() bool { return s.Method() == middleware.MethodCallTool }

// Typed reports whether the handler is a typed one, which may return no result.
func (s Shape) Typed() bool { return s == ServerTyped || s == WrapAddTool }

// A Place is a shape and an era.
type Place struct {
	Shape Shape
	Era   Era
}

// Each runs a case as a subtest in every one of the shapes, in both eras.
func Each(t *testing.T, shapes []Shape, run func(t *testing.T, at Place)) {
	t.Helper()
	for _, shape := range shapes {
		for _, era := range []Era{Current, Older} {
			t.Run(string(shape)+"/"+string(era), func(t *testing.T) { run(t, Place{shape, era}) })
		}
	}
}

// A Handler is what is called, in any shape. It returns a result of the type that
// belongs to the request, see [Success]; any other counts as nil.
type Handler func(ctx context.Context, req mcp.Request) (mcp.Result, error)

// Success returns the result of a handler that does not fail: the word "fine" in a result
// of the type that belongs to the request.
func Success(req mcp.Request) mcp.Result {
	switch req.(type) {
	case *mcp.CallToolRequest:
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}
	case *mcp.ReadResourceRequest:
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "fine"}}}
	case *mcp.GetPromptRequest:
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "fine"}}}}
	case *mcp.CompleteRequest:
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"fine"}}}
	default:
		return nil
	}
}

// Succeed returns a handler that returns a [Success].
func Succeed() Handler {
	return func(_ context.Context, req mcp.Request) (mcp.Result, error) { return Success(req), nil }
}

// Fail returns a handler that returns an error.
func Fail(err error) Handler {
	return func(context.Context, mcp.Request) (mcp.Result, error) { return nil, err }
}

// Panic returns a handler that panics.
func Panic(value any) Handler {
	return func(context.Context, mcp.Request) (mcp.Result, error) { panic(value) }
}

// Nothing returns a handler that returns neither a result nor an error.
func Nothing() Handler {
	return func(context.Context, mcp.Request) (mcp.Result, error) { return nil, nil }
}

// Return returns a handler that returns the result of a new call of result each time.
func Return[R mcp.Result](result func() R) Handler {
	return func(context.Context, mcp.Request) (mcp.Result, error) { return result(), nil }
}

// ToldText is what the results of [Tell] say.
const ToldText = "the oven is cold"

// Tell returns a handler of a tool that returns its failure as a result of its own.
func Tell() Handler {
	return Return(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: ToldText}}}
	})
}
