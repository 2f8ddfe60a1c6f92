package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
)

// server is a server with the tool "t", which writes, without what is around one. It counts what
// it is asked for.
type server struct {
	answer  func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
	hint    *mcp.ToolAnnotations
	listErr error // in the place of a list
	empty   bool  // the list has no tool
	asked   map[string]int
}

func (s *server) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[method]++
	switch {
	case method == listTools && s.listErr != nil:
		return nil, s.listErr
	case method == listTools && s.empty:
		return &mcp.ListToolsResult{}, nil
	case method == listTools:
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: s.hint}}}, nil
	case method == middleware.MethodCallTool && s.answer != nil:
		r, _ := req.(*mcp.CallToolRequest)
		res, err := s.answer(ctx, r)
		if err != nil {
			return nil, err
		}
		return res, nil
	default:
		return &mcp.CallToolResult{}, nil
	}
}

const listTools = "tools/list"

func toolCall(name, arguments string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Session: &mcp.ServerSession{}, Params: &mcp.CallToolParamsRaw{Name: name, Arguments: json.RawMessage(arguments)}}
}

// one makes a call of the tool "t" that is audited, and returns its records.
func one(t testing.TB, s *server, o audit.Options, arguments string) []audit.Record {
	t.Helper()
	k := newKept()
	o.Log = k.Log
	func() {
		defer func() { _ = recover() }() // a panic passes
		_, _ = audit.New(&o)(s.handle)(t.Context(), middleware.MethodCallTool, toolCall("t", arguments))
	}()
	return k.records(t)
}

// TestEffects: the effect that a failure states is recorded, and an unknown one is not guessed.
func TestEffects(t *testing.T) {
	unknownTool := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: `unknown tool "t"`}
	returns := func(err error) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
	}
	says := func(effect fault.Effect) *fault.Error {
		return fault.New(fault.KindServiceUnavailable, "x").WithRetry(fault.Retry{Effect: effect})
	}
	for about, c := range map[string]struct {
		server server
		want   string
	}{
		"the handler says none":      {server{answer: returns(says(fault.EffectNone))}, "none"},
		"the handler says committed": {server{answer: returns(says(fault.EffectCommitted))}, "committed"},
		"nobody says anything":       {server{answer: returns(errors.New("x"))}, "unknown"},
		"a panic with an error that says none": {server{answer: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			panic(says(fault.EffectNone))
		}}, "unknown"},
		"it reads, whatever it says":            {server{answer: returns(says(fault.EffectCommitted)), hint: &mcp.ToolAnnotations{ReadOnlyHint: true}}, "none"},
		"there is no such tool":                 {server{answer: returns(unknownTool), empty: true}, "none"},
		"a listed tool that says there is none": {server{answer: returns(unknownTool)}, "unknown"},
		"the list cannot be had":                {server{answer: returns(unknownTool), listErr: errors.New("x")}, "unknown"},
		"a hidden tool that fails otherwise":    {server{answer: returns(&jsonrpc.Error{Code: 409, Message: "busy"}), empty: true}, "unknown"},
		"it asks its caller first": {server{answer: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{}}}, nil
		}}, "unknown"},
		"a success": {server{}, "committed"},
		"seen, whatever the handler says": {server{answer: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			retry.Began(ctx)(nil)
			return nil, says(fault.EffectNone)
		}}, "committed"},
		"seen before a panic": {server{answer: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			retry.Began(ctx)(nil)
			panic("x")
		}}, "committed"},
		"begun, and refused": {server{answer: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			retry.Began(ctx)
			return nil, fault.RateLimited("it", 0)
		}}, "unknown"},
	} {
		t.Run(about, func(t *testing.T) {
			records := one(t, &c.server, audit.Options{Logger: quiet()}, `{}`)
			require.Equal(t, c.want, string(records[len(records)-1].Effect))
		})
	}
	// The handler of one tool has no list: what it says itself proves nothing.
	k := newKept()
	h := middleware.Tool(returns(unknownTool), audit.New(&audit.Options{Log: k.Log}))
	_, _ = h(t.Context(), toolCall("t", `{}`))
	require.Equal(t, "begin tools/call t\nend tools/call t: protocol_error unknown (not_found)\n", told(k.records(t)))

	// A panic that is recovered inside is one.
	k = newKept()
	inside := middleware.Chain(audit.New(&audit.Options{Log: k.Log}), mcprecover.New(&mcprecover.Options{Logger: quiet()}))
	s := server{answer: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic(says(fault.EffectNone))
	}}
	_, _ = inside(s.handle)(t.Context(), middleware.MethodCallTool, toolCall("t", `{}`))
	require.Contains(t, told(k.records(t)), "end tools/call t: panic unknown")
}

