package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/child"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/retry/client"
)

// TestMiddlewares lets each middleware do what it is for, in a real process, for real clients.
func TestMiddlewares(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.String(), func(t *testing.T) {
			if racing && shape.json {
				t.Skip("the run without -race has this shape: it differs from the others in how HTTP frames the answers only")
			}
			t.Parallel()
			v := &visit{}
			v.peer = connect(t, start(t, config{Transport: shape.transport, Chain: chainAll, JSON: shape.json, Breaker: true, MaxStuck: 2}), shape.asks,
				middleware.When(client.New(&client.Options{InitialInterval: time.Millisecond}), func(_ string, req mcp.Request) bool {
					params, call := req.GetParams().(*mcp.CallToolParams)
					return !call || strings.HasSuffix(params.Name, "_again")
				}), v.counting)
			v.json = shape.json
			v.service = newService(t)
			for _, story := range []struct {
				name string
				tell func(*visit, *testing.T)
			}{
				{"wrong arguments", (*visit).wrongArguments},
				{"wrong names", (*visit).wrongNames},
				{"prompts", (*visit).prompts},
				{"reads and writes", (*visit).readsAndWrites},
				{"the loop breaker", (*visit).loopBreaker},
				{"what a service asks for", (*visit).whatAServiceAsksFor},
				{"a client that obeys", (*visit).clientThatObeys},
				{"stuck", (*visit).stuck},
				{"stops when told to", (*visit).stopsWhenToldTo},
				{"a person thinks", (*visit).aPersonThinks},
				{"a list form", (*visit).listForm},
				{"one item", (*visit).oneItem},
				{"files", (*visit).files},
				{"a part is down", (*visit).partDown},
			} {
				t.Run(story.name, func(t *testing.T) { story.tell(v, t) })
			}
			// A handler that is stuck for good does not keep the process.
			_, f := v.call(t, "stuck_at_the_end", map[string]any{"key": "never"})
			require.Equal(t, fault.KindTimeout, f.Kind())
			v.finish(t)
		})
	}
}

// A visit is a client that sees all middlewares of one server.
type visit struct {
	*peer
	json    bool
	service *service
	again   atomic.Int64 // how often the client called again
}

// call calls a tool and returns its answer; a failure too. Nothing may leave the
// server that is a secret.
func (v *visit) call(t *testing.T, tool string, args any) (*mcp.CallToolResult, *fault.Error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	mark := v.rec.mark()
	res, err := v.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args, Meta: mcp.Meta{"progressToken": "token"}})
	require.NoError(t, err, tool)
	require.Empty(t, child.Leak(v.rec.bytes(mark)), tool)
	f, _ := middleware.FaultOf(res, err)
	return res, f
}

// says requires that a call fails with exactly this text, and returns what it says.
// Waits that are made by chance are "W", and a reference is "REF".
func (v *visit) says(t *testing.T, want, tool string, args any) fault.Data {
	t.Helper()
	res, f := v.call(t, tool, args)
	require.NotNil(t, f, "%s succeeded", tool)
	require.Len(t, res.Content, 1)
	require.Equal(t, want, plain(textOf(res)))
	return f.Data()
}

var (
	anyWait = regexp.MustCompile(`(after|Wait|next) [0-9.]+ (ms|s)\b`)
	lasted  = regexp.MustCompile(` in [0-9]+ s with`) // on a slow machine
	ofPart  = regexp.MustCompile(`REF\.\w+`)
)

func plain(text string) string {
	text = ofPart.ReplaceAllString(anyReference.ReplaceAllString(text, "REF"), "REF")
	return lasted.ReplaceAllString(anyWait.ReplaceAllString(text, "$1 W"), " with")
}

// fails requires that a call is answered with a protocol error, and returns what it
// says.
func fails(t *testing.T, err error, code int64, text string) fault.Data {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire)
	require.Equal(t, code, wire.Code)
	require.Equal(t, text, wire.Message)
	f, _ := middleware.FaultOf(nil, err)
	return f.Data()
}

