package mask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
)

// leaky are results with a secret in each of their parts.
func leaky(req mcp.Request) mcp.Result {
	const secret = "token=" + harness.Canary
	raw := json.RawMessage(`{"kept":"order 17","\u0070assword":"` + harness.Canary + `","n":[1,{"api_key":["` + harness.Canary + `"]}]}`)
	meta := mcp.Meta{"kept": 17, "note": secret, "password": harness.Canary}
	contents := func() *mcp.ResourceContents {
		return &mcp.ResourceContents{URI: "https://bob:" + harness.Canary + "@h.example.com/x", Text: secret, Blob: []byte("order 17, " + secret), Meta: meta}
	}
	blocks := []mcp.Content{
		&mcp.TextContent{Text: "order 17: " + secret, Meta: meta}, &mcp.TextContent{Text: string(raw)},
		&mcp.EmbeddedResource{Resource: contents(), Meta: meta}, &mcp.EmbeddedResource{},
		&mcp.ResourceLink{URI: "https://bob:" + harness.Canary + "@h.example.com/x", Name: secret, Title: secret, Description: secret, Meta: meta},
		&mcp.ResourceLink{URI: "x:1", Icons: []mcp.Icon{{Source: "data:image/png;base64,AAAA"}, {Source: "https://bob:" + harness.Canary + "@h.example.com/x.png"}}},
		&mcp.ImageContent{Data: []byte("order 17"), MIMEType: "image/png", Meta: meta}, &mcp.AudioContent{Data: []byte("order 17"), MIMEType: "audio/wav", Meta: meta},
	}
	switch req.(type) {
	case *mcp.CallToolRequest:
		res := &mcp.CallToolResult{Content: blocks, StructuredContent: raw, Meta: meta}
		return middleware.NextSteps(res, fault.Step{Action: "log in with " + secret, Tool: "it", Parameters: map[string]any{"note": secret}})
	case *mcp.ReadResourceRequest:
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents(), {URI: "x:order 17"}}, Meta: meta}
	case *mcp.GetPromptRequest:
		messages := []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "order 17"}}}
		for _, b := range blocks[:3] {
			messages = append(messages, &mcp.PromptMessage{Role: "user", Content: b})
		}
		return &mcp.GetPromptResult{Description: secret, Messages: messages, Meta: meta}
	default:
		return harness.Success(req)
	}
}

// TestSuccesses searches every byte that left, and what the handler returned.
func TestSuccesses(t *testing.T) {
	harness.Each(t, []harness.Shape{
		harness.ServerRaw, harness.WrapTool, harness.ServerResource, harness.WrapResource, harness.ServerPrompt, harness.WrapPrompt,
	}, func(t *testing.T, at harness.Place) {
		var returned mcp.Result
		var before []byte
		s := harness.Start(t, at, harness.Setup{
			Middleware: []mcp.Middleware{mask.Successes()},
			Handlers: map[string]harness.Handler{"it": func(_ context.Context, req mcp.Request) (mcp.Result, error) {
				returned = leaky(req)
				before, _ = json.Marshal(returned)
				return returned, nil
			}},
		})
		answer := s.Call(t, "it")
		require.NoError(t, answer.Err)
		require.Nil(t, answer.Fault())
		require.NotEmpty(t, answer.Wire)
		require.NotContains(t, string(answer.Wire), harness.Canary)
		require.Contains(t, string(answer.Wire), "order 17")
		require.Contains(t, string(answer.Wire), "[redacted]")
		after, err := json.Marshal(returned)
		require.NoError(t, err)
		require.NotContains(t, string(after), "[redacted]", "what the handler returned is its own; the SDK only adds to it")
		require.Equal(t, strings.Count(string(before), harness.Canary), strings.Count(string(after), harness.Canary))
	})
}

