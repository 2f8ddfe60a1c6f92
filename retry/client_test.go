package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/retry/client"
)

// A reply is what a server answers, as a client's middleware gets it.
type reply func() (mcp.Result, error)

// peer answers each request with the next of its replies, and those after the last one
// with the last. It lists one tool.
type peer struct {
	replies []reply
	tool    *mcp.ToolAnnotations
	mute    bool // it gives no list

	calls, lists int
	attempts     []any // by the _meta of the calls
	at           []time.Time
}

func (p *peer) handle(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
	if method == "tools/list" {
		p.lists++
		if p.mute {
			return nil, &jsonrpc.Error{Code: 503, Message: "busy"}
		}
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{nil, {Name: "other"}, {Name: "it", Annotations: p.tool}}}, nil
	}
	r := p.replies[min(p.calls, len(p.replies)-1)]
	p.calls++
	p.at = append(p.at, time.Now())
	if params := req.GetParams(); !safe.Nil(params) {
		p.attempts = append(p.attempts, params.GetMeta()[retry.AttemptKey])
	}
	return r()
}

func (p *peer) call(t *testing.T, o client.Options) (mcp.Result, error) {
	t.Helper()
	handler := client.New(&o)(p.handle)
	if !p.mute {
		list(t, handler)
	}
	return handler(t.Context(), middleware.MethodCallTool, toolRequest(&mcp.CallToolParams{Name: "it"}))
}

var session = new(mcp.ClientSession)

// list asks for the tools, as a client does before it calls one.
func list(t *testing.T, handler mcp.MethodHandler) {
	t.Helper()
	_, err := handler(t.Context(), "tools/list", &mcp.ClientRequest[mcp.Params]{Session: session, Params: &mcp.ListToolsParams{}})
	require.NoError(t, err)
}

func toolRequest(params *mcp.CallToolParams) mcp.Request {
	return &mcp.ClientRequest[mcp.Params]{Session: session, Params: params}
}

func fine() (mcp.Result, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
}

// onWire returns what a client gets of a result or an error: what JSON keeps of it.
func onWire(res *mcp.CallToolResult) reply {
	raw, err := json.Marshal(res)
	if err != nil {
		panic(err)
	}
	return func() (mcp.Result, error) {
		var res mcp.CallToolResult
		if err := json.Unmarshal(raw, &res); err != nil {
			panic(err)
		}
		return &res, nil
	}
}

func result(e *fault.Error) reply {
	return onWire(&mcp.CallToolResult{IsError: true, Meta: mcp.Meta{middleware.MetaKey: e}, Content: []mcp.Content{&mcp.TextContent{Text: e.Text()}}})
}

func guidance(r fault.Retry) reply {
	return result(fault.New(fault.KindServiceUnavailable, "the ledger is busy.").WithRetry(r))
}

func told(meta mcp.Meta) reply {
	return onWire(&mcp.CallToolResult{IsError: true, Meta: meta, Content: []mcp.Content{&mcp.TextContent{Text: "slow down"}}})
}

func protocol(code int64, data string) reply {
	return func() (mcp.Result, error) {
		wire := &jsonrpc.Error{Code: code, Message: "it failed"}
		if data != "" {
			wire.Data = json.RawMessage(data)
		}
		return nil, fmt.Errorf("calling %q: %w", "tools/call", wire)
	}
}

func local(err error) reply { return func() (mcp.Result, error) { return nil, err } }

func rejectedByTransport(status string) reply {
	return local(fmt.Errorf("calling %q: %w: sending %q: %v", "tools/call",
		&jsonrpc.Error{Code: -32005, Message: "rejected by transport"}, "tools/call", status))
}