// runs returns how often the handler of a tool or prompt was run.
func (v *visit) runs(t *testing.T, name string) int {
	t.Helper()
	res, _ := v.call(t, "runs", nil)
	var all map[string]int
	require.NoError(t, json.Unmarshal([]byte(textOf(res)), &all))
	return all[name]
}

// counted reports whether the server can tell one caller from another, and so counts
// their failures.
func (v *visit) counted() bool { return v.cfg.Transport != "stateless" }

// second is what is said of the attempt after the first one.
func (v *visit) second() string {
	if v.counted() {
		return " (attempt 2)"
	}
	return ""
}

// passing is the suggestion of a failure that may pass, which is own where calls are counted.
func (v *visit) passing(own string) string {
	if !v.counted() {
		own += " If it fails again, wait longer each time, and tell the user after 5 min."
	}
	return "Suggestion: " + own + "\n"
}

// masked is the suggestion of a masked failure, which is own where calls are counted.
func (v *visit) masked(own string) string {
	switch {
	case v.counted() && own == "":
		return ""
	case v.counted():
		return "Suggestion: " + own + "\n"
	case own == "":
		return "Suggestion: Tell the user if it fails again.\n"
	default:
		return "Suggestion: " + own + " Tell the user if it fails again.\n"
	}
}

func (v *visit) wrongArguments(t *testing.T) {
	secret := canary("layers")
	wrong := map[string]any{
		"custmer": "x", "colour": "red", "password": secret, "items": []any{map[string]any{"sku": "a", "qty": "five"}, map[string]any{"qty": 1}},
	}
	size := v.Log.Size(t)
	said := v.says(t, `Validation Error: 4 arguments are wrong.
- Argument 'custmer' is unknown, and 'customer' is missing. Did you mean 'customer'?
- Argument 'colour' is unknown. Did you mean 'color'?
- Argument 'items[0].qty' expected an integer, but received 'five'.
- Argument 'items[1].sku' is required: expected a string.
Retry: only with corrected arguments.`, "place_order", wrong)
	require.Equal(t, fault.KindValidation, said.Type)
	require.Len(t, said.Violations, 4)
	require.Equal(t, "validation", v.oneRecord(t, size).Text("outcome"))
	v.says(t, `Validation Error: 2 arguments are wrong.
- Argument 'customer' is required: expected a string.
- Argument 'items' is required: expected a list of objects or null.
Retry: only with corrected arguments.`, "place_order", map[string]any{"password": secret})
	v.says(t, `Validation Error: 2 arguments are wrong.
- Argument 'customer' expected a string, but received 7. Send it in quotes: "7".
- Argument 'items' expected a list of objects or null, but received a string. Send the list itself, not a string.
Retry: only with corrected arguments.
Try: place_order {"customer":"7","items":[],"password":<as you sent it>}`, "place_order", map[string]any{"customer": 7, "items": "[]", "password": "hunter2of"})
	require.Zero(t, v.runs(t, "place_order"))
	res, f := v.call(t, "place_order", map[string]any{"customer": "x", "items": []any{}})
	require.Nil(t, f, "%v", res)

	said = v.says(t, `Validation Error: 3 arguments are wrong.
- Argument 'widht' is unknown, and 'width' is missing. Did you mean 'width'?
- Argument 'format' expected 'png' or 'webp', but received 'jpg'.
- Argument 'token' expected a string of at most 4 characters, but received a string that is not shown.
Retry: only with corrected arguments.`, "resize_image", map[string]any{"widht": 100, "format": "jpg", "token": secret})
	require.Len(t, said.Violations, 3)
	require.Zero(t, v.runs(t, "resize_image"))
	res, f = v.call(t, "resize_image", map[string]any{"width": 100, "format": "png"})
	require.Nil(t, f)
	require.JSONEq(t, `{"width":100,"format":"png","quality":80}`, textOf(res), "with the defaults of the schema")
}

