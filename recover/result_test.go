package recover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestNilResultsOfEveryType calls the recovery with nil and typed nil results.
func TestNilResultsOfEveryType(t *testing.T) {
	for _, c := range []struct {
		method string
		req    mcp.Request
		res    mcp.Result
		right  bool
	}{
		{middleware.MethodCallTool, &mcp.CallToolRequest{}, nil, false},
		{middleware.MethodCallTool, &mcp.CallToolRequest{}, (*mcp.CallToolResult)(nil), false},
		{middleware.MethodReadResource, &mcp.ReadResourceRequest{}, (*mcp.ReadResourceResult)(nil), false},
		{middleware.MethodGetPrompt, &mcp.GetPromptRequest{}, (*mcp.GetPromptResult)(nil), false},
		{middleware.MethodComplete, &mcp.CompleteRequest{}, (*mcp.CompleteResult)(nil), false},
		{"tools/list", &mcp.ListToolsRequest{}, (*mcp.ListToolsResult)(nil), false},
		{"prompts/list", &mcp.ListPromptsRequest{}, (*mcp.ListPromptsResult)(nil), false},
		{"acme/search", &mcp.ServerRequest[*searchParams]{}, (*searchResult)(nil), false},
		{"acme/search", &mcp.ServerRequest[*searchParams]{}, nil, false},
		{"ping", &mcp.ServerRequest[*mcp.PingParams]{}, nil, false},
		{"subscriptions/listen", &mcp.SubscriptionsListenRequest{}, nil, true},
		{"notifications/progress", &mcp.ProgressNotificationServerRequest{}, nil, true},
		{"notifications/anything", nil, nil, true},
	} {
		t.Run(fmt.Sprintf("%s %T", c.method, c.res), func(t *testing.T) {
			res, err := inside(c.method, c.req, returns(c.res))
			require.True(t, res == nil || c.res == nil)
			if c.right {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, mcprecover.ErrNilResult)
			}
		})
	}
}

type searchParams struct {
	mcp.ParamsBase
	Query string `json:"query"`
}

type searchResult struct {
	mcp.ResultBase
	Hits []string       `json:"hits"`
	More map[string]any `json:"more,omitempty"`
}

// failing has a MarshalJSON method that fails, panics, or writes what is not JSON.
type failing struct{ how string }

func (f failing) MarshalJSON() ([]byte, error) {
	switch f.how {
	case "panic":
		panic(harness.Canary)
	case "garbage":
		return []byte("{" + harness.Canary), nil
	default:
		return nil, errSecret
	}
}

type node struct{ Next *node }

// unwritable are values that JSON cannot hold.
func unwritable() map[string]any {
	cycle := &node{}
	cycle.Next = cycle
	nan := math.NaN()
	return map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(1), "float32": float32(math.Inf(-1)), "pointer to NaN": &nan,
		"nested NaN": map[string]any{"a": []any{map[string]float64{"b": math.NaN()}}}, "struct": struct{ F *float64 }{&nan},
		"channel": make(chan int), "function": func() {}, "complex": 1i, "map with strange keys": map[any]any{1: 2},
		"failing": failing{}, "panicking": failing{"panic"}, "garbage": failing{"garbage"}, "nested panic": []any{1, map[string]any{"x": failing{"panic"}}},
		"cycle": cycle, "nil marshaler": (*failing)(nil), "raw garbage": json.RawMessage("{" + harness.Canary), "empty raw": json.RawMessage{},
	}
}

// writes reports whether a value can be written after all: a nil pointer is null.
func writes(name string) bool { return name == "nil marshaler" }