func TestClientDecides(t *testing.T) {
	var (
		reads = &mcp.ToolAnnotations{ReadOnlyHint: true}
		idem  = &mcp.ToolAnnotations{IdempotentHint: true}
		write = &mcp.ToolAnnotations{}
	)
	dial := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "example.test", IsTemporary: true}}
	for name, c := range map[string]struct {
		tool    *mcp.ToolAnnotations
		fails   reply
		options client.Options
		wait    time.Duration // exactly
		again   bool
	}{
		// What a server of ours says.
		"guided, a write":                     {tool: write, fails: guidance(fault.Retry{ShouldRetry: true}), again: true},
		"guided, a wait":                      {tool: write, fails: guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 7.5}), wait: 7500 * time.Millisecond, again: true},
		"guided, no":                          {tool: reads, fails: guidance(fault.Retry{})},
		"only asked to wait, a read":          {tool: reads, fails: guidance(fault.Retry{RetryAfterSeconds: 0.3}), again: true, wait: 300 * time.Millisecond},
		"only asked to wait, a write":         {tool: write, fails: guidance(fault.Retry{RetryAfterSeconds: 1})},
		"guided, refused":                     {tool: write, fails: guidance(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone}), again: true},
		"guided, unknown, a write":            {tool: write, fails: guidance(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown})},
		"guided, unknown, a read":             {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), again: true},
		"guided, unknown, may be repeated":    {tool: write, fails: guidance(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), options: client.Options{Repeatable: always}, again: true},
		"guided, unknown, may not":            {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown}), options: client.Options{Repeatable: never}},
		"guided, committed":                   {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted})},
		"guided, no attempts left":            {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, MaxAttempts: 1})},
		"guided, longer than the limit":       {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 61})},
		"guided, as long as the limit":        {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 60}), wait: 60 * time.Second, again: true},
		"guided, forever":                     {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1e300})},
		"guided, once":                        {tool: reads, fails: guidance(fault.Retry{ShouldRetry: true}), options: client.Options{MaxAttempts: 1}},
		"guided by a protocol error":          {tool: write, fails: protocol(429, `{"type":"rate_limited","message":"slow down","retry":{"should_retry":true,"retry_after_seconds":2}}`), wait: 2 * time.Second, again: true},
		"guided by a protocol error, unknown": {tool: write, fails: protocol(503, `{"type":"timeout","message":"late","retry":{"should_retry":true,"effect":"unknown"}}`)},
		"of ours, not guided":                 {tool: reads, fails: result(fault.New(fault.KindServiceUnavailable, "it is down.")), again: true},
		"of ours, not guided, wrong":          {tool: reads, fails: result(fault.Invalid("n", 1, "a word"))},

		// What other servers say.
		"told in words":                {tool: reads, fails: told(nil)},
		"retryAfter in _meta":          {tool: reads, fails: told(mcp.Meta{"retryAfter": 3}), wait: 3 * time.Second, again: true},
		"retryAfter in _meta, a write": {tool: write, fails: told(mcp.Meta{"retryAfter": 3})},
		"retryAfterSeconds":            {tool: reads, fails: protocol(-32000, `{"retryAfterSeconds":0.5}`), wait: 500 * time.Millisecond, again: true},
		"retry_after_seconds":          {tool: idem, fails: protocol(-32000, `{"retry_after_seconds":5}`), wait: 5 * time.Second, again: true},
		"the longest of two":           {tool: reads, fails: protocol(-32000, `{"retryAfter":3,"retryAfterMs":2000}`), wait: 3 * time.Second, again: true},
		"a wait that is none":          {tool: reads, fails: protocol(-32000, `{"retryAfter":"soon"}`)},
		"a wait that is negative":      {tool: reads, fails: protocol(-32000, `{"retryAfter":-5}`)},
		"a wait that is not finite":    {tool: reads, fails: protocol(-32000, `{"retryAfter":"Inf"}`)},
		"a wait of an hour":            {tool: reads, fails: protocol(-32000, `{"retryAfter":3600}`)},
		"data that are no object":      {tool: reads, fails: protocol(-32000, `[1]`)},
		"an unknown code":              {tool: reads, fails: protocol(-32000, "")},
		"wrong parameters":             {tool: reads, fails: protocol(jsonrpc.CodeInvalidParams, "")},
		"too many calls":               {tool: reads, fails: protocol(429, ""), again: true},
		"not available, may be":        {tool: write, fails: protocol(503, ""), options: client.Options{Repeatable: always}, again: true},
		"an HTTP status that passes":   {tool: reads, fails: rejectedByTransport("Service Unavailable"), again: true},
		"an HTTP status that stays":    {tool: reads, fails: rejectedByTransport("Bad Request")},

		// What happens on the way.
		"the connection is closed":          {tool: reads, fails: local(fmt.Errorf("%w: calling", mcp.ErrConnectionClosed))},
		"the connection is closed, a write": {tool: write, fails: local(mcp.ErrConnectionClosed)},
		"the connection was reset":          {tool: reads, fails: local(syscall.ECONNRESET), again: true},
		"a name is not found for now":       {tool: reads, fails: local(dial), again: true},
		"a time limit inside":               {tool: reads, fails: local(context.DeadlineExceeded), again: true},
		"somebody cancelled inside":         {tool: reads, fails: local(context.Canceled)},
		"an unknown error":                  {tool: reads, fails: local(errors.New("who knows"))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{replies: []reply{c.fails, fine}, tool: c.tool}
				res, err := p.call(t, c.options)
				wantRes, wantErr := c.fails()
				if !c.again {
					require.Equal(t, 1, p.calls)
					require.Equal(t, wantRes, res)
					require.Equal(t, wantErr, err)
					require.Zero(t, time.Since(p.at[0]))
					return
				}
				require.Equal(t, 2, p.calls)
				require.NoError(t, err)
				require.False(t, res.(*mcp.CallToolResult).IsError)
				require.Equal(t, []any{nil, 2}, p.attempts)
				wait := p.at[1].Sub(p.at[0])
				if c.wait > 0 {
					require.Equal(t, c.wait, wait)
					return
				}
				require.GreaterOrEqual(t, wait, 250*time.Millisecond)
				require.LessOrEqual(t, wait, 751*time.Millisecond)
			})
		})
	}
}