// wrongNames also proves that a name which the caller may not list is not suggested.
func (v *visit) wrongNames(t *testing.T) {
	ctx, nearly := t.Context(), strings.Replace(canary("hidden"), "zqk", "zkq", 1)
	for _, test := range []struct{ name, text string }{
		{"place_oder", `unknown tool "place_oder". Did you mean 'place_order'?`},
		{nearly, `unknown tool "` + nearly + `"`},
	} {
		_, err := v.cs.CallTool(ctx, &mcp.CallToolParams{Name: test.name})
		fails(t, err, -32602, test.text)
	}
	_, err := v.cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "gret"})
	fails(t, err, -32602, `unknown prompt "gret". Did you mean 'greet'?`)
	_, err = v.cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "ok://txt"})
	fails(t, err, -32602, "Resource not found. Did you mean 'ok://text'?")
}

func (v *visit) prompts(t *testing.T) {
	secret := canary("layers")
	_, err := v.cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"preson": "x", "secret": secret}})
	said := fails(t, err, -32602, `Validation Error: 2 arguments are wrong.
- Argument 'preson' is unknown, and 'person' is missing. Did you mean 'person'?
- Argument 'secret' is unknown. Known here are 'person' and 'tone'.
Retry: only with corrected arguments.`)
	require.Equal(t, fault.KindValidation, said.Type)
	_, err = v.cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
	fails(t, err, -32602, `Validation Error: Argument 'person' is required: expected a string.
Retry: only with corrected arguments.`)
	require.Zero(t, v.runs(t, "greet"))
	_, err = v.cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"person": "x"}})
	require.NoError(t, err)
}

func (v *visit) readsAndWrites(t *testing.T) {
	v.says(t, `Timeout: the operation did not finish in time.
`+v.passing("Ask for less at a time, if the tool allows it.")+`Retry: yes, after W`+v.second()+`.
Reference: REF`, "read_slow", nil)
	require.Equal(t, 3, v.runs(t, "read_slow"), "the server has tried by itself")
	said := v.says(t, `Timeout: the operation did not finish in time.
`+v.masked("")+`Reference: REF`, "write_slow", nil)
	require.Nil(t, said.Retry, "nobody knows, and nobody annotated it")
	require.Equal(t, 1, v.runs(t, "write_slow"))
	said = v.says(t, `Timeout: the payment did not finish within 10 s.
Retry: no, unless you see that it did not take effect.
Next: 1. See whether it was made: call find_payment {"id":"p-1"}.
Reference: REF`, "pay", nil)
	require.Equal(t, "find_payment", said.RecoverySteps[0].Tool)
	require.Equal(t, 1, v.runs(t, "pay"))
}

// loopBreaker makes the same hopeless call again and again, with the options that are
// the default.
func (v *visit) loopBreaker(t *testing.T) {
	var texts []string
	var last *fault.Error
	for range 7 {
		res, f := v.call(t, "get_project", map[string]any{"name": "zebra"})
		texts, last = append(texts, plain(textOf(res))), f
	}
	const found = "Not found: project 'zebra' does not exist.\n" +
		"Suggestion: Check the name. If a tool lists what exists, call it first.\n"
	const first = found + "Retry: no. The same call will fail again.\nReference: REF"
	for i := range 2 {
		require.Equal(t, first, texts[i])
	}
	if !v.counted() {
		require.Equal(t, first, texts[6], "one caller cannot be told from another")
		require.Equal(t, 7, v.runs(t, "get_project"))
		return
	}
	for i := 2; i < 6; i++ {
		require.Equal(t, fmt.Sprint(found, "Retry: no. This exact call has failed ", i+1, " times with the same error. Find out what exists, or ask the user.\nReference: REF"), texts[i])
	}
	require.Equal(t, `Repeated failure: this exact call has failed 6 times, so it is not made for the next W. Its last error was: Not found: project 'zebra' does not exist.
Retry: no. Calls with other arguments are made as before.`, texts[6])
	require.Equal(t, "REPEATED_FAILURE", last.Code())
	require.Equal(t, 6, v.runs(t, "get_project"), "the last call was not run")
	_, f := v.call(t, "get_project", map[string]any{"name": "yak"})
	require.Equal(t, fault.KindNotFound, f.Kind(), "another call is")
}