// TestSuccessesOfNamedTools: only those are changed, and one that nobody has is told once.
func TestSuccessesOfNamedTools(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
		Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: log.Logger()}), mask.Successes("it", "gone")},
		Handlers: map[string]harness.Handler{
			"it":    func(_ context.Context, req mcp.Request) (mcp.Result, error) { return leaky(req), nil },
			"other": func(_ context.Context, req mcp.Request) (mcp.Result, error) { return leaky(req), nil },
		},
	})
	require.NotContains(t, string(s.Call(t, "it").Wire), harness.Canary)
	require.Contains(t, string(s.Call(t, "other").Wire), harness.Canary)
	for range 2 {
		_, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
	}
	record := log.Only(t)
	require.Contains(t, record["msg"], "a middleware is for tools that the server does not list")
	require.Equal(t, []any{"gone"}, record["tools"])
	require.PanicsWithValue(t, "mask.Successes: tools[1] is empty; give a name", func() { mask.Successes("a", "") })
}

type credentials struct {
	User  string `json:"user"`
	Token string `json:"token"`
	PIN   int    `json:"pin"`
}

// TestSuccessesFitTheirSchema: what is hidden keeps its type. Where the schema wants more of a
// secret than its type nothing is shown, and the call counts as made.
func TestSuccessesFitTheirSchema(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		at := harness.Place{Shape: harness.ServerRaw, Era: era}
		s := harness.Start(t, at, harness.Setup{Middleware: []mcp.Middleware{
			mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), mask.Successes("loose", "strict", "strict-read"),
		}})
		give := func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, credentials, error) {
			return nil, credentials{"bob", harness.Canary, 1234}, nil
		}
		mcp.AddTool(s.Server, &mcp.Tool{Name: "loose"}, give)
		strict, err := jsonschema.For[credentials](nil)
		require.NoError(t, err)
		strict.Properties["token"].Pattern = "^[a-z0-9-]+$"
		mcp.AddTool(s.Server, &mcp.Tool{Name: "strict", OutputSchema: strict}, give)
		mcp.AddTool(s.Server, &mcp.Tool{Name: "strict-read", OutputSchema: strict, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, give)

		loose := s.CallTool(t.Context(), "loose", nil)
		require.Nil(t, loose.Fault())
		require.JSONEq(t, `{"user":"bob","token":"[redacted]","pin":0}`, loose.Text())
		structured, err := json.Marshal(loose.Tool().StructuredContent)
		require.NoError(t, err)
		require.JSONEq(t, loose.Text(), string(structured))

		for name, effect := range map[string]fault.Effect{"strict": fault.EffectCommitted, "strict-read": fault.EffectNone} {
			answer := s.CallTool(t.Context(), name, nil)
			require.Contains(t, answer.Text(), "Internal error: the answer is withheld: without the credential in it, it does not fit the output schema of the tool.")
			retry, ok := answer.Fault().Retry()
			require.True(t, ok)
			require.False(t, retry.ShouldRetry)
			require.Equal(t, effect, retry.Effect)
		}
		require.NotContains(t, s.Sent(), harness.Canary)
	}
}

// TestJSONInATextBlock: objects and lists that begin a line, or follow another one, keep their types.
func TestJSONInATextBlock(t *testing.T) {
	endless := strings.Repeat("[\n", 100_000)
	for in, want := range map[string]string{
		`{"pin":1234}` + "\n" + ` {"pin":"a"} [{"pin":5}]` + "\n":       `{"pin":0}` + "\n" + ` {"pin":"[redacted]"} [{"pin":0}]` + "\n",
		"Here:\n```json\n{\n  \"pin\": 1234\n}\n```\ntoken=hunter2":     "Here:\n```json\n{\n  \"pin\": 0\n}\n```\ntoken=[redacted]",
		`{"pin":1234} 12 "password":"hunter2"`:                          `{"pin":0} 12 "password":"[redacted]"`,
		"[INFO] a\n[1] b\n{\"next_token\":\"x7\",\"pin\":7}":            "[INFO] a\n[1] b\n{\"next_token\":\"x7\",\"pin\":0}",
		"{\"pin\":\n{\"pin\":1234}":                                     "{\"pin\":\n{\"pin\":0}",
		"api_key: [\"hunter2\"]":                                        "api_key: [redacted]",
		"credentials: |\n  {\"user\":\"bob\",\"is\":\"hunter2\"}\nx: 1": "credentials: |\n  [redacted]\nx: 1",
		endless + `{"token":"hunter2"}`:                                 endless + `{"token":"[redacted]"}`,
	} {
		answer := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Return(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in}}}
		}), mask.Successes())
		require.Equal(t, want, answer.Text())
	}
}

