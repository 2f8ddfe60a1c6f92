package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
)

// awkward is text that JSON may be written in more than one way for.
const awkward = "<b>a & b</b> \u2028 ünï 漢 \x01 \"quoted\" \\ / \t"

type (
	spacedJSON struct{}
	wide       struct {
		F float64           `json:"f"`
		S string            `json:"s"`
		N json.Number       `json:"n"`
		B []byte            `json:"b"`
		M map[string]any    `json:"m,omitempty"`
		T map[int]string    `json:"t"`
		R json.RawMessage   `json:"r"`
		P *wide             `json:"p"`
		L []json.RawMessage `json:"l"`
	}
	listOutput []string
	rich       struct {
		F float64        `json:"f"`
		S string         `json:"s"`
		M map[string]any `json:"m"`
		L []string       `json:"l,omitempty"`
	}
)

func (spacedJSON) MarshalJSON() ([]byte, error) {
	return []byte("{ \"z\" : 1.0 ,\n \"a\" : \"<\\u003c\" }"), nil
}

func wideValue() *wide {
	return &wide{
		F: 1e21, S: awkward, N: "1.50", B: []byte{0, 255}, M: map[string]any{"z": 1, "a": nil, "<": ">"},
		T: map[int]string{2: "b", 10: "a"}, R: json.RawMessage(` { "k" : [ 1.0 , "<" ] } `), L: []json.RawMessage{[]byte(`1.00`)},
	}
}

// structuredSuccesses are values that a raw tool may have as structured content.
func structuredSuccesses() map[string]any {
	var noOutput *wide
	return map[string]any{
		"map":     map[string]any{"b": awkward, "a": []any{1, 2.5, nil, true, 1e-7}, "<k>": map[string]int{"z": 1, "a": 2}},
		"raw":     json.RawMessage("{\n  \"b\": 1.0, \"a\": \"<\\u003c\\/\", \"b\": 2 }"),
		"nil-raw": json.RawMessage(nil),
		"struct":  wideValue(),
		"value":   *wideValue(),
		"nil":     noOutput,
		"number":  42,
		"float":   0.1,
		"text":    awkward,
		"bool":    false,
		"list":    []string{"<", ">"},
		"empty":   map[string]any{},
		"spaced":  spacedJSON{},
		"bytes":   []byte("bytes"),
		"time":    time.Date(2026, 7, 28, 1, 2, 3, 4, time.UTC),
	}
}

func everyContent() []mcp.Content {
	size := int64(7)
	notes := &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5, LastModified: "2026-07-28T00:00:00Z"}
	return []mcp.Content{
		&mcp.TextContent{Text: awkward, Annotations: notes, Meta: mcp.Meta{"<": awkward, "a": 1.5}},
		&mcp.TextContent{Text: "broken \xff utf-8"},
		&mcp.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png", Annotations: notes},
		&mcp.AudioContent{Data: nil, MIMEType: "audio/wav"},
		&mcp.ResourceLink{URI: "a://b?c=<d>", Name: "n", Title: "t", Size: &size, Meta: mcp.Meta{"k": []any{1}}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a://b", Text: awkward, MIMEType: "text/plain", Meta: mcp.Meta{"m": "<"}}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a://c", Blob: []byte{0}}},
		&mcp.EmbeddedResource{},
	}
}

