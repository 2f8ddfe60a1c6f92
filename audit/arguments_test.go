package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
)

func overHTTP(t testing.TB, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL}, speak.Version(string(harness.Older)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func recordsOf(t testing.TB, names []string) (all []audit.Record) {
	t.Helper()
	var logs []io.Reader
	for _, name := range names {
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		logs = append(logs, f)
	}
	for r, err := range (audit.Verifier{}).Records(logs...) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

// recorded calls a tool with a schema and returns the record.
func recorded(t testing.TB, o audit.Options, schema, arguments string) audit.Record {
	t.Helper()
	k := newKept()
	o.Log = k.Log
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	if schema != "" {
		server.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	server.AddReceivingMiddleware(audit.New(&o))
	here, there := mcp.NewInMemoryTransports()
	_, err := server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	_, _ = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(arguments)})
	require.NotContains(t, k.text(), harness.Canary)
	return k.records(t)[0]
}

// TestArgumentsAreRedacted: a secret is recognized by the schema, by its name or by its
// look.
func TestArgumentsAreRedacted(t *testing.T) {
	const c, hidden = harness.Canary, `[redacted]`
	for name, tc := range map[string]struct{ schema, arguments, want string }{
		"nothing": {`{"type":"object"}`, `{"n":1.50,"s":"order 17","l":[true,null,{"x":"y"}]}`, `{"l":[true,null,{"x":"y"}],"n":1.50,"s":"order 17"}`},
		"declared": {
			`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true},"word":{"type":"string","format":"password"},"n":{"type":"integer"}}}`,
			`{"pin":"` + c + `","word":"` + c + `","n":1}`, `{"n":1,"pin":"` + hidden + `","word":"` + hidden + `"}`,
		},
		"marked otherwise": {
			`{"type":"object","properties":{"a":{"x-sensitive":true},"b":{"title":"Password"},"c":{"x-secret":true}}}`,
			`{"a":"` + c + `","b":"` + c + `","c":"` + c + `"}`, `{"a":"` + hidden + `","b":"` + hidden + `","c":"` + hidden + `"}`,
		},
		"any value": {
			`{"type":"object","properties":{"pin":{"writeOnly":true}}}`,
			`{"pin":{"a":["` + c + `"]}}`, `{"pin":"` + hidden + `"}`,
		},
		"any case": {`{"type":"object","properties":{"pin":{"writeOnly":true}}}`, `{"PIN":"` + c + `"}`, `{"PIN":"` + hidden + `"}`},
		"deeper": {
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"pin":{"writeOnly":true}}}}}}`,
			`{"a":[{"pin":"` + c + `","b":2}]}`, `{"a":[{"b":2,"pin":"` + hidden + `"}]}`,
		},
		"items": {
			`{"type":"object","properties":{"pins":{"type":"array","items":{"type":"string","writeOnly":true}}}}`,
			`{"pins":["` + c + `"]}`, `{"pins":"` + hidden + `"}`,
		},
		"a reference": {
			`{"type":"object","properties":{"pin":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/c"}]},"c":{"writeOnly":true}}}`,
			`{"pin":"` + c + `"}`, `{"pin":"` + hidden + `"}`,
		},
		"a reference to elsewhere": {
			`{"type":"object","properties":{"pin":{"$ref":"#/$defs/nowhere"}}}`, `{"pin":"` + c + `"}`, `{"pin":"` + hidden + `"}`,
		},
		"recursive": {
			`{"type":"object","properties":{"child":{"$ref":"#"},"n":{"oneOf":[{"$ref":"#/properties/n"},{"type":"string"}]},"pin":{"writeOnly":true}}}`,
			`{"child":{"child":{"n":"x","pin":"` + c + `"}}}`, `{"child":{"child":{"n":"x","pin":"` + hidden + `"}}}`,
		},
		"any name": {
			`{"type":"object","patternProperties":{"^x":{"writeOnly":true}}}`, `{"x1":"` + c + `","y":1}`, `{"x1":"` + hidden + `","y":"` + hidden + `"}`,
		},
		"by its name":  {`{"type":"object"}`, `{"password":"` + c + `","a":{"api_key":"` + c + `"}}`, `{"a":{"api_key":"` + hidden + `"},"password":"` + hidden + `"}`},
		"by its look":  {`{"type":"object"}`, `{"url":"https://bob:` + c + `@example.com/x"}`, `{"url":"https://` + hidden + `@example.com/x"}`},
		"unknown tool": {"", `{"a":"` + c + `","b":{"c":["` + c + `"]},"d":null}`, `{"a":"` + hidden + `","b":"` + hidden + `","d":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := recorded(t, audit.Options{}, tc.schema, tc.arguments)
			require.JSONEq(t, tc.want, strings.ReplaceAll(string(got.Arguments), "[REDACTED]", hidden))
		})
	}
}

// TestArgumentsAreBounded, and no text in them looks like a record or hides something.
func TestArgumentsAreBounded(t *testing.T) {
	const schema = `{"type":"object"}`
	got := recorded(t, audit.Options{}, schema, `{"a":"`+strings.Repeat("x", 20_000)+`"}`)
	require.Nil(t, got.Arguments)
	require.Equal(t, 20_008, got.ArgumentsBytes)
	require.NotNil(t, recorded(t, audit.Options{}, schema, `{"a":"`+strings.Repeat("x", 5000)+`"}`).Arguments)
	require.Nil(t, recorded(t, audit.Options{Arguments: audit.Omitted}, schema, `{"a":1}`).Arguments)

	got = recorded(t, audit.Options{}, schema, `{"a":"`+strings.Repeat("\u00ad", 8_000)+`"}`)
	require.NotNil(t, got.Arguments, "the longest line is one that Verify reads")

	got = recorded(t, audit.Options{}, schema, `{"a":"x\n{\"seq\":9}\u2028\u202e\ud83e\uddfe"}`)
	require.JSONEq(t, `{"a":"x\n{\"seq\":9}\u2028\u202e\ud83e\uddfe"}`, string(got.Arguments))
	require.Contains(t, string(got.Arguments), `\u202e`)
}

func TestPromptsAreRedacted(t *testing.T) {
	k := newKept()
	h := audit.New(&audit.Options{Log: k.Log})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.GetPromptResult{}, nil })
	_, err := h(t.Context(), "prompts/get", &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{
		Name: "https://bob:" + harness.Canary + "@example.com/\n{}", Arguments: map[string]string{"token": harness.Canary, "pasword": harness.Canary, "city": "Oslo"},
	}})
	require.NoError(t, err)
	require.NotContains(t, k.text(), harness.Canary)
	require.Contains(t, string(k.records(t)[0].Arguments), `"city":"Oslo"`)
}

// FuzzArguments: what a schema declares as a secret never stands in a record, whatever
// else is sent.
func FuzzArguments(f *testing.F) {
	f.Add(`{"a":1}`, "a")
	f.Add(`{"pin":[{"b":"\ud800"}],"pin":2}`, "PIN")
	f.Add(`[[]]`, "x\n")
	f.Fuzz(func(t *testing.T, other, name string) {
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"writeOnly": true}}})
		if err != nil || !json.Valid([]byte(other)) {
			t.Skip("no arguments that reach a handler")
		}
		k := newKept()
		server := audit.New(&audit.Options{Log: k.Log})(nobody(schema))
		arguments := fmt.Sprintf(`{%s:%q,"other":%s,"deep":[{%s:[%q]}]}`, marshal(t, name), harness.Canary, other, marshal(t, name), harness.Canary)
		_, _ = server(t.Context(), "tools/call", &mcp.CallToolRequest{
			Session: &mcp.ServerSession{}, Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(arguments)},
		})
		require.NotContains(t, k.text(), harness.Canary)
		require.Len(t, k.records(t), 2)
		require.Equal(t, 2, strings.Count(k.text(), "\n"))
	})
}

// nobody is a server with one tool, without what is around one.
func nobody(schema json.RawMessage) mcp.MethodHandler {
	return func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "t", InputSchema: schema}}}, nil
		}
		return &mcp.CallToolResult{}, nil
	}
}
