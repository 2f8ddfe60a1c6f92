package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// message is a JSON-RPC message as far as the tests look at it.
type message struct {
	Result *struct {
		Meta              map[string]json.RawMessage `json:"_meta"`
		Content           []map[string]any           `json:"content"`
		StructuredContent json.RawMessage            `json:"structuredContent"`
		IsError           bool                       `json:"isError"`
		ResultType        string                     `json:"resultType"`
	} `json:"result"`
	Error *struct {
		Code    int64          `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func parse(t *testing.T, wire json.RawMessage) message {
	t.Helper()
	var m message
	require.NoError(t, json.Unmarshal(wire, &m), string(wire))
	return m
}

// fixed are settings that record and give every call the same ID.
func fixed(log *harness.Log) *call.Settings {
	return &call.Settings{Logger: log.Logger(), Recorder: recorder(func(context.Context, mcp.Request) string { return "the-id" })}
}

func TestAFailedTool(t *testing.T) {
	deliberate := fault.RateLimited("the search API", 30*time.Second).
		Step("Read cached results", "list_cached", map[string]any{"topic": "weather"}).Because(errSecret)
	mask := &call.Settings{Mask: func(text string) string { return text }}
	for _, shape := range harness.Tools() {
		for _, era := range []harness.Era{harness.Current, harness.Older} {
			for _, c := range []struct {
				name string
				err  error
				text string
				meta string
			}{
				{
					"deliberate", deliberate,
					"Rate limited: the search API accepts no more calls now.\nRetry: yes, after 30 s.\nNext: 1. Read cached results: call list_cached {\"topic\":\"weather\"}.\nReference: the-id",
					`{"type":"rate_limited","message":"the search API accepts no more calls now.","retry":{"should_retry":true,"retry_after_seconds":30},
					  "recovery_steps":[{"step":1,"action":"Read cached results","tool":"list_cached","parameters":{"topic":"weather"}}],"reference_id":"the-id"}`,
				},
				{
					"classified", fmt.Errorf("%s: %w", harness.Canary, context.DeadlineExceeded),
					"Timeout: the operation did not finish in time.\nSuggestion: Ask for less at a time, if the tool allows it.\nReference: the-id",
					`{"type":"timeout","message":"the operation did not finish in time","suggestion":"Ask for less at a time, if the tool allows it.","reference_id":"the-id"}`,
				},
				{
					"unknown", errSecret,
					"Internal error: the server failed unexpectedly.\nReference: the-id (give it to the user to report)",
					`{"type":"internal_error","message":"the server failed unexpectedly","party":"server","reference_id":"the-id"}`,
				},
			} {
				t.Run(fmt.Sprintf("%s/%s/%s", shape, era, c.name), func(t *testing.T) {
					got := harness.Start(t, harness.Place{Shape: shape, Era: era}, harness.Setup{
						Handlers:   map[string]harness.Handler{"it": harness.Fail(c.err)},
						Middleware: []mcp.Middleware{establish(fixed(harness.NewLog(0))), establish(mask)},
						More:       listCached,
					}).Call(t, "it")
					m := parse(t, got.Wire)
					require.NotNil(t, m.Result)
					require.True(t, m.Result.IsError)
					require.Equal(t, []map[string]any{{"type": "text", "text": c.text}}, m.Result.Content)
					require.JSONEq(t, c.meta, string(m.Result.Meta[middleware.MetaKey]))
					require.Nil(t, m.Result.StructuredContent)
					require.NotContains(t, string(got.Wire), harness.Canary)
				})
			}
		}
	}
}

// listCached adds the tools that recovery steps name.
func listCached(server *mcp.Server) {
	server.AddTool(&mcp.Tool{Name: "get_order", InputSchema: map[string]any{
		"type": "object", "required": []string{"shop", "id", "year"}, "additionalProperties": false,
		"properties": map[string]any{"shop": map[string]any{"type": "string"}, "id": map[string]any{"type": "integer"}, "year": map[string]any{}, "note": map[string]any{}},
	}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	server.AddTool(&mcp.Tool{Name: "list_cached", InputSchema: map[string]any{
		"type": "object", "required": []string{"topic"}, "properties": map[string]any{"topic": map[string]any{"type": "string"}},
	}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
}

// TestStepsThatCannotBeCarriedOut loses the call of a step and keeps its words, and the
// log has a warning, once.
func TestStepsThatCannotBeCarriedOut(t *testing.T) {
	topic := map[string]any{"topic": "weather"}
	for name, c := range map[string]struct {
		step fault.Step
		want string
	}{
		"right":          {fault.Step{Action: "Read", Tool: "list_cached", Parameters: topic}, `Next: 1. Read: call list_cached {"topic":"weather"}.`},
		"unknown tool":   {fault.Step{Action: "Read", Tool: "no_such_tool", Parameters: topic}, "Next: 1. Read."},
		"an argument":    {fault.Step{Action: "Read", Tool: "list_cached", Parameters: map[string]any{"topic": 7}}, "Next: 1. Read."},
		"none of them":   {fault.Step{Action: "Read", Tool: "list_cached"}, "Next: 1. Read: call list_cached {} with 'topic' filled in."},
		"some of them":   {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"shop": "x"}}, `Next: 1. Look: call get_order {"shop":"x"} with 'id' and 'year' filled in.`},
		"an unknown one": {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"shop": "x", "city": "y"}}, "Next: 1. Look."},
		"one is wrong":   {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"id": true}}, "Next: 1. Look."},
		"named by hand": {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"shop": "x", "id": 1, "year": 2}, Missing: []string{"note", "id"}},
			`Next: 1. Look: call get_order {"id":1,"shop":"x","year":2} with 'note' filled in.`},
		"named twice":    {fault.Step{Action: "Read", Tool: "list_cached", Missing: []string{"topic"}}, "Next: 1. Read: call list_cached {} with 'topic' filled in."},
		"right option":   {fault.Step{Action: "Choose", Options: []fault.Option{{Action: "cached", Tool: "list_cached", Parameters: topic}, {Action: "wait"}}}, `Next: 1. Choose: either call list_cached {"topic":"weather"} or wait.`},
		"unknown option": {fault.Step{Action: "Choose", Options: []fault.Option{{Action: "cached", Tool: "nor_this"}, {Action: "wait"}}}, "Next: 1. Choose: either cached or wait."},
	} {
		t.Run(name, func(t *testing.T) {
			log := harness.NewLog(0)
			s := harness.Start(t, rawAt, harness.Setup{
				Handlers:   map[string]harness.Handler{"it": harness.Fail(fault.New(fault.KindConflict, "m").WithSteps(c.step))},
				Middleware: []mcp.Middleware{establish(fixed(log))},
				More:       listCached,
			})
			got := s.Call(t, "it")
			require.Equal(t, "Conflict: m.\n"+c.want, got.Text())
			if step := got.Fault().Data().RecoverySteps[0]; strings.Contains(c.want, "filled in") {
				require.NotEmpty(t, step.Missing)
				require.Equal(t, c.step.Tool, step.Tool)
			}
			s.Call(t, "it")
			dropped := 0
			for _, r := range log.Records() {
				if strings.Contains(fmt.Sprint(r["msg"]), "a step of a failure") {
					dropped++
					require.Equal(t, "it", r["name"])
				}
			}
			lost := 0
			if !strings.Contains(c.want, "call ") {
				lost = 1
			}
			require.Equal(t, lost, dropped, "recorded once")
		})
	}
}

func TestAnotherFailedMethod(t *testing.T) {
	mask := &call.Settings{Mask: func(text string) string { return text }}
	harness.Each(t, harness.Others(), func(t *testing.T, at harness.Place) {
		invoke := func(err error) message {
			got := harness.Call(t, at, harness.Fail(err), establish(fixed(harness.NewLog(0))), establish(mask))
			require.NotContains(t, string(got.Wire), harness.Canary)
			m := parse(t, got.Wire)
			require.NotNil(t, m.Error)
			return m
		}
		resource := at.Shape.Method() == middleware.MethodReadResource

		m := invoke(fmt.Errorf("%w: %s", fault.NotFound("city", "Berln", "Berlin").Because(errSecret), harness.Canary))
		require.EqualValues(t, -32602, m.Error.Code)
		require.Equal(t, "Not found: city 'Berln' does not exist. Did you mean 'Berlin'?\nReference: the-id", m.Error.Message)
		want := map[string]any{
			"type": "not_found", "message": "city 'Berln' does not exist.", "resource_type": "city", "identifier": "Berln",
			"similar_matches": []any{"Berlin"}, "party": "caller", "reference_id": "the-id",
		}
		if resource {
			want["uri"] = harness.URI("it")
		}
		require.Equal(t, want, m.Error.Data)

		m = invoke(errSecret)
		require.EqualValues(t, -32603, m.Error.Code)
		require.Contains(t, m.Error.Message, "Internal error: ")
		require.Contains(t, m.Error.Message, "\nReference: the-id")
		require.Equal(t, "the-id", m.Error.Data["reference_id"])
		require.NotContains(t, m.Error.Data, "uri")
	})
}

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		kind         fault.Kind
		code, legacy int64
	}{
		{fault.KindValidation, -32602, -32004},
		{fault.KindNotFound, -32602, -32000},
		{fault.KindClientError, -32602, -32602},
		{fault.KindUnauthenticated, 403, -32001},
		{fault.KindPermissionDenied, 403, -32001},
		{fault.KindAlreadyExists, 409, 409},
		{fault.KindConflict, 409, 409},
		{fault.KindPreconditionFailed, 409, 409},
		{fault.KindRateLimited, 429, -32002},
		{fault.KindCancelled, 499, 499},
		{fault.KindConnectionFailed, 503, -32003},
		{fault.KindServiceUnavailable, 503, -32003},
		{fault.KindServerError, 503, -32003},
		{fault.KindTimeout, 504, -32003},
		{fault.KindInternal, -32603, -32603},
		{fault.KindTool, -32603, -32603},
		{"own_kind", 409, 409},
	} {
		for legacy, want := range map[bool]int64{false: c.code, true: c.legacy} {
			mw := middleware.Render(&middleware.RenderOptions{LegacyCodes: legacy})
			_, err := mw(returns(nil, fault.New(c.kind, "m")))(t.Context(), middleware.MethodGetPrompt, promptRequest("p"))
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire)
			require.Equal(t, want, wire.Code, "%s, legacy %t", c.kind, legacy)
		}
	}
	// A failed tool has no code.
	res, err := invoke(middleware.Render(&middleware.RenderOptions{LegacyCodes: true}), returns(nil, fault.New(fault.KindNotFound, "m")))
	require.NoError(t, err)
	require.Equal(t, "Not found: m.", text(res))
}

func TestLegacyCodesOverTheWire(t *testing.T) {
	mw := middleware.Render(&middleware.RenderOptions{LegacyCodes: true})
	harness.Each(t, harness.Others(), func(t *testing.T, at harness.Place) {
		for want, err := range map[int64]error{
			-32000: fault.NotFound("file", "a"), -32001: fault.Denied("read", "it"), -32002: fault.RateLimited("it", 0),
			-32003: fault.Unavailable("it"), -32004: fault.Invalid("n", 1, "a string"), -32603: errSecret, 409: fault.AlreadyExists("file", "a"),
			-32021: fmt.Errorf("%w", &jsonrpc.Error{Code: -32021, Message: "deliberate codes stay"}),
		} {
			got := harness.Call(t, at, harness.Fail(err), mw)
			require.Equal(t, want, parse(t, got.Wire).Error.Code)
			if want == -32003 || want == -32004 {
				require.ErrorIs(t, got.Err, mcp.ErrConnectionClosed, "a client of the SDK takes it for its own code")
			} else {
				require.Equal(t, want, got.Protocol().Code)
			}
		}
	})
}

func TestRenderJSON(t *testing.T) {
	mw := middleware.Render(&middleware.RenderOptions{JSON: true})
	deliberate := fault.Invalid("n", "five", "an integer")
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		got := harness.Call(t, at, harness.Fail(deliberate), mw, establish(fixed(harness.NewLog(0))))
		require.True(t, got.Tool().IsError)
		require.Len(t, got.Tool().Content, 1)
		want := `{"success":false,"error":` + string(mustMarshal(t, faults.WithReference(deliberate.WithParty(fault.PartyCaller), "the-id"))) + `}`
		require.JSONEq(t, want, got.Text())
		require.Nil(t, got.Tool().StructuredContent)
		require.Equal(t, deliberate.WithParty(fault.PartyCaller).Data(), data(got.Fault()))
	})
	harness.Each(t, harness.Others(), func(t *testing.T, at harness.Place) {
		got := harness.Call(t, at, harness.Fail(deliberate), mw)
		require.Equal(t, deliberate.Text(), got.Text(), "the message of a protocol error stays a text")
	})
	// What a tool tells itself stays in its own words.
	got := harness.Call(t, rawAt, harness.Tell(), mw)
	require.Equal(t, harness.ToldText, got.Text())
}

func TestRenderStructured(t *testing.T) {
	mw := middleware.Render(&middleware.RenderOptions{Structured: true})
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		for _, pageSize := range []int{0, 1} {
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
				Server: &mcp.ServerOptions{PageSize: pageSize},
				More: func(server *mcp.Server) {
					type out struct{ N int }
					fails := fault.NotFound("file", "a")
					mcp.AddTool(server, &mcp.Tool{Name: "with-schema"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, out, error) {
						return nil, out{}, fails
					})
					mcp.AddTool(server, &mcp.Tool{Name: "without-schema"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
						return nil, nil, fails
					})
					server.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{StructuredContent: 1}, fails
					})
					middleware.AddTool(server, &mcp.Tool{Name: "add-tool"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
						return nil, nil, fails
					}, middleware.Render(nil))
				},
				Middleware: []mcp.Middleware{mw, establish(fixed(harness.NewLog(0)))},
			})
			want := map[string]any{"success": false, "error": map[string]any{
				"type": "not_found", "message": "file 'a' does not exist.", "resource_type": "file", "identifier": "a",
				"suggestion": fault.Generic(fault.KindNotFound).Data().Suggestion, "party": "caller", "reference_id": "the-id",
			}}
			for tool, structured := range map[string]any{"with-schema": nil, "without-schema": want, "raw": want, "add-tool": want} {
				got := s.CallTool(t.Context(), tool, nil)
				require.Equal(t, fault.NotFound("file", "a").Error(), got.Text(), "the text is the same")
				require.Equal(t, structured, got.Tool().StructuredContent, tool)
			}
		}
	}
	// A single handler cannot know its tool's schema.
	got := harness.Call(t, harness.Place{Shape: harness.WrapTool, Era: harness.Current}, harness.Fail(errSecret), mw)
	require.Nil(t, got.Tool().StructuredContent)
}

func TestTheOutermostRenderHolds(t *testing.T) {
	asJSON, plain := middleware.Render(&middleware.RenderOptions{JSON: true}), middleware.Render(nil)
	e := fault.NotFound("file", "a")
	for _, c := range []struct {
		mw   []mcp.Middleware
		json bool
	}{
		{[]mcp.Middleware{asJSON, plain}, true},
		{[]mcp.Middleware{plain, asJSON}, false},
		{[]mcp.Middleware{establish(&call.Settings{}), asJSON}, true},
		{[]mcp.Middleware{establish(&call.Settings{})}, false},
	} {
		got := harness.Call(t, rawAt, harness.Fail(e), c.mw...)
		require.Equal(t, c.json, strings.HasPrefix(got.Text(), "{"), got.Text())
	}
	options := &middleware.RenderOptions{}
	mw := middleware.Render(options)
	options.JSON = true
	require.Equal(t, e.Error(), harness.Call(t, rawAt, harness.Fail(e), mw).Text(), "the options were copied")
}

// TestResultType proves that a failed tool call has the result type exactly for
// clients of 2026-07-28.
func TestResultType(t *testing.T) {
	handlers := map[string]harness.Handler{
		"fault": harness.Fail(fault.NotFound("file", "a")), "unknown": harness.Fail(errSecret), "told": harness.Tell(), "good": harness.Succeed(),
		"set-error": harness.Return(func() *mcp.CallToolResult {
			var res mcp.CallToolResult
			res.SetError(errSecret)
			return &res
		}),
	}
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		want := ""
		if at.Era == harness.Current {
			want = "complete"
		}
		for _, mw := range []mcp.Middleware{middleware.Render(nil), middleware.Render(&middleware.RenderOptions{JSON: true, Structured: true})} {
			s := harness.Start(t, at, harness.Setup{Handlers: handlers, Middleware: []mcp.Middleware{mw}})
			for name := range handlers {
				got := s.Call(t, name)
				require.Equal(t, want, parse(t, got.Wire).Result.ResultType, name)
				require.Equal(t, at.Era == harness.Current, strings.Contains(string(got.Wire), "resultType"), name)
			}
		}
	})
	// A request that somebody made by hand says nothing of its version.
	for _, req := range []mcp.Request{nil, (*mcp.CallToolRequest)(nil), &mcp.CallToolRequest{}, toolRequest("t")} {
		require.NotPanics(t, func() {
			res, err := middleware.Render(nil)(returns(nil, errSecret))(t.Context(), middleware.MethodCallTool, req)
			require.NoError(t, err)
			require.True(t, res.(*mcp.CallToolResult).IsError)
		})
	}
}

func TestMetaIsMerged(t *testing.T) {
	shared := mcp.Meta{"own": "value"}
	told := harness.Return(func() *mcp.CallToolResult {
		return &mcp.CallToolResult{Meta: shared, IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "in words"}}}
	})
	setError := harness.Return(func() *mcp.CallToolResult {
		res := &mcp.CallToolResult{Meta: shared}
		res.SetError(errSecret)
		return res
	})
	for _, at := range []harness.Place{{Shape: harness.WrapTool, Era: harness.Older}, {Shape: harness.ServerRaw, Era: harness.Older}} {
		for name, h := range map[string]harness.Handler{"told": told, "set error": setError} {
			got := harness.Call(t, at, h, masking(harness.NewLog(0)))
			require.Equal(t, "value", got.Tool().Meta["own"], name)
			require.Equal(t, name == "told", got.Machine() == nil, name)
			require.NotContains(t, string(got.Wire), harness.Canary)
			require.Equal(t, mcp.Meta{"own": "value"}, shared, "the handler's own is not written to")
		}
	}
}

// TestGetErrorKeepsWorking proves that a middleware of the user's that stands
// outside still finds the original error, and sees the rendered answer.
func TestGetErrorKeepsWorking(t *testing.T) {
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		for name, original := range map[string]error{
			"unknown": errSecret, "fault": fault.NotFound("file", "a").Because(errSecret), "wrapped": fmt.Errorf("outer: %w", errSecret),
		} {
			var seen *mcp.CallToolResult
			s := harness.Start(t, at, harness.Setup{
				Handlers:   map[string]harness.Handler{"it": harness.Fail(original)},
				Middleware: []mcp.Middleware{masking(harness.NewLog(0))},
			})
			s.Server.AddReceivingMiddleware(harness.Look(func(_ context.Context, res mcp.Result, err error) {
				require.NoError(t, err)
				seen = res.(*mcp.CallToolResult)
			}))
			got := s.Call(t, "it")
			require.ErrorIs(t, seen.GetError(), errSecret, name)
			require.Equal(t, got.Text(), text(seen))
			require.NotContains(t, s.Sent(), harness.Canary)
		}
	})
}

// TestInputRequestsPass compares the answers of handlers that ask for input with
// and without middlewares.
func TestInputRequestsPass(t *testing.T) {
	ask := mcp.InputRequestMap{"ask": &mcp.ElicitParams{Message: "how many?"}}
	asks := func(_ context.Context, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.CallToolRequest:
			if r.Params.InputResponses == nil {
				return &mcp.CallToolResult{InputRequests: ask, RequestState: "s", Meta: mcp.Meta{"k": "v"}}, nil
			}
		case *mcp.GetPromptRequest:
			if r.Params.InputResponses == nil {
				return &mcp.GetPromptResult{InputRequests: ask, RequestState: "s"}, nil
			}
		case *mcp.ReadResourceRequest:
			if r.Params.InputResponses == nil {
				return &mcp.ReadResourceResult{InputRequests: ask, RequestState: "s"}, nil
			}
		}
		return harness.Success(req), nil
	}
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		if at.Shape == harness.ServerCompletion || at.Shape.Method() == middleware.MethodReadResource && at.Era == harness.Older {
			return // the SDK cannot ask there
		}
		var sent [2]string
		log := harness.NewLog(0)
		for i, mw := range [][]mcp.Middleware{nil, {establish(fixed(log)), masking(log), middleware.Render(&middleware.RenderOptions{JSON: true, Structured: true})}} {
			s := harness.Start(t, at, harness.Setup{
				Handlers: map[string]harness.Handler{"it": asks}, Middleware: mw,
				Client: &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
				}},
			})
			s.Call(t, "it")
			sent[i] = s.Sent()
		}
		require.Equal(t, sent[0], sent[1])
		require.Contains(t, sent[0], "fine")
		require.Empty(t, log.Records())
	})
}

// TestProtocolErrorsPass proves that a protocol error that somebody made on
// purpose is sent as it is, and a wrapped one without its wrapping.
func TestProtocolErrorsPass(t *testing.T) {
	const raw = `{"code":-32021,"message":"the client must support elicitation","data":{"requiredCapabilities":{"elicitation":{}},"n":1e2}}`
	var wire jsonrpc.Error
	require.NoError(t, json.Unmarshal([]byte(raw), &wire))
	for name, err := range map[string]error{
		"bare": &wire, "wrapped": fmt.Errorf("%s: %w", harness.Canary, fmt.Errorf("again: %w", &wire)), "joined": errors.Join(errSecret, &wire),
	} {
		harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
			log := harness.NewLog(0)
			got := harness.Call(t, at, harness.Fail(err), masking(log))
			var sent struct{ Error json.RawMessage }
			require.NoError(t, json.Unmarshal(got.Wire, &sent))
			require.Equal(t, raw, string(sent.Error), name)
			require.NotContains(t, string(got.Wire), harness.Canary)
			if name == "bare" {
				require.Empty(t, log.Records(), "nothing was hidden")
			} else {
				require.Contains(t, log.Only(t)["error"], harness.Canary)
			}
		})
	}
}

// TestTheSDKsOwnErrorsPass compares what the SDK answers by itself, with and
// without middlewares.
func TestTheSDKsOwnErrorsPass(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		log := harness.NewLog(0)
		var sent [2]string
		for i, mw := range [][]mcp.Middleware{nil, {establish(fixed(log)), masking(log)}} {
			s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
				Handlers: map[string]harness.Handler{"it": harness.Succeed()}, Middleware: mw,
				More: func(server *mcp.Server) {
					server.AddResource(&mcp.Resource{URI: "x:///y", Name: "y"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
						return nil, mcp.ResourceNotFoundError("x:///y")
					})
				},
			})
			client, ctx := s.Client, t.Context()
			for name, c := range map[string]func() error{
				"unknown tool":     func() error { return second(client.CallTool(ctx, &mcp.CallToolParams{Name: "none"})) },
				"unknown prompt":   func() error { return second(client.GetPrompt(ctx, &mcp.GetPromptParams{Name: "none"})) },
				"unknown resource": func() error { return second(client.ReadResource(ctx, &mcp.ReadResourceParams{URI: "none:///x"})) },
				"missing resource": func() error { return second(client.ReadResource(ctx, &mcp.ReadResourceParams{URI: "x:///y"})) },
				"bad cursor":       func() error { return second(client.ListTools(ctx, &mcp.ListToolsParams{Cursor: "!"})) },
				"no reference":     func() error { return second(client.Complete(ctx, &mcp.CompleteParams{})) },
				"no argument": func() error {
					return second(client.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "x"}}))
				},
			} {
				require.Error(t, c(), name)
			}
			sent[i] = s.Sent()
		}
		require.ElementsMatch(t, withoutIDs(sent[0]), withoutIDs(sent[1]))
		require.Empty(t, log.Records())
	}
}

// TestBrokenDataOfAProtocolError proves that data that are no JSON do not keep the
// error from its caller, who over stdio would lose the session.
func TestBrokenDataOfAProtocolError(t *testing.T) {
	broken := &jsonrpc.Error{Code: -32002, Message: "in words", Data: json.RawMessage(`{"a":`)}
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		s := harness.Start(t, at, harness.Setup{
			Handlers:   map[string]harness.Handler{"bad": harness.Fail(broken), "good": harness.Succeed()},
			Middleware: []mcp.Middleware{establish(&call.Settings{})},
		})
		got := s.Call(t, "bad")
		require.EqualValues(t, -32002, got.Protocol().Code)
		require.Equal(t, "in words", got.Protocol().Message)
		require.Equal(t, "fine", s.Call(t, "good").Text())
		require.Equal(t, `{"a":`, string(broken.Data), "the handler's own is not written to")
	})
}

// TestAnUnknownResourceWithAStrangeAddress proves the same of what the SDK says of
// an address that it cannot quote in JSON.
func TestAnUnknownResourceWithAStrangeAddress(t *testing.T) {
	const uri = "none:///\x01\a\U0001F9EF"
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		s := harness.Start(t, harness.Place{Shape: harness.ServerResource, Era: era}, harness.Setup{
			Handlers: map[string]harness.Handler{"good": harness.Succeed()}, Middleware: []mcp.Middleware{establish(&call.Settings{})},
		})
		_, err := s.Client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		var wire *jsonrpc.Error
		require.ErrorAs(t, err, &wire)
		require.Equal(t, mcp.CodeResourceNotFound, wire.Code)
		var data map[string]string
		require.NoError(t, json.Unmarshal(wire.Data, &data))
		require.Equal(t, map[string]string{"uri": uri}, data)
		require.Equal(t, "fine", s.Call(t, "good").Text())
	}
}

// withoutIDs returns the messages without their IDs, because the calls were made
// in no particular order.
func withoutIDs(sent string) []string {
	lines := strings.Split(strings.TrimSpace(sent), "\n")
	for i, line := range lines {
		before, after, _ := strings.Cut(line, `"id":`)
		lines[i] = before + strings.TrimLeft(after, "0123456789")
	}
	return lines
}

// TestToldFailuresStay proves that the result with which a tool tells its failure
// itself gets the machine form and is otherwise left alone.
func TestToldFailuresStay(t *testing.T) {
	shout := &call.Settings{Mask: strings.ToUpper}
	image := &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "A:///B", Text: "embedded", MIMEType: "text/plain"}}
	link := &mcp.ResourceLink{URI: "A:///B", Name: "link", MIMEType: "text/plain"}
	words := &mcp.TextContent{Text: "in words", Meta: mcp.Meta{"k": "v"}}
	content := []mcp.Content{words, image, embedded, link}
	told := &mcp.CallToolResult{IsError: true, Content: content, StructuredContent: map[string]any{"LEFT": "ALONE"}, Meta: mcp.Meta{"k": "v"}}

	res, err := invoke(establish(shout), returns(told, nil))
	require.NoError(t, err)
	got := res.(*mcp.CallToolResult)
	require.True(t, got.IsError)
	require.Equal(t, "IN WORDS", text(got))
	require.Equal(t, mcp.Meta{"k": "V"}, got.Content[0].(*mcp.TextContent).Meta)
	require.Equal(t, mcp.Meta{"k": "v"}, words.Meta)
	require.Same(t, image, got.Content[1])
	require.Equal(t, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "A:///B", Text: "EMBEDDED", MIMEType: "text/plain"}}, got.Content[2])
	require.Equal(t, &mcp.ResourceLink{URI: "A:///B", Name: "LINK", MIMEType: "text/plain"}, got.Content[3])
	require.Equal(t, told.StructuredContent, got.StructuredContent)
	f, _ := middleware.FaultOf(got, nil)
	require.Equal(t, fault.New(fault.KindTool, "IN WORDS").Data(), f.Data())

	require.Equal(t, "in words", words.Text, "the handler's own is not written to")
	require.Equal(t, "embedded", embedded.Resource.Text)
	require.Equal(t, "link", link.Name)
	require.Equal(t, []mcp.Content{words, image, embedded, link}, told.Content)
	require.Equal(t, mcp.Meta{"k": "v"}, told.Meta)

	told.StructuredContent = map[string]any{"secret": "text"}
	res, err = invoke(establish(shout), returns(told, nil))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"SECRET": "[redacted]"}, res.(*mcp.CallToolResult).StructuredContent, "cleaned as a client decodes it")
	res, err = invoke(establish(&call.Settings{}), returns(told, nil))
	require.NoError(t, err)
	require.Equal(t, told.StructuredContent, res.(*mcp.CallToolResult).StructuredContent)
}

// TestAToldFailureHasTheKindOfItsError proves that a tool that words its failure
// itself, and says what the error was, has the error's kind and its own words.
func TestAToldFailureHasTheKindOfItsError(t *testing.T) {
	for want, err := range map[fault.Kind]error{
		fault.KindTimeout: context.DeadlineExceeded, fault.KindConflict: fault.New(fault.KindConflict, "m"),
		fault.KindTool: errSecret,
	} {
		log := harness.NewLog(0)
		got := harness.Call(t, rawAt, harness.Return(func() *mcp.CallToolResult {
			res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "in words"}}}
			res.SetError(err)
			return res
		}), establish(fixed(log)))
		require.Equal(t, "in words", got.Text())
		require.Equal(t, fault.New(want, "in words").Data(), data(got.Fault()))
	}
}

// TestALongToldFailureIsScrubbedBeforeItIsCut proves that cutting what the machine
// form repeats does not hide a secret from the scrubber.
func TestALongToldFailureIsScrubbedBeforeItIsCut(t *testing.T) {
	const secret = "SECRET-WITH-AN-END"
	scrub := &call.Settings{Mask: func(text string) string { return strings.ReplaceAll(text, secret, "[gone]") }}
	for cut := range len(secret) {
		long := strings.Repeat("x", 500-cut) + secret + strings.Repeat("y", 500)
		res, err := invoke(establish(scrub), returns(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: long}}}, nil))
		require.NoError(t, err)
		f, _ := middleware.FaultOf(res, nil)
		require.NotContains(t, f.Message(), "S", "cut after %d bytes of the secret", cut)
		require.LessOrEqual(t, len(f.Message()), 600)
		require.Contains(t, text(res), "[gone]")
	}
}

// TestAnAnswerOfAnotherServerKeepsItsReference proves that what a gateway passes
// on stays consistent: its text and its machine form name the same reference.
func TestAnAnswerOfAnotherServerKeepsItsReference(t *testing.T) {
	backend := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{"it": harness.Fail(errSecret)}, Middleware: []mcp.Middleware{masking(harness.NewLog(0))},
	})
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		got := harness.Call(t, at, func(context.Context, mcp.Request) (mcp.Result, error) {
			res := backend.Call(t, "it")
			return res.Result, res.Err
		}, establish(fixed(harness.NewLog(0))), masking(harness.NewLog(0)))
		require.Equal(t, fault.KindInternal, got.Fault().Kind())
		require.NotEmpty(t, got.Reference())
		require.Contains(t, got.Text(), got.Reference())
	})
}

// TestAPanicWhileAnsweringIsSurvived proves that untrusted code cannot keep a
// failed call from its answer.
func TestAPanicWhileAnsweringIsSurvived(t *testing.T) {
	settings := &call.Settings{Mask: func(string) string { panic(harness.Canary) }, Logger: quiet}
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		for _, err := range []error{fault.New("own", "own").Because(errSecret), fault.NotFound("file", "a").Because(errSecret)} {
			got := harness.Call(t, at, harness.Fail(err), establish(settings))
			require.NotContains(t, string(got.Wire), harness.Canary)
			f, failed := middleware.FaultOf(got.Result, got.Err)
			require.True(t, failed)
			require.Equal(t, fault.KindInternal, f.Kind())
			require.NotNil(t, got.Machine(), "the machine form is there")
			require.Contains(t, got.Text(), "Internal error: ")
		}
	})
}

// TestWithoutAMask proves that the text of an error goes out as it is, as it would
// without us, but for that of bugs.
func TestWithoutAMask(t *testing.T) {
	ours := func() mcp.Middleware { return establish(&call.Settings{Logger: quiet}) }
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"unknown", errors.New("it broke\nat once"), "it broke"},
		{"classified", fmt.Errorf("reading: %w", context.DeadlineExceeded), "reading: context deadline exceeded"},
		{"no text", errors.New(""), "Internal error: the server failed unexpectedly."},
		{"panic", &fault.PanicError{Value: harness.Canary}, "Internal error: the server failed unexpectedly."},
		{"hidden", classify.HideError(errSecret, fault.New("own", "hidden")), "Own: hidden."},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
				got := harness.Call(t, at, harness.Fail(c.err), ours())
				first, _, _ := strings.Cut(got.Text(), "\n")
				require.Equal(t, c.want, first)
				require.NotContains(t, string(got.Wire), harness.Canary)
			})
		})
	}
	// Reveal shows the text of bugs too, unless there is a mask.
	reveal := establish(&call.Settings{Reveal: true, Logger: quiet})
	res, err := invoke(reveal, returns(nil, &fault.PanicError{Value: "it broke"}))
	require.NoError(t, err)
	require.Contains(t, text(res), "Internal error: panic: it broke.")
	res, err = invoke(middleware.Chain(reveal, masking(harness.NewLog(0))), returns(nil, &fault.PanicError{Value: harness.Canary}))
	require.NoError(t, err)
	require.NotContains(t, text(res), harness.Canary)
}

// TestReferenceOnlyWhereThereIsARecord proves that a reference leads somewhere.
func TestReferenceOnlyWhereThereIsARecord(t *testing.T) {
	e := fault.NotFound("file", "a")
	got := harness.Call(t, rawAt, harness.Fail(e), establish(&call.Settings{}))
	require.Empty(t, got.Reference(), "nobody records it")
	got = harness.Call(t, rawAt, harness.Fail(e), establish(fixed(harness.NewLog(0))))
	require.Equal(t, "the-id", got.Reference())
	require.NotContains(t, got.Text(), "the-id", "what was worded for the caller costs the model no reference")
	log := harness.NewLog(0)
	got = harness.Call(t, rawAt, harness.Fail(errSecret), masking(log))
	require.Equal(t, log.Only(t)["reference"], got.Reference())
	require.Contains(t, got.Text(), got.Reference())
}

// TestUntrustedWordsAreScrubbed proves that what stands in an answer of ours and is not
// ours, the public hint of an error and the reason of a rule, passes the scrubber.
func TestUntrustedWordsAreScrubbed(t *testing.T) {
	scrub := func(text string) string { return strings.ReplaceAll(text, harness.Canary, "***") }
	rule := func(error) (fault.Hint, bool) {
		return fault.Hint{Retry: fault.RetryNo, Reason: "It is " + harness.Canary}, true
	}
	for name, c := range map[string]struct {
		err   error
		rules []fault.HintRule
		want  string
	}{
		"hint of an unknown error":   {public{hint: "Look at " + harness.Canary}, nil, "Suggestion: Look at ***."},
		"hint of a known error":      {public{hint: "Look at " + harness.Canary, err: io.EOF}, nil, "Suggestion: Look at ***."},
		"hint and kind":              {public{hint: "Look at " + harness.Canary, kind: "busy"}, nil, "Suggestion: Look at ***."},
		"rule about a known error":   {io.EOF, []fault.HintRule{rule}, "Retry: no. It is ***."},
		"rule about an unknown one":  {errSecret, []fault.HintRule{rule}, "Retry: no. It is ***."},
		"rule about a worded one":    {fault.New("a", "b"), []fault.HintRule{rule}, "Retry: no. It is ***."},
		"nothing from outside":       {net.ErrClosed, nil, "Connection failed: "},
		"rule, and one from outside": {public{hint: harness.Canary, err: io.EOF}, []fault.HintRule{rule}, "Suggestion: ***."},
	} {
		t.Run(name, func(t *testing.T) {
			guide := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
				res, err := next(ctx, c.Method(), req)
				f := c.Failure(res, err)
				f.Guide(failure.Guidance{Retry: &fault.Retry{Reason: f.Hint().Reason}, Suggestion: f.Fault().Suggestion()})
				return res, err
			})
			mw := middleware.Chain(establish(&call.Settings{Mask: scrub, Logger: quiet, Hints: c.rules}), guide)
			res, err := invoke(mw, returns(nil, c.err))
			require.NoError(t, err)
			require.Contains(t, text(res), c.want)
			raw, err := json.Marshal(res)
			require.NoError(t, err)
			require.NotContains(t, string(raw), harness.Canary)
		})
	}
}