// A service is an HTTP service on loopback that fails as it is told: its paths say how
// often, with which status, and what it asks for.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newService(t *testing.T) *service {
	s := &service{asked: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		n := s.asked[r.URL.Path]
		s.mu.Unlock()
		var status, times int
		_, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &times)
		if err != nil || n > times {
			fmt.Fprint(w, "the page")
			return
		}
		switch after := r.URL.Query().Get("after"); after {
		case "":
		case "date":
			w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		default:
			w.Header().Set("Retry-After", after)
		}
		http.Error(w, "tenant 4711, token "+canary("layers"), status)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) at(path string) map[string]any { return map[string]any{"url": s.URL + path} }

func (s *service) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func (v *visit) whatAServiceAsksFor(t *testing.T) {
	// Longer than the server is willing to wait: the caller is told.
	_, f := v.call(t, "fetch", v.service.at("/429/9/seconds?after=17"))
	said, _ := f.Retry()
	require.Equal(t, fault.KindRateLimited, f.Kind())
	require.True(t, said.ShouldRetry)
	require.InDelta(t, 17, said.RetryAfterSeconds, 0)
	require.Equal(t, 1, v.service.count("/429/9/seconds"))

	_, f = v.call(t, "fetch", v.service.at("/503/9/date?after=date"))
	said, _ = f.Retry()
	require.Equal(t, fault.KindServiceUnavailable, f.Kind())
	require.InDelta(t, 3600, said.RetryAfterSeconds, 60)

	gone := v.says(t, `Not found: the requested item does not exist.
`+v.masked("Check the name. If a tool lists what exists, call it first.")+`Retry: no. The service refused the request (HTTP 404).
Reference: REF`, "fetch", v.service.at("/404/9/gone"))
	require.Equal(t, fault.KindNotFound, gone.Type)
	require.Equal(t, 1, v.service.count("/404/9/gone"))

	// And what the server mends by itself.
	res, f := v.call(t, "fetch", v.service.at("/503/2/mended"))
	require.Nil(t, f)
	require.JSONEq(t, `{"text":"the page"}`, textOf(res))
	require.EqualValues(t, 3, res.Meta[retry.AttemptsKey])
}

// counting counts what the client sends again.
func (v *visit) counting(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if params, ok := req.GetParams().(*mcp.CallToolParams); ok && params.Meta[retry.AttemptKey] != nil {
			v.again.Add(1)
		}
		return next(ctx, method, req)
	}
}

// clientThatObeys has a client that calls again as the server says.
func (v *visit) clientThatObeys(t *testing.T) {
	before := v.again.Load()
	res, f := v.call(t, "fetch_again", v.service.at("/503/4/client?after=0"))
	require.Nil(t, f, "%s", textOf(res))
	require.Equal(t, 5, v.service.count("/503/4/client"), "three attempts of one call, two of the next")
	require.EqualValues(t, 1, v.again.Load()-before)

	_, f = v.call(t, "post_again", v.service.at("/500/9/post"))
	require.Equal(t, fault.KindServerError, f.Kind())
	require.Equal(t, 1, v.service.count("/500/9/post"), "nobody knows whether it took effect")
	require.EqualValues(t, 1, v.again.Load()-before)
}