// Reads need nobody's word, and other methods pass.
func TestClientMethods(t *testing.T) {
	for method, c := range map[string]struct {
		params mcp.Params
		again  bool
		number any // the attempt
	}{
		middleware.MethodReadResource: {&mcp.ReadResourceParams{URI: "x:y"}, true, 2},
		middleware.MethodGetPrompt:    {&mcp.GetPromptParams{Name: "it"}, true, 2},
		middleware.MethodComplete:     {&mcp.CompleteParams{}, true, 2},
		"resources/list":              {&mcp.ListResourcesParams{}, true, nil},
		"resources/templates/list":    {nil, true, nil},
		"ping":                        {&mcp.PingParams{}, false, nil},
		"resources/subscribe":         {&mcp.SubscribeParams{}, false, nil},
		"subscriptions/listen":        {&mcp.SubscriptionsListenParams{}, false, nil},
		"acme/custom":                 {nil, false, nil},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{replies: []reply{protocol(503, `{"retryAfter":1}`), local(nil)}}
				_, err := client.New(nil)(p.handle)(t.Context(), method, &mcp.ClientRequest[mcp.Params]{Params: c.params})
				if !c.again {
					require.Error(t, err)
					require.Equal(t, 1, p.calls)
					return
				}
				require.NoError(t, err)
				require.Equal(t, 2, p.calls)
				if c.params != nil {
					require.Equal(t, []any{nil, c.number}, p.attempts)
				}
				require.Zero(t, p.lists)
			})
		})
	}
}

// A request without parameters is no reason to stumble.
func TestClientWithoutParameters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{replies: []reply{guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 1, Effect: fault.EffectUnknown}), fine}}
		handler := client.New(nil)(p.handle)
		_, err := handler(t.Context(), middleware.MethodCallTool, &mcp.ClientRequest[*mcp.CallToolParams]{})
		require.NoError(t, err)
		require.Equal(t, 1, p.calls)
		_, err = client.New(nil)((&peer{replies: []reply{protocol(429, "")}}).handle)(
			t.Context(), middleware.MethodGetPrompt, &mcp.ClientRequest[*mcp.GetPromptParams]{})
		require.Error(t, err)
	})
}

// The caller's parameters are not written to, and its own count goes on.
func TestClientCountsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{replies: []reply{guidance(fault.Retry{ShouldRetry: true})}}
		params := &mcp.CallToolParams{Name: "it", Meta: mcp.Meta{retry.AttemptKey: 4, "mine": "kept"}}
		before := maps.Clone(params.Meta)
		_, err := client.New(nil)(p.handle)(t.Context(), middleware.MethodCallTool, toolRequest(params))
		require.NoError(t, err)
		require.Equal(t, []any{4, 5, 6}, p.attempts)
		require.Equal(t, before, params.Meta)
	})
	synctest.Test(t, func(t *testing.T) {
		p := &peer{replies: []reply{guidance(fault.Retry{ShouldRetry: true, MaxAttempts: 5})}}
		params := &mcp.CallToolParams{Name: "it", Meta: mcp.Meta{retry.AttemptKey: 4.0}}
		_, err := client.New(nil)(p.handle)(t.Context(), middleware.MethodCallTool, toolRequest(params))
		require.NoError(t, err)
		require.Equal(t, []any{4.0, 5}, p.attempts, "the server's limit counts the caller's attempts, too")
	})
}