// TestAnEndIsShort: it has the arguments of its begin, and how long the call took.
func TestAnEndIsShort(t *testing.T) { synctest.Test(t, anEndIsShort) }

func anEndIsShort(t *testing.T) {
	t.Helper()
	slow := func(fails bool) *server {
		return &server{answer: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(20 * time.Millisecond)
			if fails {
				panic("p")
			}
			return &mcp.CallToolResult{}, nil
		}}
	}
	for _, fails := range []bool{false, true} {
		for _, o := range []audit.Options{{}, {Arguments: audit.Omitted}} {
			func() {
				defer func() { require.Equal(t, fails, recover() != nil) }()
				k := newKept()
				o.Log = k.Log
				defer func() {
					records := k.records(t)
					require.Len(t, records, 2)
					begin, end := records[0], records[1]
					require.Equal(t, o.Arguments == audit.Redacted, begin.Arguments != nil)
					require.Zero(t, begin.DurationMS)
					require.Nil(t, end.Arguments)
					require.Equal(t, begin.Seq, end.Begin)
					require.InDelta(t, 20.0, end.DurationMS, 0)
				}()
				_, _ = audit.New(&o)(slow(fails).handle)(t.Context(), middleware.MethodCallTool, toolCall("t", `{"a":1}`))
			}()
		}
	}
	records := one(t, &server{}, audit.Options{}, `{"a":"`+strings.Repeat("x", 20_000)+`"}`)
	require.NotZero(t, records[0].ArgumentsBytes)
	require.Zero(t, records[1].ArgumentsBytes)
}

// TestBoundsOfArguments: at the bounds, and what stands in JSON is kept as it is.
func TestBoundsOfArguments(t *testing.T) {
	of := func(o audit.Options, arguments string) audit.Record { return one(t, &server{}, o, arguments)[0] }
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	require.NotNil(t, of(audit.Options{}, text(16<<10)).Arguments)
	require.Nil(t, of(audit.Options{}, text(16<<10+1)).Arguments)
	require.Equal(t, 16<<10+1, of(audit.Options{}, text(16<<10+1)).ArgumentsBytes)

	// What is escaped in a record grows: each of these takes six bytes there.
	require.NotNil(t, of(audit.Options{}, `{"a":"`+strings.Repeat("<", 5_000)+`"}`).Arguments)
	grown := of(audit.Options{}, `{"a":"`+strings.Repeat("<", 10_000)+`"}`)
	require.Nil(t, grown.Arguments)
	require.Equal(t, 10_008, grown.ArgumentsBytes)

	exact := `{"amount":12345678901234567890.10,"e":1e400}`
	require.Contains(t, string(of(audit.Options{}, exact).Arguments), exact, "digits are what an amount is")
	for _, none := range []string{`{"a":1} {"b":2}`, `{"a":1}]`, `{"a":`} {
		got := of(audit.Options{}, none)
		require.Nil(t, got.Arguments, none)
		require.Equal(t, len(none), got.ArgumentsBytes)
	}
	require.Contains(t, string(of(audit.Options{}, `{"a":"x\u202e\u2028"}`).Arguments), `\u202e`, "nothing invisible stands in a log")
}

// TestWhatALookupDoesIsRecorded: who calls a tool in the context of a look-up runs its handler.
func TestWhatALookupDoesIsRecorded(t *testing.T) {
	k, s := newKept(), &server{}
	h := audit.New(&audit.Options{Log: k.Log})(s.handle)
	_, _ = h(middleware.Lookup(t.Context()), middleware.MethodCallTool, toolCall("t", `{}`))
	require.Equal(t, "begin tools/call t\nend tools/call t: ok committed\n", told(k.records(t)))
}