func TestUnwritableResults(t *testing.T) {
	tool := func(res mcp.CallToolResult) mcp.Result { return &res }
	content := func(c mcp.Content) mcp.Result {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}, c}}
	}
	message := func(m *mcp.PromptMessage) mcp.Result {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: &mcp.TextContent{}}, m}}
	}
	strange := &mcp.Annotations{Priority: math.NaN()}
	endless := &mcp.Annotations{Priority: math.Inf(-1)}
	cases := []struct {
		method string
		res    mcp.Result
		where  string
	}{
		{middleware.MethodCallTool, content(nil), "content[1]"},
		{middleware.MethodCallTool, content((*mcp.TextContent)(nil)), "content[1]"},
		{middleware.MethodCallTool, content((*mcp.EmbeddedResource)(nil)), "content[1]"},
		{middleware.MethodCallTool, content((*mcp.ToolResultContent)(nil)), "content[1]"},
		{middleware.MethodCallTool, content(&mcp.TextContent{Annotations: strange}), "content[1].Annotations.priority"},
		{middleware.MethodCallTool, content(&mcp.ImageContent{Annotations: endless}), "content[1].Annotations.priority"},
		{middleware.MethodCallTool, content(&mcp.AudioContent{Annotations: strange}), "content[1].Annotations.priority"},
		{middleware.MethodCallTool, content(&mcp.ResourceLink{Annotations: strange}), "content[1].Annotations.priority"},
		{middleware.MethodCallTool, content(&mcp.EmbeddedResource{Annotations: strange}), "content[1].Annotations.priority"},
		{middleware.MethodCallTool, content(&mcp.ToolResultContent{Content: []mcp.Content{nil}}), "content[1].Content[0]"},
		{middleware.MethodCallTool, content(&mcp.ToolUseContent{Input: map[string]any{"f": func() {}}}), "content[1].Input"},
		{middleware.MethodCallTool, content(ownContent{&mcp.TextContent{}}), "content[1]"},
		{middleware.MethodCallTool, content(&ownContent{&mcp.TextContent{}}), "content[1]"},
		{middleware.MethodCallTool, content(&struct{ ownContent }{ownContent{&mcp.TextContent{}}}), "content[1]"},
		{middleware.MethodCallTool, content(&mcp.ToolResultContent{Content: []mcp.Content{ownContent{}}}), "content[1].Content[0]"},
		{middleware.MethodGetPrompt, message(&mcp.PromptMessage{Content: ownContent{&mcp.TextContent{}}}), "messages[1].content"},
		{middleware.MethodCallTool, tool(mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": nil}}), "inputRequests"},
		{middleware.MethodGetPrompt, message(nil), "messages[1]"},
		{middleware.MethodGetPrompt, message(&mcp.PromptMessage{}), "messages[1].content"},
		{middleware.MethodGetPrompt, message(&mcp.PromptMessage{Content: (*mcp.TextContent)(nil)}), "messages[1].content"},
		{middleware.MethodGetPrompt, message(&mcp.PromptMessage{Content: &mcp.TextContent{Annotations: strange}}), "messages[1].content.Annotations.priority"},
		{middleware.MethodGetPrompt, &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"a": nil}}, "inputRequests"},
		{middleware.MethodReadResource, &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}, "contents[0]"},
		{middleware.MethodReadResource, &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{"a": nil}}, "inputRequests"},
		{"tools/list", &mcp.ListToolsResult{Tools: []*mcp.Tool{nil}}, "tools[0]"},
		{"tools/list", &mcp.ListToolsResult{Tools: []*mcp.Tool{{InputSchema: func() {}}}}, "tools[0]"},
		{"prompts/list", &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{{}, nil}}, "prompts[1]"},
		{"prompts/list", &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{{Arguments: []*mcp.PromptArgument{nil}}}}, "prompts[0].arguments[0]"},
		{"resources/list", &mcp.ListResourcesResult{Resources: []*mcp.Resource{nil}}, "resources[0]"},
		{"resources/list", &mcp.ListResourcesResult{Resources: []*mcp.Resource{{Annotations: strange}}}, "resources[0].annotations.priority"},
		{"resources/templates/list", &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{nil}}, "resourceTemplates[0]"},
		{"resources/templates/list", &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{{Annotations: endless}}}, "resourceTemplates[0].annotations.priority"},
	}
	for name, v := range unwritable() {
		if writes(name) {
			continue
		}
		meta := mcp.Meta{"good": 1, "k": v}
		cases = append(cases, []struct {
			method string
			res    mcp.Result
			where  string
		}{
			{middleware.MethodCallTool, tool(mcp.CallToolResult{StructuredContent: v}), "structuredContent"},
			{middleware.MethodCallTool, tool(mcp.CallToolResult{Meta: meta}), "_meta[k]"},
			{middleware.MethodCallTool, content(&mcp.TextContent{Meta: meta}), "content[1].Meta[k]"},
			{middleware.MethodCallTool, content(&mcp.ImageContent{Meta: meta}), "content[1].Meta[k]"},
			{middleware.MethodCallTool, content(&mcp.AudioContent{Meta: meta}), "content[1].Meta[k]"},
			{middleware.MethodCallTool, content(&mcp.ResourceLink{Meta: meta}), "content[1].Meta[k]"},
			{middleware.MethodCallTool, content(&mcp.EmbeddedResource{Meta: meta}), "content[1].Meta[k]"},
			{middleware.MethodCallTool, content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Meta: meta}}), "content[1].Resource._meta[k]"},
			{middleware.MethodCallTool, content(&mcp.ToolResultContent{StructuredContent: v}), "content[1].StructuredContent"},
			{middleware.MethodReadResource, &mcp.ReadResourceResult{Meta: meta}, "_meta[k]"},
			{middleware.MethodReadResource, &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{}, {Meta: meta}}}, "contents[1]._meta[k]"},
			{middleware.MethodGetPrompt, &mcp.GetPromptResult{Meta: meta}, "_meta[k]"},
			{middleware.MethodGetPrompt, message(&mcp.PromptMessage{Content: &mcp.TextContent{Meta: meta}}), "messages[1].content.Meta[k]"},
			{middleware.MethodComplete, &mcp.CompleteResult{Meta: meta}, "_meta[k]"},
			{"tools/list", &mcp.ListToolsResult{Meta: meta}, "_meta[k]"},
			{"tools/list", &mcp.ListToolsResult{Tools: []*mcp.Tool{{}, {Meta: meta}}}, "tools[1]"},
			{"prompts/list", &mcp.ListPromptsResult{Meta: meta}, "_meta[k]"},
			{"prompts/list", &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{{Meta: meta}}}, "prompts[0]._meta[k]"},
			{"resources/list", &mcp.ListResourcesResult{Resources: []*mcp.Resource{{Meta: meta}}}, "resources[0]._meta[k]"},
			{"resources/templates/list", &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{{Meta: meta}}}, "resourceTemplates[0]._meta[k]"},
			{"initialize", &mcp.InitializeResult{Meta: meta}, "result"},
			{"server/discover", &mcp.DiscoverResult{Meta: meta}, "result"},
			{"acme/search", &searchResult{More: map[string]any{"v": v}}, "result"},
			{"acme/search", &searchResult{ResultBase: mcp.ResultBase{Meta: meta}}, "result"},
		}...)
	}
	for i, c := range cases {
		t.Run(fmt.Sprintf("%d %s %s", i, c.method, c.where), func(t *testing.T) {
			res, err := inside(c.method, nil, returns(c.res))
			require.Nil(t, res)
			var e *mcprecover.MarshalError
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.where, e.Where)
			require.Error(t, e.Err)
			require.Contains(t, e.Error(), "mcprecover: the result cannot be sent: "+c.where+": ")
			f := middleware.Classify(err)
			want := fault.Retry{}
			if c.method == middleware.MethodCallTool || strings.HasPrefix(c.method, "acme/") { // of which nobody knows what it does
				want = fault.Retry{Effect: fault.EffectUnknown}
			}
			require.Equal(t, fault.Generic(fault.KindInternal).WithRetry(want).WithParty(fault.PartyServer).Data(), f.Data())
		})
	}
	var p *fault.PanicError
	_, err := inside(middleware.MethodCallTool, nil, returns(tool(mcp.CallToolResult{StructuredContent: failing{"panic"}})))
	require.ErrorAs(t, err, &p)
	require.Contains(t, p.Stack(), "failing.MarshalJSON")
	_, err = inside(middleware.MethodCallTool, nil, returns(tool(mcp.CallToolResult{StructuredContent: failing{}})))
	require.ErrorIs(t, err, errSecret)
}