func TestClientNeverAfterAQuestion(t *testing.T) {
	asks := func() (mcp.Result, error) {
		return &mcp.CallToolResult{
			IsError: true, InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "which?"}}, Meta: mcp.Meta{"retryAfter": 1.0},
		}, nil
	}
	for name, c := range map[string]struct {
		params mcp.CallToolParams
		fails  reply
	}{
		"it asks":         {fails: asks},
		"it was answered": {params: mcp.CallToolParams{InputResponses: mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept"}}}, fails: guidance(fault.Retry{ShouldRetry: true})},
		"its own state":   {params: mcp.CallToolParams{RequestState: "opaque"}, fails: guidance(fault.Retry{ShouldRetry: true})},
	} {
		t.Run(name, func(t *testing.T) {
			p := &peer{replies: []reply{c.fails, fine}}
			c.params.Name = "it"
			_, err := client.New(&client.Options{Repeatable: always})(p.handle)(t.Context(), middleware.MethodCallTool, toolRequest(&c.params))
			require.NoError(t, err)
			require.Equal(t, 1, p.calls)
		})
	}
}

// No wait is begun that ends after the context.
func TestClientKeepsTheDeadline(t *testing.T) {
	for asked, again := range map[float64]bool{4: true, 5: false, 6: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			p := &peer{replies: []reply{guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: asked}), fine}}
			res, err := client.New(nil)(p.handle)(ctx, middleware.MethodCallTool, toolRequest(&mcp.CallToolParams{Name: "it"}))
			require.NoError(t, err)
			require.Equal(t, !again, res.(*mcp.CallToolResult).IsError)
			if !again {
				require.Zero(t, time.Since(began))
			}
		})
	}
}

// A caller that gives up gets the last failure at once.
func TestClientStopsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		began := time.Now()
		p := &peer{replies: []reply{guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 9}), fine}}
		res, err := client.New(nil)(p.handle)(ctx, middleware.MethodCallTool, toolRequest(&mcp.CallToolParams{Name: "it"}))
		require.NoError(t, err)
		require.True(t, res.(*mcp.CallToolResult).IsError)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, 1, p.calls)
	})
}

// One that has given up already is not asked to wait.
func TestClientAfterTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	handler := client.New(nil)(
		func(context.Context, string, mcp.Request) (mcp.Result, error) {
			calls++
			cancel()
			return guidance(fault.Retry{ShouldRetry: true})()
		})
	res, err := handler(ctx, middleware.MethodCallTool, toolRequest(&mcp.CallToolParams{Name: "it"}))
	require.NoError(t, err)
	require.True(t, res.(*mcp.CallToolResult).IsError)
	require.Equal(t, 1, calls)
}