// stuck calls handlers that do not return. More of them than may be stuck are not run.
func (v *visit) stuck(t *testing.T) {
	size := v.Log.Size(t)
	for i := range 2 {
		v.says(t, `Timeout: the tool did not finish within 50 ms. It was told to stop, but is still running.
Suggestion: Ask for less at a time, or for another form, if the tool allows it.
Retry: not the same call: it is still running after W.
Reference: REF`, "get_stuck", map[string]any{"key": fmt.Sprint("stuck ", i)})
	}
	v.says(t, `Service unavailable: too many calls of this tool are still running.
Retry: yes, after W`+v.second()+`. Nothing was changed by this call.
Reference: REF`, "get_stuck", map[string]any{"key": "stuck 2"})
	require.Equal(t, 2, v.runs(t, "get_stuck"))
	v.says(t, `Timeout: the tool did not finish within 50 ms. It was told to stop, but is still running.
Suggestion: Ask for less at a time, or for another form, if the tool allows it.
Retry: not the same call: it is still running after W. It may still take effect.
Reference: REF`, "write_stuck", map[string]any{"key": "stuck 3"})
	v.says(t, `Internal error: the server failed unexpectedly.
`+v.masked("")+`Reference: REF (give it to the user to report)`, "exit", nil)
	_, f := v.call(t, "release", map[string]any{"keys": []string{"stuck 0", "stuck 1", "stuck 2", "stuck 3"}})
	require.Nil(t, f)
	eventually(t, "the handlers end", func() bool {
		ended := 0
		for _, r := range v.Log.Since(t, size) {
			if r.Text("msg") == "mcp handler ended late" {
				ended++
			}
		}
		return ended == 3
	})
	_, f = v.call(t, "get_stuck", map[string]any{"key": "stuck 0"})
	require.Nil(t, f, "it is not stuck any longer")
}

func (v *visit) stopsWhenToldTo(t *testing.T) {
	v.says(t, `Timeout: the tool did not finish within 50 ms. It was told to stop, and did.
`+v.passing("Ask for less at a time, or for another form, if the tool allows it.")+`Retry: yes, after W`+v.second()+`. Nothing was changed by this call.
Reference: REF`, "wait_for_context", nil)
}

// aPersonThinks for longer than the call may take, which stops the clock meanwhile.
func (v *visit) aPersonThinks(t *testing.T) {
	if v.cfg.Transport == "stateless" || v.version >= version2026 {
		t.Skip("no such thing here: a stateless server, and any for 2026-07-28, ends the call to ask; the shapes of 2025-11-25 have this story")
	}
	res, f := v.call(t, "ask_slowly", nil)
	require.Nil(t, f, "%v", f)
	require.Equal(t, "accept", textOf(res))
}

// listForm calls the list form of a tool and sees how it goes on.
func (v *visit) listForm(t *testing.T) {
	mark, size := v.rec.mark(), v.Log.Size(t)
	var names []string
	for tool, err := range v.cs.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
		if tool.Name == "get_users" {
			schema, err := json.Marshal(tool.InputSchema)
			require.NoError(t, err)
			require.Contains(t, string(schema), `"user_ids"`)
		}
	}
	require.Contains(t, strings.Join(names, " "), " get_user get_users ")
	require.Empty(t, child.Leak(v.rec.bytes(mark)), "the filter holds")

	mark = v.rec.mark()
	ids := []any{"u1", "nobody", "panic", "u1", "exit", 7, "unknown", "u2"}
	res, f := v.call(t, "get_users", map[string]any{"user_ids": ids})
	require.Nil(t, f)
	require.False(t, res.IsError)
	require.Equal(t, `3 of 8 items succeeded, 5 failed.
Suggestion: 3 with an internal error: tell the user; 1 not found: check the name, or list what exists; 1 wrong input: correct it as the error says. Send retry_items again.
Failed:
- user_id 'nobody': Not found: user 'nobody' does not exist. Reference: REF
- user_id 'panic', 'exit', 'unknown': Internal error: the server failed unexpectedly. References: REF, REF, REF
- user_id '7': Validation Error: Argument 'user_id' expected a string, but received 7. Send it in quotes: "7".
Send again (retry_items): ["panic","exit","unknown"]
Results:
- user_id 'u1': {"name":"User u1"}
- user_id 'u1': {"name":"User u1"}
- user_id 'u2': {"name":"User u2"}`, plain(textOf(res)))
	var out struct {
		Total, Succeeded, Failed int
		Results                  []struct{ Index int }
		Errors                   []struct {
			Index     int
			Type      string
			Reference string `json:"reference_id"`
		}
		Summary struct {
			ByType map[string]int `json:"by_type"`
		} `json:"error_summary"`
	}
	structured(t, res, &out)
	require.Equal(t, []int{8, 3, 5}, []int{out.Total, out.Succeeded, out.Failed})
	require.Equal(t, map[string]int{"not_found": 1, "internal_error": 3, "validation_error": 1}, out.Summary.ByType)
	var order []int
	references := map[string]bool{}
	for _, e := range out.Errors {
		order = append(order, e.Index)
		references[e.Reference] = true
	}
	require.Equal(t, []int{1, 2, 4, 5, 6}, order)
	for _, r := range v.Log.Since(t, size) {
		if isRecord(r) {
			require.True(t, references[r.Text("reference")], r.Text("reference"))
			delete(references, r.Text("reference"))
		}
	}
	require.Empty(t, references, "each item is recorded once")
	v.progress(t, mark, 8) // one is there twice, and run twice
}