// TestACallInsideOfACall is a call of its own.
func TestACallInsideOfACall(t *testing.T) {
	k, s := newKept(), &server{}
	o := &audit.Options{Log: k.Log}
	prompts := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == middleware.MethodCallTool {
				_, _ = next(ctx, middleware.MethodGetPrompt, &mcp.GetPromptRequest{Session: req.(*mcp.CallToolRequest).Session, Params: &mcp.GetPromptParams{Name: "p"}})
			}
			return next(ctx, method, req)
		}
	}
	h := middleware.Chain(audit.New(o), prompts, audit.New(o))(s.handle)
	_, _ = h(t.Context(), middleware.MethodCallTool, toolCall("t", `{}`))
	require.Equal(t, "begin tools/call t\ncall prompts/get p: ok none\nend tools/call t: ok committed\n", told(k.records(t)))
}

// TestLookups: the server is asked for its tools where a tool is called, once, and nowhere else.
func TestLookups(t *testing.T) {
	for _, arguments := range []audit.Arguments{audit.Redacted, audit.Omitted} {
		s := &server{}
		one(t, s, audit.Options{Arguments: arguments}, `{"a":1}`)
		require.Equal(t, map[string]int{"tools/list": 1, "tools/call": 1}, s.asked)
	}
	for method, req := range map[string]mcp.Request{
		"resources/read":      &mcp.ReadResourceRequest{Session: &mcp.ServerSession{}, Params: &mcp.ReadResourceParams{URI: "a:b"}},
		"prompts/get":         &mcp.GetPromptRequest{Session: &mcp.ServerSession{}, Params: &mcp.GetPromptParams{Name: "p"}},
		"resources/subscribe": &mcp.SubscribeRequest{Session: &mcp.ServerSession{}, Params: &mcp.SubscribeParams{URI: "a:b"}},
		"acme/own":            &mcp.SubscribeRequest{Session: &mcp.ServerSession{}, Params: &mcp.SubscribeParams{}},
		"tools/list":          &mcp.ListToolsRequest{Session: &mcp.ServerSession{}, Params: &mcp.ListToolsParams{}},
	} {
		s := &server{}
		_, _ = audit.New(&audit.Options{Log: newKept().Log})(s.handle)(t.Context(), method, req)
		require.Equal(t, map[string]int{method: 1}, s.asked)
	}
}

// TestNamesInRecords are bounded, whole texts, without credentials.
func TestNamesInRecords(t *testing.T) {
	k := newKept()
	s := &server{answer: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, fault.New(fault.Kind("own\n"+strings.Repeat("k", 1000)), "x")
	}}
	h := audit.New(&audit.Options{Log: k.Log})(s.handle)
	long := strings.Repeat("m", 1000)
	for _, name := range []string{"a\xffb", "https://bob:" + harness.Canary + "@example.com/", "x\n{}\u202ey", strings.Repeat("\u00e9", 1000)} {
		_, _ = h(t.Context(), middleware.MethodCallTool, toolCall(name, `{}`))
	}
	_, _ = h(t.Context(), "own/"+long, &mcp.SubscribeRequest{Session: &mcp.ServerSession{}, Params: &mcp.SubscribeParams{}})
	records := k.records(t)
	require.Equal(t, "ab", records[0].Target)
	require.NotContains(t, k.text(), harness.Canary)
	require.NotContains(t, records[4].Target, "\n")
	require.NotContains(t, records[4].Target, "\u202e")
	for _, r := range records {
		require.LessOrEqual(t, len(r.Target), 256+40, "and how much is left out")
		require.LessOrEqual(t, len(r.Method), 256+40)
		require.LessOrEqual(t, len(r.Kind), 256+40)
		require.NotContains(t, r.Kind, "\n")
		require.NotContains(t, r.Target+r.Method+r.Kind, "\ufffd")
	}
}