func TestClientMakesErrors(t *testing.T) {
	o := client.Options{FailuresAsErrors: true}
	t.Run("result", func(t *testing.T) {
		p := &peer{replies: []reply{result(fault.NotFound("invoice", "INV-7").WithCode("NO_INVOICE"))}}
		res, err := p.call(t, o)
		require.Nil(t, res)
		require.ErrorIs(t, err, fault.KindNotFound)
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		require.Equal(t, "INV-7", f.Data().Identifier)
		require.Equal(t, "NO_INVOICE", f.Data().Code)
		var failed *client.ResultError
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Result.IsError)
		require.Equal(t, "the tool answered with an error", failed.Error())
		require.Contains(t, err.Error(), "Not found: ")
	})
	t.Run("result of another server", func(t *testing.T) {
		res, err := (&peer{replies: []reply{told(nil)}}).call(t, o)
		require.Nil(t, res)
		require.ErrorIs(t, err, fault.KindTool)
		require.Contains(t, err.Error(), "slow down")
	})
	t.Run("protocol error", func(t *testing.T) {
		_, err := (&peer{replies: []reply{protocol(404, "")}}).call(t, o)
		require.ErrorIs(t, err, fault.KindNotFound)
		var wire *jsonrpc.Error
		require.ErrorAs(t, err, &wire)
		require.EqualValues(t, 404, wire.Code)
	})
	t.Run("connection", func(t *testing.T) {
		_, err := (&peer{replies: []reply{local(fmt.Errorf("%w: calling", mcp.ErrConnectionClosed))}}).call(t, o)
		require.ErrorIs(t, err, fault.KindConnectionFailed)
		require.ErrorIs(t, err, mcp.ErrConnectionClosed)
	})
	t.Run("fault of an inner middleware", func(t *testing.T) {
		own := errors.New("own")
		_, err := (&peer{replies: []reply{local(fmt.Errorf("around: %w", fault.Denied("call", "it").Because(own)))}}).call(t, o)
		require.ErrorIs(t, err, fault.KindPermissionDenied)
		require.ErrorIs(t, err, own)
	})
	t.Run("success", func(t *testing.T) {
		res, err := (&peer{replies: []reply{fine}}).call(t, o)
		require.NoError(t, err)
		require.NotNil(t, res)
	})
	t.Run("off", func(t *testing.T) {
		res, err := (&peer{replies: []reply{told(nil)}}).call(t, client.Options{})
		require.NoError(t, err)
		require.True(t, res.(*mcp.CallToolResult).IsError)
	})
}

// A middleware inside sees every attempt, with its number.
func TestClientNumbersItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{replies: []reply{guidance(fault.Retry{ShouldRetry: true, RetryAfterSeconds: 2}), protocol(429, `{"retryAfter":1}`), fine}}
		began := time.Now()
		var seen []any
		var at []time.Duration
		handler := client.New(&client.Options{Repeatable: always})(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			seen, at = append(seen, req.GetParams().GetMeta()[retry.AttemptKey]), append(at, time.Since(began))
			return p.handle(ctx, method, req)
		})
		_, err := handler(t.Context(), middleware.MethodCallTool, toolRequest(&mcp.CallToolParams{Name: "it"}))
		require.NoError(t, err)
		require.Equal(t, []any{nil, 2, 3}, seen)
		require.Equal(t, []time.Duration{0, 2 * time.Second, 3 * time.Second}, at)
	})
}

// What tools are is learned from the lists that pass. Each holds until the next one: most
// clients ask once in a session that lasts for days.
func TestClientLearnsWhatToolsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{replies: []reply{protocol(429, `{"retryAfter":1}`)}, tool: &mcp.ToolAnnotations{ReadOnlyHint: true}}
		handler := client.New(nil)(p.handle)
		calls := func(req mcp.Request) int {
			before := p.calls
			_, err := handler(t.Context(), middleware.MethodCallTool, req)
			require.Error(t, err)
			return p.calls - before
		}
		it := toolRequest(&mcp.CallToolParams{Name: "it"})
		require.Equal(t, 1, calls(it), "it is not known")
		list(t, handler)
		require.Equal(t, 3, calls(it))
		require.Equal(t, 1, calls(&mcp.ClientRequest[mcp.Params]{Session: new(mcp.ClientSession), Params: &mcp.CallToolParams{Name: "it"}}), "of another server")
		require.Equal(t, 1, p.lists, "the server that is failing was not asked")
		time.Sleep(100 * time.Hour)
		require.Equal(t, 3, calls(it))
		p.tool = nil // it was replaced by one that writes
		list(t, handler)
		require.Equal(t, 1, calls(it))
	})
}

func TestClientOptionsAreChecked(t *testing.T) {
	var o client.Options
	require.NotPanics(t, func() {
		client.New(nil)
		client.New(&o)
		client.New(&client.Options{Budget: time.Millisecond})
	})
	require.Zero(t, o.MaxAttempts)
	for text, bad := range map[string]client.Options{
		"client.New: Options.MaxAttempts is negative; leave it zero for the default":     {MaxAttempts: -1},
		"client.New: Options.Budget is negative; leave it zero for the default":          {Budget: -1},
		"client.New: Options.InitialInterval is negative; leave it zero for the default": {InitialInterval: -1},
		"client.New: Options.InitialInterval is longer than Budget (2s > 1s); make it shorter, or leave one of them zero": {
			InitialInterval: 2 * time.Second, Budget: time.Second,
		},
	} {
		require.PanicsWithValue(t, text, func() { client.New(&bad) })
	}
}