// progress requires the notifications of a batch: they increase, and the last one is
// there before the answer.
func (v *visit) progress(t *testing.T, mark, total int) {
	t.Helper()
	if v.json {
		return // an answer that is JSON has no place for them
	}
	last := 0.0
	for _, raw := range v.rec.messages(mark) {
		var m message
		require.NoError(t, json.Unmarshal(raw, &m))
		if m.Method == "" {
			break
		}
		if m.Method == "notifications/progress" {
			var p mcp.ProgressNotificationParams
			require.NoError(t, json.Unmarshal(m.Params, &p))
			require.Equal(t, "token", p.ProgressToken)
			require.Greater(t, p.Progress, last)
			require.InDelta(t, total, p.Total, 0)
			require.Contains(t, p.Message, fmt.Sprintf(" of %d items", total))
			last = p.Progress
		}
	}
	require.InDelta(t, total, last, 0)
}

func structured(t *testing.T, res *mcp.CallToolResult, out any) {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, out))
}

// oneItem proves that a list of one behaves, that nothing but failures is a failure,
// and that the limit holds for each item.
func (v *visit) oneItem(t *testing.T) {
	res, f := v.call(t, "get_users", map[string]any{"user_ids": []any{"u1"}})
	require.Nil(t, f)
	require.Equal(t, "The item succeeded.\nResults:\n- user_id 'u1': {\"name\":\"User u1\"}", textOf(res))
	v.says(t, `Not found: the item failed.
Suggestion: Check the name, or list what exists.
Failed:
- user_id 'nobody': Not found: user 'nobody' does not exist. Reference: REF`, "get_users", map[string]any{"user_ids": []any{"nobody"}})
	for _, wrong := range []map[string]any{{"user_ids": []any{}}, {"user_id": "u1"}, nil} {
		res, f = v.call(t, "get_users", wrong)
		require.Equal(t, fault.KindValidation, f.Kind())
		require.Contains(t, textOf(res), "'user_ids'")
	}
	v.says(t, `Timeout: none of the 2 items succeeded.
Suggestion: Send fewer items at a time.
Failed:
- 'item 1', 'item 2': Timeout: the tool did not finish within 50 ms. It was told to stop, but is still running. References: REF, REF`, "get_all_stuck", map[string]any{"keys": []any{"item 1", "item 2"}})
	_, f = v.call(t, "release", map[string]any{"keys": []string{"item 1", "item 2"}})
	require.Nil(t, f)
}

