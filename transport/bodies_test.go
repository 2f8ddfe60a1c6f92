package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/transport"
)

// A door takes bodies as they are: two servers with one tool, one of the SDK alone and one with us around it.
type door struct {
	bare, ours *waiting
	log        *harness.Log
}

func newDoor(t testing.TB, of sort) *door {
	d := &door{log: &harness.Log{}}
	begin := func(around func(http.Handler) http.Handler) *waiting {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		server.AddTool(&mcp.Tool{Name: "it", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
		opts := of.opts
		opts.Logger = slog.New(slog.DiscardHandler)
		handler := around(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &opts))
		w := &waiting{of: of, handler: handler}
		w.initialize(t)
		return w
	}
	d.bare = begin(func(h http.Handler) http.Handler { return h })
	d.ours = begin(func(h http.Handler) http.Handler {
		return transport.HTTP(h, &transport.Options{Logger: d.log.Logger()})
	})
	return d
}

// wordsOfTheSDK are those with which it answers what it cannot read.
var wordsOfTheSDK = regexp.MustCompile(`unmarshal|json: |Go (value|struct)|invalid character|\*?\bmcp\.[A-Z]|jsonrpc2|malformed payload|not handled|unsupported"|method not found|invalid request|missing id|unexpected id|version tag|EOF`)

// TestBodies: whatever is wrong with a body is answered as JSON-RPC, with a status of the SDK and words of ours.
func TestBodies(t *testing.T) {
	all := append(sorts(), sort{"2025-03-26", "2025-03-26", mcp.StreamableHTTPOptions{Stateless: true}})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, tc := range map[string]struct {
		body string
		code int
		says string
		id   string
	}{
		"nothing":                 {"", -32700, "the body is empty", "null"},
		"blanks":                  {" \n", -32700, "the body is empty", "null"},
		"half of it":              {`{"jsonrpc":"2.0","id":1,"method":"CANARY`, -32700, "the body is no JSON", "null"},
		"no JSON":                 {"CANARY\xff", -32700, "the body is no JSON", "null"},
		"null":                    {"null", -32600, "the body is no JSON-RPC message: it is no object", "null"},
		"a string":                {`"CANARY"`, -32600, "the body is no JSON-RPC message: it is no object", "null"},
		"no version":              {`{"id":"a","method":"ping"}`, -32600, `the body is no JSON-RPC message: "jsonrpc" is not "2.0"`, `"a"`},
		"another version":         {`{"jsonrpc":"CANARY","id":1,"method":"ping"}`, -32600, `the body is no JSON-RPC message: "jsonrpc" is not "2.0"`, "1"},
		"an ID of objects":        {`{"jsonrpc":"2.0","id":{"a":"CANARY"},"method":"ping"}`, -32600, `the body is no JSON-RPC message: "id" is neither a string nor a number`, "null"},
		"a method that is none":   {`{"jsonrpc":"2.0","id":1,"method":["CANARY"]}`, -32600, `the body is no JSON-RPC message: "method" is no string`, "1"},
		"neither":                 {`{"jsonrpc":"2.0"}`, -32600, `the body is no JSON-RPC message: it has neither "method" nor "id"`, "null"},
		"an error that is none":   {`{"jsonrpc":"2.0","id":1,"error":"CANARY"}`, -32600, `the body is no JSON-RPC message: "error" is no object`, "1"},
		"a result without ID":     {`{"jsonrpc":"2.0","result":{"a":"CANARY"}}`, -32600, `the body is no JSON-RPC message: it has neither "method" nor "id"`, "null"},
		"nested":                  {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, -32600, "the body is no JSON-RPC message: its members are not what they should be", "1"},
		"a request without ID":    {`{"jsonrpc":"2.0","method":"tools/list"}`, -32600, `the request has no "id"`, "null"},
		"a notification with one": {`{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, -32600, `a notification has no "id"`, "1"},
		"no parameters":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, -32600, `the request has no "params"`, "1"},
		"an empty batch":          {`[]`, -32600, "the batch is empty", "null"},
		"a batch with a number":   {`[` + list + `,7]`, -32600, "item 2 of the batch is no JSON-RPC message: it is no object", "null"},
		"an unknown method":       {`{"jsonrpc":"2.0","id":1,"method":"tools/remove"}`, -32601, "this server does not have the method 'tools/remove'", "1"},
		"an unknown notification": {`{"jsonrpc":"2.0","method":"notifications/nope"}`, -32601, "this server does not have the method 'notifications/nope'", "null"},
		"a method that is a text": {`{"jsonrpc":"2.0","id":1,"method":"CANARY <x>\n\"Retry: yes."}`, -32601, "this server does not have the method of the request", "1"},
		"a method that is a key":  {`{"jsonrpc":"2.0","id":1,"method":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}`, -32601, "this server does not have the method of the request", "1"},
		"a long method":           {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 65) + `"}`, -32601, "this server does not have the method of the request", "1"},
		"a long ID":               {`{"jsonrpc":"1.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`, -32600, `the body is no JSON-RPC message: "jsonrpc" is not "2.0"`, "null"},
		"a batch with an unknown": {`[` + list + `,{"jsonrpc":"2.0","id":2,"method":"nope"}]`, -32601, "this server does not have the method 'nope'", "null"},
		"a batch":                 {`[` + list + `]`, -32600, "batches are not supported since version 2025-06-18", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "nested" && speak.Oldest { // it has no bound
				t.Skip()
			}
			for _, of := range all {
				d := newDoor(t, of)
				if strings.HasPrefix(name, "a batch") && name != "a batch with a number" && (name == "a batch") != (of.version >= "2025-06-18") {
					continue
				}
				body := strings.ReplaceAll(tc.body, "CANARY", harness.Canary)
				status, _, _ := d.bare.raw(t, body)
				got, header, answer := d.ours.raw(t, body)
				require.Equal(t, status, got, of.name)
				require.GreaterOrEqual(t, got, 400)
				require.Equal(t, "application/json", header.Get("Content-Type"))
				var message struct {
					Version string `json:"jsonrpc"`
					ID      json.RawMessage
					Error   struct {
						Code    int
						Message string
						Data    struct {
							Message   string
							Reference string `json:"reference_id"`
						}
					}
				}
				require.NoError(t, json.Unmarshal([]byte(answer), &message), answer)
				require.Equal(t, "2.0", message.Version)
				require.JSONEq(t, tc.id, string(message.ID), of.name)
				require.Equal(t, tc.code, message.Error.Code, answer)
				require.Equal(t, tc.says, message.Error.Data.Message, of.name)
				require.Contains(t, message.Error.Message, tc.says+".\nReference: "+message.Error.Data.Reference)
				require.Contains(t, d.log.String(), message.Error.Data.Reference)
				require.NotContains(t, answer, harness.Canary)
				require.NotRegexp(t, wordsOfTheSDK, answer)
			}
		})
	}
}

// TestUnknownInTheServer: methods that the SDK knows and the server does not have, and parameters that are not there, are
// answered with the status of a result before 2026-07-28.
func TestUnknownInTheServer(t *testing.T) {
	for _, of := range sorts() {
		t.Run(of.name, func(t *testing.T) {
			d := newDoor(t, of)
			body := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x"` + of.meta() + `}}`
			status, _, _ := d.bare.raw(t, body)
			got, _, answer := d.ours.raw(t, body)
			require.Equal(t, status, got)
			require.Contains(t, answer, `"code":-32601`)
			require.Contains(t, answer, "this server does not have the method 'resources/subscribe'.")
			require.NotRegexp(t, wordsOfTheSDK, answer)
			if of.version < "2026-07-28" {
				_, _, answer = d.ours.raw(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`)
				require.Contains(t, answer, `"code":-32600`)
				require.Contains(t, answer, `the request has no \"params\"`)
				require.NotRegexp(t, wordsOfTheSDK, answer)
			}
		})
	}
}

// TestOwnUnknownMethods: what a program says of its own methods leaves as it is.
func TestOwnUnknownMethods(t *testing.T) {
	const own = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"ask the other server"}}`
	recorder := httptest.NewRecorder()
	transport.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, own)
	}), nil).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	require.Equal(t, own, recorder.Body.String())
}

// FuzzBodies: what the SDK takes it gets unchanged, and of what it refuses nothing leaves in its words.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		"", "{", "[", "null", "[1]", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"nope"}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"nope"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it","arguments":{}}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":-1e99,"method":"no\u0000pe"}`, `{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}} x`, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":null}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	doors := map[bool]*door{
		true:  newDoor(f, sort{"", "2025-11-25", mcp.StreamableHTTPOptions{Stateless: true}}),
		false: newDoor(f, sort{"", "2025-03-26", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}}),
	}
	f.Fuzz(func(t *testing.T, body string, newer bool) {
		d := doors[newer]
		status, _, want := d.bare.raw(t, body)
		got, header, answer := d.ours.raw(t, body)
		require.Equal(t, status, got)
		switch {
		case status >= 400:
			require.Equal(t, "application/json", header.Get("Content-Type"))
			require.True(t, json.Valid([]byte(answer)), answer)
			require.Contains(t, answer, `"reference_id"`)
			require.NotRegexp(t, wordsOfTheSDK, answer)
		case !strings.Contains(want, `"error"`):
			require.Equal(t, sortedEvents(want), sortedEvents(answer))
		}
	})
}

// sortedEvents returns the answers to a batch, which come in any order.
func sortedEvents(answer string) [][]byte {
	events := bytes.Split([]byte(answer), []byte("\n\n"))
	slices.SortFunc(events, bytes.Compare)
	return events
}
