package correlate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// TestWhoCalled proves that a record over HTTP has the user, and a session's ID only as
// the beginning of a hash.
func TestWhoCalled(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
	server.AddTool(&mcp.Tool{Name: "bad", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errSecret
	})
	server.AddReceivingMiddleware(correlate.New(&correlate.Options{Logger: log.Logger(), NewID: correlate.Extend(requestID), Advanced: correlate.Advanced{CallerID: requestID}}))
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "ada", Expiration: time.Now().Add(time.Hour)}, nil
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(auth.RequireBearerToken(verify, nil)(handler))
	defer web.Close()
	client := &http.Client{Transport: withHeaders{"Authorization": "Bearer " + harness.Canary, "X-Request-Id": "r-1"}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: client}, speak.Version(string(harness.Older)))
	require.NoError(t, err)
	defer session.Close()
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "bad"})
	require.NoError(t, err)
	r := log.Only(t)
	require.Equal(t, "ada", r["user"])
	require.Equal(t, "r-1", r["caller_id"])
	require.Regexp(t, `^r-1-[0-9a-f]{12}$`, r["reference"])
	require.NotEmpty(t, session.ID())
	require.Regexp(t, `^[0-9a-f]{12}$`, r["session"])
	require.NotContains(t, log.String(), session.ID())
	require.NotContains(t, strings.ReplaceAll(log.String(), errSecret.Error(), ""), harness.Canary)
}

// withHeaders are headers of every request.
type withHeaders map[string]string

func (h withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for key, value := range h {
		req.Header.Set(key, value)
	}
	return http.DefaultTransport.RoundTrip(req)
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(slog.LevelInfo)
		mw := correlate.New(&correlate.Options{Logger: log.Logger(), Slow: time.Second})
		after := func(wait time.Duration, err error) {
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
				time.Sleep(wait)
				return &mcp.CallToolResult{}, err
			}, mw)
		}
		after(time.Second, nil)
		require.Empty(t, log.Records())
		after(1500*time.Millisecond, nil)
		after(2*time.Second, fault.NotFound("file", "a"))
		after(2*time.Second, errSecret)
		after(time.Millisecond, fault.NotFound("file", "a"))
		records := log.Records()
		require.Len(t, records, 4)
		for i, want := range []harness.Record{
			{"level": "WARN", "outcome": "ok", "slow": true}, {"level": "WARN", "outcome": "not_found", "slow": true},
			{"level": "ERROR", "outcome": "internal_error", "slow": true}, {"level": "INFO", "outcome": "not_found", "slow": nil},
		} {
			require.Equal(t, want, harness.Record{"level": records[i]["level"], "outcome": records[i]["outcome"], "slow": records[i]["slow"]})
		}
	})
}

func TestAttrs(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	asked := 0
	run := func(attrs func(context.Context, mcp.Request) []slog.Attr) harness.Record {
		before := len(log.Records())
		_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errSecret },
			correlate.New(&correlate.Options{Logger: log.Logger(), Attrs: attrs}))
		return log.Records()[before]
	}
	r := run(func(ctx context.Context, req mcp.Request) []slog.Attr {
		asked++
		return []slog.Attr{slog.String("tenant", "t-7"), slog.String("name", middleware.Target(req)), slog.String("same", correlate.ID(ctx)), slog.String("long", strings.Repeat("x", 1<<20))}
	})
	require.Equal(t, 1, asked)
	require.Equal(t, "t-7", r["tenant"])
	require.Equal(t, "t", r["name"])
	require.Equal(t, r["reference"], r["same"])
	require.Less(t, len(r["long"].(string)), 1100)
	r = run(func(context.Context, mcp.Request) []slog.Attr {
		var many []slog.Attr
		for i := range 10_000 {
			many = append(many, slog.Int(fmt.Sprint("a", i), i))
		}
		return many
	})
	require.Less(t, len(r), 60)
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	r = run(func(context.Context, mcp.Request) []slog.Attr {
		deep := slog.Int("deep", 1)
		for range 100 {
			deep = slog.Group("g", deep)
		}
		var many []any
		for i := range 10_000 {
			many = append(many, slog.Int(fmt.Sprint("m", i), i))
		}
		return []slog.Attr{
			slog.Any("small", map[string]int{"a": 1}), slog.Any("large", make([]int, 1<<16)), slog.Any("bytes", bytes.Repeat([]byte("x"), 1<<16)),
			slog.Any("cyclic", cyclic), slog.Any("error", errors.New(strings.Repeat("e", 1<<16))), slog.Any("channel", make(chan int)),
			slog.Any("hidden", struct{ long string }{strings.Repeat("h", 1<<16)}), slog.Group("some", many[:10]...),
			slog.String(strings.Repeat("k", 1<<16), ""), slog.Any("deep", deep.Value.Any()), deep, slog.Group("many", many...),
		}
	})
	require.Equal(t, map[string]any{"a": 1.0}, r["small"])
	require.True(t, strings.HasPrefix(r["large"].(string), "[0,0,0"), r["large"])
	require.Len(t, r["some"], 10)
	require.NotContains(t, r, "many")
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Less(t, len(text), 16<<10)
	require.Contains(t, string(text), "kkk [")
	type user struct {
		Name, Bio string
		Key       string `json:"-"`
		Friend    *user
	}
	large := user{"bob", strings.Repeat("b", 1<<11), "unwritten", nil}
	r = run(func(context.Context, mcp.Request) []slog.Attr {
		return []slog.Attr{slog.Any("large", large), slog.Any("pointed", user{Key: "unwritten", Friend: &large})}
	})
	text, err = json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, r["large"], `{"Name":"bob"`)
	require.NotContains(t, string(text), "unwritten", "no handler that writes JSON has it")
	r = run(func(context.Context, mcp.Request) []slog.Attr { panic("no") })
	require.Equal(t, "internal_error", r["outcome"], "the record is written without them")
}