// installSuccesses adds what succeeds. In the chain "handlers" each is wrapped.
func (b *build) installSuccesses() {
	rawTool := func(name string, h mcp.ToolHandler) {
		if mw := b.wrap(); mw != nil {
			h = middleware.Tool(h, mw...)
		}
		b.server.AddTool(&mcp.Tool{Name: "ok_" + name, InputSchema: anyObject, Description: awkward, Meta: mcp.Meta{"<": ">"}}, h)
	}
	returns := func(name string, res func() *mcp.CallToolResult) {
		rawTool(name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res(), nil })
	}
	for name := range structuredSuccesses() {
		returns("structured_"+name, func() *mcp.CallToolResult {
			return &mcp.CallToolResult{StructuredContent: structuredSuccesses()[name]}
		})
	}
	returns("text", func() *mcp.CallToolResult { return textResult(awkward) })
	returns("empty", func() *mcp.CallToolResult { return &mcp.CallToolResult{} })
	returns("contents", func() *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: everyContent(), Meta: mcp.Meta{"acme/x": wideValue(), "<": awkward, "n": nil}}
	})
	returns("steps", func() *mcp.CallToolResult {
		return middleware.NextSteps(textResult("done"), fault.Step{Action: "Look", Tool: "ok_text", Parameters: map[string]any{"<": 1}})
	})
	returns("large", func() *mcp.CallToolResult { return textResult(strings.Repeat("password=secret ", 20_000)) })
	rawTool("echo", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: req.Params.Arguments, Content: []mcp.Content{}}, nil
	})
	rawTool("notifies", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // where the answer is JSON, it goes nowhere
				ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Message: awkward,
			})
		}
		return textResult("done"), nil
	})
	rawTool("asks", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
			return textResult(answer.Action + " " + req.Params.RequestState), nil
		}
		return &mcp.CallToolResult{RequestState: "state <1>", Meta: mcp.Meta{"k": "v"}, InputRequests: mcp.InputRequestMap{
			"name": &mcp.ElicitParams{Message: "Your name? <accept>", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)},
		}}, nil
	})
	// The words of a deliberate protocol error, and what comes with it.
	rawTool("capability", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, wireError(-32021, "missing required client capability", `{"requiredCapabilities": {"sampling": {"<": 1.0}}}`)
	})

	successTyped(b, "value", func() (*mcp.CallToolResult, *rich) {
		return nil, &rich{F: 1e-7, S: awkward, M: map[string]any{"<": awkward, "a": []any{nil, 1.0}}}
	})
	successTyped(b, "nil", func() (*mcp.CallToolResult, *output) { return nil, nil })
	successTyped(b, "list", func() (*mcp.CallToolResult, listOutput) { return nil, listOutput{"<", awkward} })
	successTyped(b, "text", func() (*mcp.CallToolResult, string) { return nil, awkward })
	successTyped(b, "number", func() (*mcp.CallToolResult, float64) { return nil, 1e21 })
	successTyped(b, "any", func() (*mcp.CallToolResult, any) { return nil, nil })
	successTyped(b, "any-value", func() (*mcp.CallToolResult, any) { return nil, map[string]any{"<": awkward} })
	successTyped(b, "both", func() (*mcp.CallToolResult, output) {
		return &mcp.CallToolResult{Content: everyContent(), Meta: mcp.Meta{"k": awkward}}, output{true}
	})
	successTyped(b, "result", func() (*mcp.CallToolResult, any) {
		return &mcp.CallToolResult{Content: everyContent(), StructuredContent: map[string]any{"mine": "<"}}, nil
	})
	successTyped(b, "asks", func() (*mcp.CallToolResult, output) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "later"}, output{}
	})

	b.server.AddResource(&mcp.Resource{URI: "ok://text", Name: "text", MIMEType: "text/plain", Annotations: &mcp.Annotations{Priority: 1}},
		middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Meta:      mcp.Meta{"<": awkward},
				Contents:  []*mcp.ResourceContents{{Text: awkward, Meta: mcp.Meta{"k": wideValue()}}, {URI: "ok://blob", Blob: []byte{0, 1}}},
				Cacheable: mcp.Cacheable{TTLMs: 1234, CacheScope: "private"},
			}, nil
		}, b.wrap()...))
	b.server.AddResource(&mcp.Resource{URI: "ok://empty", Name: "empty"},
		middleware.Resource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
		}, b.wrap()...))
	b.server.AddPrompt(&mcp.Prompt{Name: "ok", Description: awkward, Arguments: []*mcp.PromptArgument{{Name: "a", Required: true}}},
		middleware.Prompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			res := &mcp.GetPromptResult{Description: awkward, Meta: mcp.Meta{"k": 1.0}}
			for _, c := range everyContent()[:6] {
				res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "assistant", Content: c})
			}
			res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: req.Params.Arguments["a"]}})
			return res, nil
		}, b.wrap()...))
	b.server.AddPrompt(&mcp.Prompt{Name: "ok_empty"}, middleware.Prompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	}, b.wrap()...))
	err := mcp.AddReceivingCustomMethod(b.server, "acme/ok", func(_ context.Context, _ *mcp.ServerSession, params *customParams) (*customResult, error) {
		return &customResult{Value: []any{params.Secret, awkward, wideValue()}, ResultBase: mcp.ResultBase{Meta: mcp.Meta{"k": "<"}}}, nil
	})
	if err != nil {
		panic(err)
	}
}