// TestSuccessesThatAreLeftAlone: what has nothing to hide is the handler's own value, also
// where it cannot be written, or asks for input.
func TestSuccessesThatAreLeftAlone(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for name, res := range map[string]mcp.Result{
		"plain":    &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}, StructuredContent: map[string]any{"a": 1}, Meta: mcp.Meta{"a": 1}},
		"cyclic":   &mcp.CallToolResult{StructuredContent: cyclic},
		"channel":  &mcp.CallToolResult{StructuredContent: make(chan int)},
		"broken":   &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"password":`)},
		"empty":    &mcp.CallToolResult{Content: []mcp.Content{nil, (*mcp.TextContent)(nil), &mcp.EmbeddedResource{}}},
		"none":     (*mcp.CallToolResult)(nil),
		"resource": &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil, {Blob: []byte{0xff, 0, 1}}}},
		"prompt":   &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil, {}}},
		"input":    &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, Content: []mcp.Content{&mcp.TextContent{Text: "password=hunter2x"}}},
		"own":      &mcp.CallToolResult{Content: []mcp.Content{ownContent{&mcp.TextContent{Text: "fine"}, []int{1}}}},
		"own too":  &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: ownContent{&mcp.TextContent{Text: "fine"}, nil}}}},
		"nil":      nil,
	} {
		h := mask.Successes()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
		got, err := h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
		require.NoError(t, err, name)
		require.True(t, got == res, name) //nolint:testifylint // the same value
	}
}

// TestBytesThatAreNoText: the document of an office is an archive, although its type has "xml"
// in it. Nothing of it is cut off or replaced, in a failure neither.
func TestBytesThatAreNoText(t *testing.T) {
	document := []byte("PK\x03\x04\x00\xfftoken=" + harness.Canary + strings.Repeat("\x00\xfe", 1<<20))
	for kind, kept := range map[string]bool{
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": true,
		"application/zip": true, "Application/LD+JSON; charset=x": false, "application/xml": false, "text/csv": false,
	} {
		for _, failed := range []bool{true, false} {
			res := &mcp.CallToolResult{IsError: failed, Content: []mcp.Content{
				&mcp.TextContent{Text: "broken"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:1", MIMEType: kind, Blob: document}},
			}}
			h := middleware.Chain(mask.New(nil), mask.Successes("it"))(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
			got, err := h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
			require.NoError(t, err)
			blob := got.(*mcp.CallToolResult).Content[1].(*mcp.EmbeddedResource).Resource.Blob
			require.Equal(t, kept, bytes.Equal(document, blob), "%s, failed: %t", kind, failed)
		}
	}
}

// ownContent is a block of a program's own, which Go cannot compare.
type ownContent struct {
	*mcp.TextContent
	_ []int
}

// BenchmarkSuccesses is what the result of a tool costs: a text of this size, and structured
// content that says the same as a text does.
func BenchmarkSuccesses(b *testing.B) {
	line := `{"id":12345,"name":"An ordinary name","status":"open","note":"nothing of interest stands in this text","ratio":0.75},`
	for _, kb := range []int{1, 64, 1024} {
		prose := strings.Repeat("An ordinary line of a report about nothing at all.\n", kb<<10/51)
		raw := `{"items":[` + strings.Repeat(line, kb<<10/len(line)) + `{}]}`
		for name, res := range map[string]*mcp.CallToolResult{
			"text":       {Content: []mcp.Content{&mcp.TextContent{Text: prose}}},
			"structured": {Content: []mcp.Content{&mcp.TextContent{Text: raw}}, StructuredContent: json.RawMessage(raw)},
		} {
			for _, on := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dKiB/on=%t", name, kb, on), func(b *testing.B) {
					mw := mask.New(nil)
					if on {
						mw = middleware.Chain(mw, mask.Successes("it"))
					}
					h := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
					req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
					b.ReportAllocs()
					for b.Loop() {
						_, _ = h(b.Context(), middleware.MethodCallTool, req)
					}
				})
			}
		}
	}
}