// secretTool declares secrets in every way that a schema has.
const secretTool = `{"type":"object","properties":{
	"city":{"type":"string"}, "note":{"type":"string"}, "password":{"type":"string"},
	"pin_of_card":{"type":"string","format":"password"}, "once":{"type":"string","writeOnly":true}, "titled":{"type":"string","title":"API key"},
	"marked":{"type":"string","x-sensitive":true}, "list":{"type":"array","items":{"type":"string","format":"password"}},
	"referred":{"$ref":"#/$defs/hush"}, "chosen":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/hush"}]},
	"deep":{"type":"object","properties":{"plain":{"type":"string"},"inner":{"type":"string","format":"password"},"self":{"$ref":"#/properties/deep"}}}},
	"$defs":{"hush":{"type":"string","format":"password"}}}`

// TestArguments puts a canary into every argument that may not be recorded, and searches
// the whole log for it.
func TestArguments(t *testing.T) {
	for _, shape := range []harness.Shape{harness.ServerRaw, harness.WrapTool} {
		for want, mode := range map[string]correlate.Advanced{
			"": {},
			`{"chosen":null,"city":null,"deep":null,"list":null,"marked":null,"note":null,"once":null,"password":null,"pin_of_card":null,"referred":null,"titled":null,"undeclared":null}`: {ArgumentNames: true},
			`{"chosen":null,"city":"Bern","deep":{"INNER":"[redacted]","api_key":"[redacted]","inner":"[redacted]","plain":"yes","self":{"inner":"[redacted]"}},` +
				`"list":null,"marked":null,"note":"token=[redacted]","once":null,"password":null,"pin_of_card":null,"referred":null,"titled":null,"undeclared":null}`: {ArgumentValues: 1024},
		} {
			log := harness.NewLog(slog.LevelInfo)
			mw := correlate.New(&correlate.Options{Logger: log.Logger(), Advanced: mode})
			fail := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, errors.New("it broke")
			}
			s := harness.Start(t, harness.Place{Shape: shape, Era: harness.Current}, harness.Setup{Middleware: []mcp.Middleware{mw}, More: func(server *mcp.Server) {
				tool := &mcp.Tool{Name: "secrets", InputSchema: json.RawMessage(secretTool)}
				if shape == harness.WrapTool {
					server.AddTool(tool, middleware.Tool(fail, mw))
				} else {
					server.AddTool(tool, fail)
				}
			}})
			c := harness.Canary
			s.CallTool(t.Context(), "secrets", map[string]any{
				"city": "Bern", "note": "token=" + c, "password": c, "pin_of_card": c, "once": c, "titled": c, "marked": c, "list": []string{c}, "referred": c, "chosen": c,
				"deep": map[string]any{"plain": "yes", "inner": c, "INNER": c, "api_key": c, "self": map[string]any{"inner": c}}, "undeclared": c,
			})
			r := log.Only(t)
			require.NotContains(t, log.String(), c)
			switch {
			case want == "":
				require.NotContains(t, r, "arguments")
				require.NotContains(t, r, "arguments_bytes")
			case shape == harness.WrapTool && mode.ArgumentValues > 0:
				require.NotContains(t, r["arguments"], "Bern", "nobody knows the schema")
			default:
				require.Equal(t, want, r["arguments"])
				require.Greater(t, r["arguments_bytes"], 300.0)
			}
		}
	}
}