// ownContent is content of a type of the program's.
type ownContent struct{ mcp.Content }

func (ownContent) MarshalJSON() ([]byte, error) { panic(harness.Canary) }

// TestUnwritableResultsAreAnswered sends some of them, of which without a recovery
// the client hears nothing.
func TestUnwritableResultsAreAnswered(t *testing.T) {
	bad := map[string]func(req mcp.Request) mcp.Result{}
	for name, v := range unwritable() {
		if !writes(name) {
			bad[name] = func(req mcp.Request) mcp.Result {
				res := harness.Success(req)
				res.SetMeta(map[string]any{"k": v})
				return res
			}
		}
	}
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelDebug)
		handlers := map[string]harness.Handler{}
		names := map[string]string{}
		for name, res := range bad {
			id := fmt.Sprintf("bad-%d", len(handlers))
			names[id] = name
			handlers[id] = func(_ context.Context, req mcp.Request) (mcp.Result, error) { return res(req), nil }
		}
		s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{logging(log)}})
		for id, name := range names {
			got := s.Call(t, id)
			require.Contains(t, got.Text(), "Internal error: ", name)
			require.NotContains(t, string(got.Wire), harness.Canary, name)
		}
		require.Len(t, log.Records(), len(names))
		for _, r := range log.Records() {
			require.Equal(t, "internal_error", r["outcome"], "%v", r["error"])
		}
	})
}

// counting counts how often it is marshalled.
type counting struct{ n *atomic.Int32 }

func (c counting) MarshalJSON() ([]byte, error) {
	c.n.Add(1)
	return []byte(`{"a": 1}`), nil
}