// successTyped adds a typed tool that succeeds, with mcp.AddTool and, in the chain
// "handlers", with middleware.AddTool.
func successTyped[Out any](b *build, name string, answer func() (*mcp.CallToolResult, Out)) {
	h := func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, Out, error) {
		res, out := answer()
		return res, out, nil
	}
	if mw := b.wrap(); mw != nil {
		middleware.AddTool(b.server, &mcp.Tool{Name: "ok_typed_" + name}, h, mw...)
	} else {
		mcp.AddTool(b.server, &mcp.Tool{Name: "ok_typed_" + name}, h)
	}
}

// successes are the requests whose answers mcpchain must not change: what
// succeeds, and the protocol errors of the SDK and of handlers.
func successes(version string) []request {
	all := []request{
		{"tools/list", map[string]any{}},
		{"tools/list", map[string]any{"cursor": "bm90IGEgY3Vyc29y"}},
		{"prompts/list", map[string]any{}},
		{"resources/list", map[string]any{}},
		{"resources/templates/list", map[string]any{}},
		{"resources/read", map[string]any{"uri": "ok://text"}},
		{"resources/read", map[string]any{"uri": "ok://empty"}},
		{"resources/read", map[string]any{"uri": "no://such/resource?<a>=\"b\"&é"}},
		{"prompts/get", map[string]any{"name": "ok", "arguments": map[string]any{"a": awkward}}},
		{"prompts/get", map[string]any{"name": "ok_empty"}},
		{"prompts/get", map[string]any{"name": "no such prompt <>"}},
		{"completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "ok"}, "argument": map[string]any{"name": "a", "value": "x"}}},
		{"completion/complete", map[string]any{"argument": map[string]any{"name": "a", "value": "x"}}},
		{"completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "ok"}, "argument": map[string]any{"value": "x"}}},
		{"acme/ok", map[string]any{"secret": awkward}},
		{"tools/call", map[string]any{"name": "no such tool <>"}},
		{"tools/call", map[string]any{"name": "ok_echo", "arguments": map[string]any{"<": awkward, "n": json.Number("1.50")}}},
		{"tools/call", map[string]any{"name": "ok_typed_value", "arguments": map[string]any{}}},
	}
	names := []string{"text", "empty", "contents", "steps", "large", "notifies", "asks", "capability"}
	for _, name := range slices.Sorted(maps.Keys(structuredSuccesses())) {
		names = append(names, "structured_"+name)
	}
	for _, name := range []string{"value", "nil", "list", "text", "number", "any", "any-value", "both", "result"} {
		names = append(names, "typed_"+name)
	}
	if version >= version2026 {
		names = append(names, "typed_asks") // an older client is told that the server is busy
	}
	for _, name := range names {
		all = append(all, request{"tools/call", map[string]any{"name": "ok_" + name, "_progress": "token"}})
	}
	if version >= version2026 {
		return append(all,
			request{"server/discover", map[string]any{}},
			request{"ping", map[string]any{}}, // gone
			request{"subscriptions/listen", map[string]any{}},
			request{"subscriptions/listen", map[string]any{"notifications": map[string]any{}}},
		)
	}
	return append(all,
		request{"ping", nil},
		request{"server/discover", map[string]any{}}, // not yet there
		request{"logging/setLevel", map[string]any{"level": "warning"}},
		request{"resources/subscribe", map[string]any{"uri": "ok://text"}},
		request{"resources/unsubscribe", map[string]any{"uri": "ok://text"}},
	)
}

// TestSuccessIsUntouched requires that everything which succeeds, and every
// protocol error, leaves the server byte for byte as without mcpchain.
func TestSuccessIsUntouched(t *testing.T) {
	for _, shape := range []shape{
		{"stdio", version2026, version2026, false},
		{"stdio", version2025, version2025, false},
		{"stateful", version2025, version2025, false},
		{"stateless", version2026, version2026, false},
		{"stateless", version2026, version2026, true},
		{"stateless", version2025, version2025, true},
	} {
		t.Run(shape.String(), func(t *testing.T) {
			t.Parallel()
			chains := []string{chainNone, chainStandard, chainTwice, chainHandlers, chainAll}
			answers := make([][]string, len(chains))
			for i, chain := range chains {
				p := dial(t, start(t, config{Transport: shape.transport, Chain: chain, JSON: shape.json}), shape.speaks)
				answers[i] = append(answers[i], p.hello)
				for n, r := range successes(shape.speaks) {
					what := r.method + " " + fmt.Sprint(r.params)
					if shape.transport == "stateless" && shape.speaks < version2026 && strings.Contains(what, "ok_asks") {
						continue // it cannot be asked
					}
					answers[i] = append(answers[i], what+"\n"+p.ask(t, n, r))
				}
				p.Stop(t)
			}
			require.Greater(t, len(answers[0]), 50)
			if os.Getenv("MCPCHAIN_E2E_SHOW") != "" {
				t.Log(strings.Join(answers[1], "\n"))
			}
			for i, chain := range chains[1:] {
				for n := range answers[0] {
					if want, got := answers[0][n], answers[i+1][n]; want != got {
						if chain == chainAll && (strings.HasPrefix(want, "tools/list map[]") || strings.HasPrefix(want, "prompts/list")) {
							continue // it has some of its own
						}
						what, _, _ := strings.Cut(want, "\n")
						t.Errorf("chain %s: %s\nwithout: ... %s\nwith:    ... %s", chain, what, difference(want, got), difference(got, want))
					}
				}
			}
			t.Logf("%d requests with the same answers under %d chains", len(answers[0]), len(chains)-1)
		})
	}
}

// difference returns what a has where b has something else.
func difference(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[max(0, n-100):min(len(a), n+200)]
}

// A caller speaks the protocol by itself, so that everything it sends is the same
// each time.
type caller struct {
	*peer
	session string
	hello   string // how the server greeted
}

// dial starts a session without a client of the SDK.
func dial(t *testing.T, p *process, version string) *caller {
	t.Helper()
	c := &caller{peer: &peer{process: p, rec: &recorder{}, version: version}}
	c.transport(t)
	if p.URL == "" {
		stream := c.rec.open(false)
		go func() { _, _ = io.Copy(io.Discard, &tee{Reader: p.Stdout, rec: c.rec, stream: stream}) }()
	}
	if version < version2026 {
		c.hello = c.ask(t, 1_000, request{"initialize", map[string]any{
			"protocolVersion": version, "clientInfo": map[string]any{"name": "raw", "version": "1"},
			"capabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
		}})
		require.Contains(t, c.hello, `"protocolVersion":"`+version+`"`)
		c.tell(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return c
}

// tell sends a message that is not answered.
func (c *caller) tell(t require.TestingT, text string) {
	if c.URL == "" {
		_, err := c.stdio.Write([]byte(text + "\n"))
		require.NoError(t, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := c.postRaw(ctx, "", []byte(text))
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
}

func (c *caller) postRaw(ctx context.Context, method string, data []byte) (*http.Response, error) {
	return c.postWith(ctx, method, data, c.session)
}

// ask sends a request with a fixed ID and returns everything that came back, with
// what differs by nature taken out of the headers. It answers what it is asked.
func (c *caller) ask(t require.TestingT, n int, r request) string {
	id := fmt.Sprintf("ask-%d", n)
	req := c.request(id, r.method, r.params)
	if params, ok := req["params"].(map[string]any); ok && params["_progress"] != nil {
		token := params["_progress"]
		delete(params, "_progress")
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
			params["_meta"] = meta
		}
		meta["progressToken"] = token
	}
	data, err := json.Marshal(req)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mark := c.rec.mark()
	read := make(chan error, 1)
	if c.URL == "" {
		_, err := c.stdio.Write(append(data, '\n'))
		require.NoError(t, err)
		read <- nil
	} else {
		resp, err := c.postRaw(ctx, r.method, data) //nolint:bodyclose // closed when it has been read
		require.NoError(t, err)
		if session := resp.Header.Get("Mcp-Session-Id"); session != "" {
			c.session = session
		}
		go func() {
			_, err := io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			read <- err
		}()
	}
	answered := map[string]bool{}
	eventually(t, "an answer to "+r.method, func() bool {
		c.Alive(t)
		for _, raw := range c.rec.messages(mark) {
			var m message
			if json.Unmarshal(raw, &m) != nil {
				continue
			}
			switch {
			case m.Method == "" && string(m.ID) == quote(id):
				return true
			case m.Method == "elicitation/create" && !answered[string(m.ID)]:
				answered[string(m.ID)] = true
				c.tell(t, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"action":"accept","content":{"name":"x"}}}`)
			}
		}
		select {
		case err := <-read:
			read <- err
			return c.URL != "" && len(answered) == 0 // all there is, and perhaps no message
		default:
			return false
		}
	})
	require.NoError(t, <-read)
	var b bytes.Buffer
	for _, s := range c.rec.since(mark) {
		for line := range strings.Lines(string(s.head)) {
			if !strings.HasPrefix(line, "Date:") && !strings.HasPrefix(line, "Mcp-Session-Id:") {
				b.WriteString(line)
			}
		}
		b.Write(s.data)
	}
	require.NotEmpty(t, b.String())
	return b.String()
}