// TestHostileArguments proves that neither a name nor a value looks like a part of the
// record, and that both are bounded.
func TestHostileArguments(t *testing.T) {
	many := map[string]any{}
	for i := range 4000 {
		many[fmt.Sprint("n", i)] = i
	}
	for name, args := range map[string]any{
		"a line in a name": map[string]any{"a\nlevel=ERROR msg=forged": "x", `","level":"ERROR`: 1}, "many": many,
		"a long value": map[string]any{"city": strings.Repeat("x", 60<<10)}, "a long name": map[string]any{strings.Repeat("n", 60<<10): 1},
		"too much": map[string]any{"city": strings.Repeat("x", 1<<20)}, "a secret as a name": map[string]any{"token=" + harness.Canary: 1},
	} {
		log := harness.NewLog(slog.LevelInfo)
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers:   map[string]harness.Handler{"bad": harness.Fail(errors.New("it broke"))},
			Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: log.Logger(), Advanced: correlate.Advanced{ArgumentValues: 1024}})},
		})
		s.CallTool(t.Context(), "bad", args)
		r := log.Only(t)
		require.Equal(t, 1, strings.Count(log.String(), "\n"), name)
		require.Less(t, len(log.String()), 3000, name)
		require.NotContains(t, log.String(), harness.Canary)
		if text, ok := r["arguments"].(string); ok {
			require.True(t, json.Valid([]byte(text)), text)
		} else {
			require.Equal(t, "too much", name)
		}
	}
}

// TestForgedNames: a handler that quotes nothing writes no line and no invisible character of a caller's.
func TestForgedNames(t *testing.T) {
	var written []string
	log := slogmulti.NewHandleInlineHandler(func(_ context.Context, _ []string, _ []slog.Attr, r slog.Record) error {
		r.Attrs(func(a slog.Attr) bool { written = append(written, a.Key+"="+a.Value.String()); return true })
		return nil
	})
	const evil = "x\nlevel=ERROR\u2028msg=\u202eforged\u200b\x1b[2K"
	h := correlate.New(&correlate.Options{Logger: slog.New(log), Advanced: correlate.Advanced{
		ArgumentValues: 1024, CallerID: correlate.FromRequest("X-Request-ID", "id"),
	}})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
	_, err := h(t.Context(), middleware.MethodGetPrompt, &mcp.GetPromptRequest{
		Params: &mcp.GetPromptParams{Name: evil, Meta: mcp.Meta{"id": evil}, Arguments: map[string]string{evil: evil}},
		Extra:  &mcp.RequestExtra{Header: http.Header{"X-Request-Id": {evil}}, TokenInfo: &auth.TokenInfo{UserID: evil}},
	})
	require.NoError(t, err)
	text := strings.Join(written, "|")
	require.Contains(t, text, "user=x level=ERROR")
	for _, r := range text {
		require.True(t, unicode.IsPrint(r), "%q in %q", r, text)
	}
}

// TestNamesHaveNoCredentials: what a client sends as a name or a URI is recorded without them, and bounded.
func TestNamesHaveNoCredentials(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug)
	h := correlate.New(&correlate.Options{Logger: log.Logger()})(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.ReadResourceResult{}, nil })
	for _, uri := range []string{
		"https://bob:" + harness.Canary + "@example.com/x", "file:///x?token=" + harness.Canary, strings.Repeat("x", 250) + "?token=" + harness.Canary,
		"https://bob:" + harness.Canary + "@example.com/" + strings.Repeat("long/", 1<<16),
	} {
		_, err := h(t.Context(), middleware.MethodReadResource, &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: uri}})
		require.NoError(t, err)
		_, err = h(t.Context(), "resources/subscribe", &mcp.SubscribeRequest{Params: &mcp.SubscribeParams{URI: uri}})
		require.NoError(t, err)
	}
	require.Len(t, log.Records(), 8)
	require.NotContains(t, log.String(), harness.Canary)
	require.Contains(t, log.String(), "example.com/x")
	require.Less(t, len(log.String()), 8*1024)
}