// TestStructuredContentIsMarshalledOnce proves that the check does not cost a
// second marshalling, and that the user's own middlewares see the Go value.
func TestStructuredContentIsMarshalledOnce(t *testing.T) {
	harness.Each(t, []harness.Shape{harness.ServerRaw, harness.WrapTool}, func(t *testing.T, at harness.Place) {
		var n atomic.Int32
		var seen []any
		look := harness.Look(func(_ context.Context, res mcp.Result, _ error) {
			seen = append(seen, res.(*mcp.CallToolResult).StructuredContent)
		})
		own := &mcp.CallToolResult{StructuredContent: counting{&n}}
		h := func(context.Context, mcp.Request) (mcp.Result, error) { return own, nil }
		got := harness.Call(t, at, h, look, mcprecover.New(nil), look, mcprecover.New(nil), look)
		require.NoError(t, got.Err)
		require.EqualValues(t, 1, n.Load())
		require.Equal(t, []any{counting{&n}, counting{&n}, json.RawMessage(`{"a":1}`)}, seen)
		require.Equal(t, map[string]any{"a": 1.0}, got.Tool().StructuredContent)
		require.Equal(t, counting{&n}, own.StructuredContent, "the handler's own result is not written to")
	})
}

// TestWhatCanBeSentIsTheSame proves that a recovery does not touch what is right.
func TestWhatCanBeSentIsTheSame(t *testing.T) {
	text := &mcp.TextContent{Text: "x", Meta: mcp.Meta{"a": 1, "b": nil, "c": "d", "e": true, "f": 1.5, "g": int64(2), "h": []int{1}}, Annotations: &mcp.Annotations{Priority: 0.5}}
	for _, c := range []struct {
		method string
		res    mcp.Result
	}{
		{middleware.MethodCallTool, &mcp.CallToolResult{}},
		{middleware.MethodCallTool, &mcp.CallToolResult{Meta: text.Meta, Content: []mcp.Content{
			text, &mcp.ImageContent{}, &mcp.AudioContent{}, &mcp.ResourceLink{}, &mcp.EmbeddedResource{}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{}},
			&mcp.ToolUseContent{}, &mcp.ToolResultContent{},
		}}},
		{middleware.MethodCallTool, &mcp.CallToolResult{StructuredContent: json.RawMessage(` { "a" : 1 } `)}},
		{middleware.MethodCallTool, &mcp.CallToolResult{StructuredContent: json.RawMessage(nil)}},
		{middleware.MethodCallTool, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{}}}},
		{middleware.MethodReadResource, &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Meta: text.Meta}}}},
		{middleware.MethodGetPrompt, &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: text}}}},
		{middleware.MethodComplete, &mcp.CompleteResult{}},
		{"tools/list", &mcp.ListToolsResult{Tools: []*mcp.Tool{{InputSchema: map[string]any{}}}}},
		{"prompts/list", &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{{Arguments: []*mcp.PromptArgument{{}}}}}},
		{"resources/list", &mcp.ListResourcesResult{Resources: []*mcp.Resource{{}}}},
		{"resources/templates/list", &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{{}}}},
		{"acme/search", &searchResult{}},
	} {
		res, err := inside(c.method, nil, returns(c.res))
		require.NoError(t, err, c.method)
		require.Same(t, c.res, res, c.method)
		// And again: what was remembered of it does not matter.
		res, err = inside(c.method, nil, returns(c.res))
		require.NoError(t, err)
		require.Same(t, c.res, res)
	}
}

// TestListsAreCheckedOnceAndRight proves that what is remembered of tools does not
// let a broken one through, nor a list that somebody else makes.
func TestListsAreCheckedOnceAndRight(t *testing.T) {
	good := &mcp.Tool{Name: "good", InputSchema: map[string]any{"type": "object"}}
	bad := &mcp.Tool{Name: "bad", InputSchema: map[string]any{"type": func() {}}}
	list := func(tools ...*mcp.Tool) error {
		_, err := inside("tools/list", nil, returns(&mcp.ListToolsResult{Tools: tools}))
		return err
	}
	for range 3 {
		require.NoError(t, list(good))
		require.Error(t, list(good, bad))
		require.Error(t, list(bad))
	}
	// Lists whose tools are made anew for each call do not grow what is remembered
	// for ever; this is more than it holds.
	for range 50 {
		tools := make([]*mcp.Tool, 100)
		for i := range tools {
			cp := *good
			tools[i] = &cp
		}
		require.NoError(t, list(tools...))
		require.Error(t, list(append(slices.Clone(tools), bad)...))
	}
}

func TestMarshalErrorSurvivesStrangers(t *testing.T) {
	e := &mcprecover.MarshalError{Where: "x", Err: evil{}}
	require.NotPanics(t, func() { require.Contains(t, e.Error(), "x") })
	require.NotContains(t, e.Error(), harness.Canary)
	require.ErrorIs(t, &mcprecover.MarshalError{Err: errSecret}, errSecret)
}