// The client and the server both try: no more often than each of them may.
func TestClientAndServerTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(limited(time.Second))
		session := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, harness.Setup{
			Handlers:   map[string]harness.Handler{"it": s.handle},
			Middleware: []mcp.Middleware{retry.Server(&retry.ServerOptions{Repeatable: always})},
		})
		session.Caller.AddSendingMiddleware(client.New(&client.Options{FailuresAsErrors: true}))
		got := session.Call(t, "it")
		require.Equal(t, 9, s.runs)
		require.ErrorIs(t, got.Err, fault.KindRateLimited)
		var failed *client.ResultError
		require.ErrorAs(t, got.Err, &failed)
		require.EqualValues(t, 3, failed.Result.Meta[retry.AttemptsKey])
	})
}

// Over HTTP a server or a gateway answers with a status and nothing else.
func TestClientOverHTTP(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		for status, again := range map[int]bool{
			http.StatusServiceUnavailable: true, http.StatusTooManyRequests: true, http.StatusBadGateway: true,
			http.StatusInternalServerError: true, http.StatusGatewayTimeout: true, http.StatusBadRequest: false,
		} {
			t.Run(fmt.Sprintf("%d/stateless=%t", status, stateless), func(t *testing.T) {
				var runs, refusals atomic.Int32
				server := mcp.NewServer(&mcp.Implementation{Name: "http"}, nil)
				for name, a := range map[string]*mcp.ToolAnnotations{"read": {ReadOnlyHint: true}, "pay": nil} {
					server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: a},
						func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
							runs.Add(1)
							return &mcp.CallToolResult{}, nil
						})
				}
				inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
					&mcp.StreamableHTTPOptions{Stateless: stateless})
				gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err == nil && strings.Contains(string(body), `"method":"tools/call"`) && refusals.Add(1)%2 == 1 {
						http.Error(w, "not now", status)
						return
					}
					r.Body = io.NopCloser(strings.NewReader(string(body)))
					inner.ServeHTTP(w, r)
				}))
				defer gateway.Close()
				caller := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil)
				caller.AddSendingMiddleware(client.New(&client.Options{InitialInterval: time.Millisecond, FailuresAsErrors: true}))
				session, err := caller.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: gateway.URL, DisableStandaloneSSE: true}, nil)
				require.NoError(t, err)
				defer func() { _ = session.Close() }()

				_, err = session.ListTools(t.Context(), nil)
				require.NoError(t, err)
				_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read"})
				if !again {
					require.Error(t, err)
					require.Zero(t, runs.Load())
					return
				}
				require.NoError(t, err)
				require.EqualValues(t, 1, runs.Load())
				require.EqualValues(t, 2, refusals.Load())

				_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay"})
				var f *fault.Error
				require.ErrorAs(t, err, &f)
				require.EqualValues(t, 1, runs.Load())
				require.EqualValues(t, 3, refusals.Load(), "a write is not sent twice")
			})
		}
	}
}