func TestTheReferenceOfASuccess(t *testing.T) {
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		for _, on := range []bool{true, false} {
			log := harness.NewLog(slog.LevelDebug)
			shared := mcp.Meta{"mine": 1}
			got := harness.Call(t, at, func(_ context.Context, req mcp.Request) (mcp.Result, error) {
				res := harness.Success(req)
				res.SetMeta(shared)
				return res, nil
			}, correlate.New(&correlate.Options{Logger: log.Logger(), Advanced: correlate.Advanced{ReferenceInSuccess: on}}))
			meta := got.Result.GetMeta()
			require.EqualValues(t, 1, meta["mine"])
			require.NotContains(t, shared, correlate.ReferenceKey, "what a handler shares is not written to")
			if on {
				require.Equal(t, ofCalls(log)[0]["reference"], meta[correlate.ReferenceKey])
			} else {
				require.NotContains(t, meta, correlate.ReferenceKey)
			}
		}
	})
}

// TestTheReferenceIsOfTheCall that is answered, whatever stands around what records calls.
func TestTheReferenceIsOfTheCall(t *testing.T) {
	var kept mcp.Result
	ids := 0
	h := middleware.Chain(mcprecover.New(nil),
		func(next mcp.MethodHandler) mcp.MethodHandler { // of the user's: it sees the handler's own result, and keeps it
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if kept == nil {
					kept = res
				}
				return &mcp.CallToolResult{}, err
			}
		},
		correlate.New(&correlate.Options{
			Logger: slog.New(slog.DiscardHandler), Advanced: correlate.Advanced{ReferenceInSuccess: true},
			NewID: func(context.Context, mcp.Request) string { ids++; return fmt.Sprint("id-", ids) },
		}))(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil })
	for _, id := range []string{"id-1", "id-2"} {
		res, err := h(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}})
		require.NoError(t, err)
		require.Equal(t, id, res.GetMeta()[correlate.ReferenceKey])
	}
	require.Empty(t, kept.GetMeta(), "a kept result has no reference of one call")
}

// TestARuleDoesNotLowerTheLevel, unless it says that the caller is to blame.
func TestARuleDoesNotLowerTheLevel(t *testing.T) {
	refused := refusal{StatusCode: 429}
	for _, c := range []struct {
		err    error
		public *fault.Error
		level  string
	}{
		{errSecret, fault.NotFound("invoice", "7"), "ERROR"},
		{errSecret, fault.NotFound("invoice", "7").WithParty(fault.PartyCaller), "INFO"},
		{errSecret, fault.Unavailable("it"), "ERROR"},
		{refused, fault.NotFound("invoice", "7"), "WARN"},
		{refused, fault.New(fault.KindInternal, "m"), "ERROR"},
		{context.DeadlineExceeded, fault.Denied("read", "it"), "WARN"},
	} {
		log := harness.NewLog(slog.LevelInfo)
		got := harness.Call(t, rawAt, harness.Fail(fmt.Errorf("loading: %w", c.err)), correlate.New(&correlate.Options{Logger: log.Logger()}),
			mask.New(&mask.Options{Rules: []mask.Rule{mask.Is(c.err, c.public)}}))
		require.Equal(t, c.public.Kind(), got.Fault().Kind())
		require.Equal(t, c.level, log.Only(t)["level"], c.public.Error())
		require.Equal(t, string(c.public.Kind()), log.Only(t)["kind"])
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for want, o := range map[string]correlate.Options{
		"correlate.New: Options.Slow is negative; give a time, or zero if no call is slow":                                   {Slow: -1},
		"correlate.New: Options.Advanced.ArgumentValues is negative; give a number of bytes, such as 1024, or zero for none": {Advanced: correlate.Advanced{ArgumentValues: -1}},
	} {
		require.PanicsWithValue(t, want, func() { correlate.New(&o) })
	}
}

// TestMisspeltSecretsOfAPrompt: nobody declares the names of a prompt's arguments as secrets.
func TestMisspeltSecretsOfAPrompt(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	h := correlate.New(&correlate.Options{Logger: log.Logger(), Advanced: correlate.Advanced{ArgumentValues: 1024}})(
		func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errors.New("it broke") })
	_, _ = h(t.Context(), "prompts/get", &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{
		Name: "p", Arguments: map[string]string{"pasword": harness.Canary, "api_kye": harness.Canary, "passport": "D1"},
	}})
	require.NotContains(t, log.String(), harness.Canary)
	require.Equal(t, `{"api_kye":null,"passport":"D1","pasword":null}`, log.Only(t)["arguments"])
}