// files processes what is really on a disk.
func (v *visit) files(t *testing.T) {
	dir := filepath.Join(t.TempDir(), canary("layers"))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "todo.txt"), []byte("one\ntwo\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.txt"), []byte("x"), 0o000))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "old"), 0o700))
	require.NoError(t, os.Symlink("ring", filepath.Join(dir, "ring")))
	files := []string{"notes.txt", "report.txt", "old", "todo.txt", "ring", "../escape", "missing.txt"}
	byType := map[string]int{"not_found": 2, "validation_error": 1, "internal_error": 1, "client_error": 1}
	if _, err := os.ReadFile(filepath.Join(dir, "secret.txt")); errors.Is(err, os.ErrPermission) { // root may read it
		files, byType["permission_denied"] = append(files, "secret.txt"), 1
	}
	mark := v.rec.mark()
	res, f := v.call(t, "read_files", map[string]any{"dir": dir, "files": files})
	require.Nil(t, f)
	var out struct {
		Total, Succeeded, Failed int
		Results                  []struct {
			Index int
			Key   string
			Value lines
		}
		Errors []struct {
			Index int
			File  string
		}
		Summary struct {
			ByType map[string]int `json:"by_type"`
		} `json:"error_summary"`
	}
	structured(t, res, &out)
	require.Equal(t, []int{len(files), 2, len(files) - 2}, []int{out.Total, out.Succeeded, out.Failed})
	require.Equal(t, byType, out.Summary.ByType)
	require.Equal(t, lines{2}, out.Results[1].Value)
	for _, e := range out.Errors {
		require.Equal(t, files[e.Index], e.File)
	}
	if len(files) == 7 {
		require.Equal(t, `2 of 7 items succeeded, 5 failed.
Suggestion: 2 not found: check the name, or list what exists; 2 wrong input: correct it as the error says; 1 with an internal error: tell the user.
Failed:
- file 'report.txt': Not found: file 'report.txt' does not exist. Reference: REF
- file 'old': Validation Error: Argument 'file' expected a file, not a directory, but received 'old'. Reference: REF
- file 'ring': Internal error: the server failed unexpectedly. Reference: REF
- file '../escape': Client error: '../escape' leads out of the directory that may be used. Reference: REF
- file 'missing.txt': Not found: file 'missing.txt' does not exist. Reference: REF
Results:
- file 'notes.txt': {"lines":1}
- file 'todo.txt': {"lines":2}`, plain(textOf(res)))
	}
	v.progress(t, mark, len(files))
}

func (v *visit) partDown(t *testing.T) {
	size := v.Log.Size(t)
	res, f := v.call(t, "weather", map[string]any{"city": "Lisbon"})
	require.Nil(t, f)
	var out weather
	structured(t, res, &out)
	require.True(t, out.Degraded)
	require.Equal(t, 21, out.Celsius)
	require.Equal(t, []string{"sun", "rain"}, out.Forecast)
	require.Empty(t, out.Alerts)
	require.Len(t, out.Warnings, 2)
	require.Equal(t, "stale", out.Warnings[0].Fallback)
	require.InDelta(t, 7200, out.Warnings[0].AgeSeconds, 60)
	require.Contains(t, res.Meta, degrade.MetaKey)
	last, ok := res.Content[len(res.Content)-1].(*mcp.TextContent)
	require.True(t, ok)
	require.Equal(t, `Partial answer: it has 2 of 3 components.
- forecast: STALE. forecast is not fresh: a copy from cache that is 2 h old. Service unavailable: the forecast service is not available now. Reference: REF
- alerts: MISSING. Check for warnings elsewhere before you go out. Internal error: the server failed unexpectedly. Reference: REF`, plain(last.Text))
	parts := 0
	for _, r := range v.Log.Since(t, size) { // a handler of an earlier story may have ended meanwhile
		if r.Text("msg") == "mcp part of a call" {
			require.Contains(t, r.All(), canary("layers"))
			parts++
		}
	}
	require.Equal(t, 2, parts)
	res, f = v.call(t, "weather", map[string]any{"city": "Atlantis"})
	require.Equal(t, fault.KindInternal, f.Kind())
	require.Contains(t, textOf(res), "Internal error: could not get 'current': "+internal().Message())
}
