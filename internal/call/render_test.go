package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// fixed are settings that record and give every call the same ID.
func fixed(log *harness.Log) *call.Settings {
	return &call.Settings{Logger: log.Logger(), Recorder: recorder(func(context.Context, mcp.Request) string { return "the-id" })}
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
		"right":        {fault.Step{Action: "Read", Tool: "list_cached", Parameters: topic}, `Next: 1. Read: call list_cached {"topic":"weather"}.`},
		"unknown tool": {fault.Step{Action: "Read", Tool: "no_such_tool", Parameters: topic}, "Next: 1. Read."},
		"an argument":  {fault.Step{Action: "Read", Tool: "list_cached", Parameters: map[string]any{"topic": 7}}, "Next: 1. Read."},
		"none of them": {fault.Step{Action: "Read", Tool: "list_cached"}, "Next: 1. Read: call list_cached {} with 'topic' filled in."},
		"some of them": {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"shop": "x"}}, `Next: 1. Look: call get_order {"shop":"x"} with 'id' and 'year' filled in.`},
		"one is wrong": {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"id": true}}, "Next: 1. Look."},
		"named by hand": {fault.Step{Action: "Look", Tool: "get_order", Parameters: map[string]any{"shop": "x", "id": 1, "year": 2}, Missing: []string{"note", "id"}},
			`Next: 1. Look: call get_order {"id":1,"shop":"x","year":2} with 'note' filled in.`},
		"right option": {fault.Step{Action: "Choose", Options: []fault.Option{{Action: "cached", Tool: "list_cached", Parameters: topic}, {Action: "wait"}}}, `Next: 1. Choose: either call list_cached {"topic":"weather"} or wait.`},
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
			guide := atFailure(func(_ *call.Call, f *failure.Failure) {
				f.Guide(failure.Guidance{Retry: &fault.Retry{Reason: f.Hint().Reason}, Suggestion: f.Fault().Suggestion()})
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