// A client, guidance and a server that tries again, around a tool that writes: whatever
// the order of outcomes, nothing takes effect twice.
func TestNoWriteIsDoneTwice(t *testing.T) {
	// What handlers say on purpose is believed, so here it is true.
	model := []struct {
		happened bool
		outcome  harness.Handler
	}{
		{true, succeed},
		{false, limited(time.Second)},
		{false, down},
		{false, said(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone, RetryAfterSeconds: 0.5})},
		{true, said(fault.Retry{ShouldRetry: true, Effect: fault.EffectUnknown})},
		{true, said(fault.Retry{ShouldRetry: true, Effect: fault.EffectCommitted})},
		{false, harness.Fail(errNobody)},
		{true, harness.Fail(io.ErrUnexpectedEOF)},
		{true, harness.Fail(context.DeadlineExceeded)},
		{true, harness.Fail(fault.Timeout("the payment", time.Second))},
		{true, harness.Fail(errors.New("who knows"))},
		{true, harness.Panic("boom")},
		{false, harness.Fail(fault.Invalid("amount", -1, "a positive number"))},
	}
	random := rand.New(rand.NewPCG(7, 11))
	n, again, fine := 100, 0, 0
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		n = 400
	}
	for range n {
		story := make([]int, 12)
		for i := range story {
			switch random.IntN(5) {
			case 0:
				story[i] = random.IntN(len(model))
			case 1:
				story[i] = 0
			default:
				story[i] = 1 + random.IntN(3) // more often than not one that passes, for stories that go on
			}
		}
		era := []harness.Era{harness.Current, harness.Older}[random.IntN(2)]
		synctest.Test(t, func(t *testing.T) {
			happened, runs := 0, 0
			pay := func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
				step := model[story[min(runs, len(story)-1)]]
				runs++
				if step.happened {
					happened++
				}
				return step.outcome(ctx, req)
			}
			quiet := &mcprecover.Options{Logger: slog.New(slog.DiscardHandler)}
			session := harness.Start(t, harness.Place{Shape: harness.ServerTyped, Era: era}, harness.Setup{
				Handlers: map[string]harness.Handler{"pay": pay},
				Middleware: []mcp.Middleware{
					mcprecover.New(quiet), mask.New(&mask.Options{Logger: quiet.Logger}), retry.New(nil),
					retry.Server(&retry.ServerOptions{Rules: [][]fault.HintRule{nil, {refusals}}[random.IntN(2)]}), mcprecover.New(quiet),
				},
			})
			session.Caller.AddSendingMiddleware(client.New(&client.Options{MaxAttempts: 5}))
			for range 1 + random.IntN(2) { // and a caller that calls again after a failure that it may mend
				got := session.Call(t, "pay")
				require.LessOrEqual(t, happened, 1, "%v, run %d times", story, runs)
				if got.Fault() == nil {
					require.Equal(t, 1, happened)
					fine++
				}
				if happened > 0 {
					break
				}
			}
			if runs > 1 {
				again++
			}
		})
	}
	require.Greater(t, again, n/4, "the stories have repetitions")
	require.Greater(t, fine, n/8, "and good ends")
}

// Data from outside does not lead to a panic or an endless wait.
func FuzzRetryAfter(f *testing.F) {
	for _, data := range []string{`{"retryAfter":1}`, `{"retryAfter":"Sat, 01 Jan 2000 00:00:09 GMT"}`, `{"retry_after_ms":1e308}`, `{"retryAfter":{}}`, `[`, `null`} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		synctest.Test(t, func(t *testing.T) {
			p := &peer{replies: []reply{protocol(-32000, data), fine}}
			began := time.Now()
			_, _ = p.call(t, client.Options{Repeatable: always})
			require.LessOrEqual(t, time.Since(began), 30*time.Second)
		})
	})
}

// Many calls of many sessions at the same time.
func TestClientConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := client.New(nil)(func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "it", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}}, nil
			}
			if req.GetParams().GetMeta()[retry.AttemptKey] == 3 {
				return fine()
			}
			return protocol(429, `{"retryAfter":2}`)()
		})
		sessions := make([]*mcp.ClientSession, 200)
		done := make(chan bool)
		for i := range sessions {
			sessions[i] = &mcp.ClientSession{}
			go func() {
				_, err := handler(t.Context(), "tools/list", &mcp.ClientRequest[mcp.Params]{Session: sessions[i], Params: &mcp.ListToolsParams{}})
				if err != nil {
					done <- false
					return
				}
				_, err = handler(t.Context(), middleware.MethodCallTool,
					&mcp.ClientRequest[mcp.Params]{Session: sessions[i], Params: &mcp.CallToolParams{Name: "it"}})
				done <- err == nil
			}()
		}
		ok := 0
		for range sessions {
			if <-done {
				ok++
			}
		}
		require.Equal(t, len(sessions), ok)
	})
}

func TestClientAllocatesNothing(t *testing.T) {
	var res mcp.Result = &mcp.CallToolResult{}
	handler := client.New(nil)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil })
	req := toolRequest(&mcp.CallToolParams{Name: "it"})
	require.Zero(t, testing.AllocsPerRun(200, func() { _, _ = handler(t.Context(), middleware.MethodCallTool, req) }))
}
