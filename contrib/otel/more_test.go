package otel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/batch"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/retry"
	retryclient "github.com/mcpchain/mcpchain/retry/client"
)

// records keeps what is logged.
type records struct {
	mu  sync.Mutex
	all []sdklog.Record
}

func (r *records) Export(_ context.Context, all []sdklog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range all {
		r.all = append(r.all, one.Clone())
	}
	return nil
}
func (r *records) Shutdown(context.Context) error   { return nil }
func (r *records) ForceFlush(context.Context) error { return nil }

// TestReference follows a masked failure from the histogram to the log: the exemplar names
// the span, the span has the reference that the caller has, and the record of the log has
// both.
func TestReference(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b, log := newBench(t), &records{}
		logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(log)))
		server := newServer()
		addTool(server, "fail", func(context.Context) error { return errors.New("pq: " + canary) })
		logger := otelslog.NewLogger("server", otelslog.WithLoggerProvider(logs))
		server.AddReceivingMiddleware(mcpotel.New(b.opts), mcpchain.Standard(&mcpchain.Options{Logger: logger}))
		session := serve(t, server, era, transport, nil, nil)
		told, failed := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"}))
		require.True(t, failed)
		require.NotContains(t, told.Error(), canary)

		span := b.one(t, "tools/call")
		require.NotEmpty(t, told.Reference())
		require.Equal(t, told.Reference(), attr(span.Attributes, "mcpchain.reference"))
		found := false
		for _, p := range b.points(t, "mcp.server.operation.duration") {
			for _, e := range p.Exemplars {
				id := span.SpanContext.SpanID()
				found = found || string(e.SpanID) == string(id[:])
			}
		}
		require.True(t, found, "an exemplar names the span")
		log.mu.Lock()
		defer log.mu.Unlock()
		require.Len(t, log.all, 2, "the session's start and the call, not that the tools were looked up")
		require.Equal(t, span.SpanContext.TraceID(), log.all[1].TraceID())
		require.Equal(t, span.SpanContext.SpanID(), log.all[1].SpanID())
		require.Equal(t, told.Reference(), log.attributes(1)["reference"])
		require.Contains(t, log.attributes(1)["error"], canary, "the log has the whole error")
	})
}

func (r *records) attributes(i int) map[string]string {
	m := map[string]string{}
	for a := range r.all[i].WalkAttributes {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

// TestCardinality calls tools and prompts that do not exist.
func TestCardinality(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		if speak.Oldest && era == "2026-07-28" && transport == "http" {
			t.Skip("go-sdk v1.7 ends the session at an unknown name")
		}
		b := newBench(t)
		server := newServer()
		server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
		session := standard(t, b, server, era, transport)
		const calls = 100
		for i := range calls {
			name := fmt.Sprintf("%d-%s", i, strings.Repeat("x", i*30))
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.Error(t, err)
			_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
			require.Error(t, err)
		}
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search"})
		require.NoError(t, err)
		_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		require.NoError(t, err)
		seen := map[string]uint64{}
		for _, p := range b.points(t, "mcp.server.operation.duration") {
			attrs := attributes(p.Attributes.ToSlice())
			seen[attrs["mcp.method.name"]+" "+attrs["gen_ai.tool.name"]+attrs["gen_ai.prompt.name"]] += p.Count
		}
		delete(seen, "initialize ")
		delete(seen, "server/discover ")
		delete(seen, "notifications/initialized ")
		require.Equal(t, map[string]uint64{"tools/call _other": calls, "prompts/get _other": calls, "tools/call search": 1, "prompts/get greet": 1}, seen)
		names := map[string]bool{}
		for _, s := range b.spans.GetSpans() {
			names[s.Name] = true
			for _, a := range s.Attributes {
				require.LessOrEqual(t, len(a.Value.Emit()), 256, a.Key)
			}
		}
		require.Subset(t, names, map[string]bool{"tools/call": true, "tools/call search": true, "prompts/get": true, "prompts/get greet": true})
		require.LessOrEqual(t, len(names), 7)
	})
}

// TestInventedMethods: a gateway passes on what its callers invent, and none of that becomes a series or the name of a
// span. A method that the server has becomes one, and those that are not of the protocol have a bound.
func TestInventedMethods(t *testing.T) {
	b := newBench(t)
	handler := mcpotel.New(b.opts)(func(_ context.Context, method string, _ mcp.Request) (mcp.Result, error) {
		switch {
		case strings.HasPrefix(method, "acme/"):
			return &mcp.ListToolsResult{}, nil
		case strings.HasPrefix(method, "notifications/"):
			return nil, nil
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such method"}
	})
	ask := func(method string) {
		_, _ = handler(t.Context(), method, &mcp.ListToolsRequest{Session: &mcp.ServerSession{}, Params: &mcp.ListToolsParams{}})
	}
	for i := range 200 {
		ask(fmt.Sprintf("invented/%d", i))
		ask(fmt.Sprintf("notifications/%d", i))
		ask("tools/list")
	}
	ask("acme/search")
	ask("acme/search")
	seen := map[string]uint64{}
	for _, p := range b.points(t, "mcp.server.operation.duration") {
		seen[attributes(p.Attributes.ToSlice())["mcp.method.name"]] += p.Count
	}
	require.Equal(t, map[string]uint64{"_other": 401, "tools/list": 200, "acme/search": 1}, seen)
	names := map[string]int{}
	for _, s := range b.spans.GetSpans() {
		names[s.Name]++
	}
	require.Equal(t, map[string]int{"_other": 401, "tools/list": 200, "acme/search": 1}, names)
	require.Equal(t, "invented/0", attributes(b.spans.GetSpans()[0].Attributes)["mcp.method.name"], "the span itself has what was asked")

	for i := range 200 {
		ask(fmt.Sprintf("acme/%d", i))
		ask(fmt.Sprintf("acme/%d", i))
	}
	seen = map[string]uint64{}
	for _, p := range b.points(t, "mcp.server.operation.duration") {
		seen[attributes(p.Attributes.ToSlice())["mcp.method.name"]] += p.Count
	}
	require.Len(t, seen, 1+1+64)
}

// TestVersions holds that metrics do not repeat what a client of an older version sends as
// its version.
func TestVersions(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		handler := mcpotel.New(b.opts)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.ListToolsResult{}, nil })
		req := &mcp.ListToolsRequest{Session: &mcp.ServerSession{}, Params: &mcp.ListToolsParams{
			Meta: mcp.Meta{"io.modelcontextprotocol/protocolVersion": fmt.Sprintf("20%02d-01-01", i)},
		}}
		_, err := handler(t.Context(), "tools/list", req)
		require.NoError(t, err)
	}
	require.Equal(t, "_other", b.measured(t, "mcp.server.operation.duration", "tools/list")["mcp.protocol.version"])
}

// TestListed holds that a list that does not come holds no call up for long, is asked for
// once a minute, and that a list that passes is remembered.
func TestListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var mu sync.Mutex
		asked, stuck := 0, true
		handler := mcpotel.New(b.opts)(func(ctx context.Context, method string, _ mcp.Request) (mcp.Result, error) {
			if method != "tools/list" {
				return &mcp.CallToolResult{}, nil
			}
			mu.Lock()
			asked++
			wait := stuck
			mu.Unlock()
			if wait {
				<-ctx.Done()
				panic("the list ended")
			}
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{nil, {Name: "search"}}, NextCursor: "again"}, nil
		})
		req := &mcp.CallToolRequest{Session: &mcp.ServerSession{}, Params: &mcp.CallToolParamsRaw{Name: "search"}}
		call := func() string {
			b.spans.Reset()
			_, err := handler(t.Context(), "tools/call", req)
			require.NoError(t, err)
			return b.of("tools/call")[0].Name
		}
		start := time.Now()
		require.Equal(t, "tools/call", call())
		require.Equal(t, 100*time.Millisecond, time.Since(start))
		require.Equal(t, "tools/call", call())
		require.Equal(t, 100*time.Millisecond, time.Since(start))
		mu.Lock()
		stuck = false
		mu.Unlock()
		time.Sleep(time.Minute)
		require.Equal(t, "tools/call search", call())
		require.Equal(t, 3, asked, "once in vain, then two pages, of which the second had the cursor of the first")
		require.Equal(t, "tools/call search", call())
		require.Equal(t, 3, asked)
	})
}

// TestItems traces the items of a list form, and TestAttempts the attempts at one call.
func TestItems(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b := newBench(t)
		server := newServer()
		mcp.AddTool(server, &mcp.Tool{Name: "get_user"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			ID string `json:"user_id"`
		}) (*mcp.CallToolResult, any, error) {
			if in.ID == "u1" {
				return nil, nil, fault.NotFound("user", in.ID)
			}
			return nil, in, nil
		})
		opts := quiet()
		opts.Batch = batch.New(&batch.Options{Lists: []batch.List{{Tool: "get_user", Item: "user_id", As: "get_users", Items: "user_ids"}}})
		tracing := mcpotel.New(b.opts)
		server.AddReceivingMiddleware(tracing, mcpchain.Standard(opts, tracing))
		session := serve(t, server, era, transport, nil, nil)
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_users", Arguments: map[string]any{"user_ids": []string{"u0", "u1", "u2"}}})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(b.of("tools/call")) == 4 }, 30*time.Second, time.Millisecond)
		spans := b.of("tools/call")
		call := spans[3]
		require.Equal(t, "tools/call get_users", call.Name)
		require.Equal(t, trace.SpanKindServer, call.SpanKind)
		references := map[string]string{}
		for _, item := range spans[:3] {
			require.Equal(t, trace.SpanKindInternal, item.SpanKind)
			require.Equal(t, call.SpanContext.SpanID(), item.Parent.SpanID())
			require.Empty(t, item.Links)
			reference := attr(item.Attributes, "mcpchain.reference")
			references[reference[strings.LastIndex(reference, "."):]] = attr(item.Attributes, "mcpchain.kind")
		}
		require.Len(t, references, 3)
		require.Contains(t, references, ".1")
		var points uint64
		for _, p := range b.points(t, "mcp.server.operation.duration") {
			if attributes(p.Attributes.ToSlice())["mcp.method.name"] == "tools/call" {
				points += p.Count
			}
		}
		require.EqualValues(t, 1, points, "items are not measured as calls")
	})
}

func TestAttempts(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b := newBench(t)
		tracing := mcpotel.New(b.opts)
		server := newServer()
		runs := 0
		handler := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if runs++; runs < 3 {
				return nil, fault.Unavailable("the index").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
			}
			return &mcp.CallToolResult{}, nil
		}
		server.AddTool(&mcp.Tool{Name: "flaky", InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			middleware.Tool(handler, tracing))
		opts := quiet()
		opts.RetryServer = retry.Server(&retry.ServerOptions{InitialInterval: time.Millisecond})
		server.AddReceivingMiddleware(tracing, mcpchain.Standard(opts))
		session := serve(t, server, era, transport, nil, nil)
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "flaky"})
		require.NoError(t, err)
		require.False(t, res.IsError)
		require.Eventually(t, func() bool { return len(b.of("tools/call")) == 4 }, 30*time.Second, time.Millisecond)
		spans := b.of("tools/call")
		require.Equal(t, "3", attr(spans[3].Attributes, "mcpchain.attempts"))
		require.Equal(t, codes.Unset, spans[3].Status.Code)
		for i, attempt := range spans[:3] {
			require.Equal(t, spans[3].SpanContext.SpanID(), attempt.Parent.SpanID())
			require.Equal(t, fmt.Sprint(i+1), attr(attempt.Attributes, "mcpchain.attempt"))
			if i == 0 {
				require.Empty(t, attempt.Links)
			} else {
				require.Equal(t, spans[i-1].SpanContext.SpanID(), attempt.Links[0].SpanContext.SpanID())
			}
			require.Equal(t, i < 2, attempt.Status.Code == codes.Error)
		}
	})
}

// TestClientAttempts traces what retry/client repeats.
func TestClientAttempts(t *testing.T) {
	b, served := newBench(t), newBench(t)
	served.opts.Trust = mcpotel.TrustAll
	server := newServer()
	runs := 0
	mcp.AddTool(server, &mcp.Tool{Name: "flaky", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			if runs++; runs < 2 {
				return nil, nil, fault.Unavailable("the index").WithRetry(fault.Retry{ShouldRetry: true, Effect: fault.EffectNone})
			}
			return nil, nil, nil
		})
	server.AddReceivingMiddleware(mcpotel.New(served.opts), middleware.Render(nil))
	client := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil)
	tracing := mcpotel.Client(b.opts)
	client.AddSendingMiddleware(tracing, retryclient.New(&retryclient.Options{InitialInterval: time.Millisecond}), tracing)
	session := serve(t, server, eras[1], "memory", client, nil)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "flaky"})
	require.NoError(t, err)
	require.False(t, res.IsError)
	spans := b.of("tools/call")
	require.Len(t, spans, 3)
	require.Equal(t, spans[0].SpanContext.SpanID(), spans[1].Links[0].SpanContext.SpanID())
	require.Eventually(t, func() bool { return len(served.of("tools/call")) == 2 }, 30*time.Second, time.Millisecond)
	for i, s := range served.of("tools/call") {
		require.Equal(t, spans[i].SpanContext.SpanID(), s.Parent.SpanID())
	}
}

// TestPrivateWhenAsked adds what a user asks for, within bounds.
func TestPrivateWhenAsked(t *testing.T) {
	b := newBench(t)
	b.opts.Messages = true
	b.opts.Attributes = func(_ context.Context, req mcp.Request) []attribute.KeyValue {
		attrs := []attribute.KeyValue{attribute.String("mcp.resource.uri", middleware.Target(req)), attribute.String("long", strings.Repeat("é", 5000)), attribute.String("broken", "\xff\u202e"), attribute.StringSlice("list", slices.Repeat([]string{strings.Repeat("x", 5000)}, 100))}
		for i := range 100 {
			attrs = append(attrs, attribute.Int(fmt.Sprint("n", i), i))
		}
		return attrs
	}
	server := newServer()
	server.AddResource(&mcp.Resource{Name: "file", URI: "file:///a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, fault.Unavailable("the disk")
	})
	session := standard(t, b, server, eras[1], "memory")
	_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"})
	require.Error(t, err)
	span := b.one(t, "resources/read")
	require.Equal(t, "file:///a", attr(span.Attributes, "mcp.resource.uri"))
	require.LessOrEqual(t, len(attr(span.Attributes, "long")), 1024)
	require.Equal(t, "\ufffd", attr(span.Attributes, "broken"))
	require.Less(t, len(attr(span.Attributes, "list")), 40_000)
	require.Equal(t, "27", attr(span.Attributes, "n27"))
	require.Empty(t, attr(span.Attributes, "n28"))
	require.Contains(t, span.Status.Description, "the disk")
	require.NotContains(t, b.measured(t, "mcp.server.operation.duration", "resources/read"), "mcp.resource.uri")
}

// TestOptionsPanic holds that functions of the program's do no harm to calls.
func TestOptionsPanic(t *testing.T) {
	b := newBench(t)
	b.opts.Attributes = func(context.Context, mcp.Request) []attribute.KeyValue { panic("attributes") }
	b.opts.Trust = func(context.Context, mcp.Request) bool { panic("trust") }
	traced(t, b, eras[1], "memory", mcp.Meta{"traceparent": sampled}, nil)
	span := b.one(t, "tools/call")
	require.False(t, span.Parent.IsValid())
	require.Len(t, span.Links, 1)
}

// TestHandMade passes requests that lack their parts, on either side.
func TestHandMade(t *testing.T) {
	b := newBench(t)
	next := func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil }
	for _, handler := range []mcp.MethodHandler{mcpotel.New(b.opts)(next), mcpotel.Client(b.opts)(next)} {
		for _, req := range []mcp.Request{
			nil, (*mcp.CallToolRequest)(nil), &mcp.CallToolRequest{}, &mcp.CallToolRequest{Session: &mcp.ServerSession{}},
			&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "\xff\n\u202e"}}, &mcp.ClientRequest[mcp.Params]{},
			&mcp.ClientRequest[mcp.Params]{Session: &mcp.ClientSession{}, Params: (*mcp.CallToolParams)(nil)},
			&mcp.ClientRequest[mcp.Params]{Session: &mcp.ClientSession{}, Params: &mcp.CallToolParams{Name: "a"}},
			&mcp.CallToolRequest{Extra: &mcp.RequestExtra{}, Params: &mcp.CallToolParamsRaw{}},
		} {
			for _, method := range []string{"tools/call", "prompts/get", "tools/list", "", "\xff"} {
				_, err := handler(t.Context(), method, req)
				require.NoError(t, err)
			}
		}
	}
	for _, s := range b.spans.GetSpans() {
		require.NotContains(t, fmt.Sprint(s.Attributes), "\u202e")
		require.NotContains(t, fmt.Sprint(s.Attributes), "\xff")
	}
}

// TestNotReturned ends spans of handlers that panic or exit, and lets both go on.
func TestNotReturned(t *testing.T) {
	for name, leave := range map[string]func(){"panic": func() { panic(canary) }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			handler := mcpotel.New(b.opts)(func(context.Context, string, mcp.Request) (mcp.Result, error) {
				leave()
				return &mcp.CallToolResult{}, nil
			})
			var recovered any
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recovered = recover() }()
				_, _ = handler(t.Context(), "tools/call", &mcp.CallToolRequest{})
			}()
			<-done
			require.Equal(t, name == "panic", recovered == canary)
			span := b.one(t, "tools/call")
			require.Equal(t, codes.Error, span.Status.Code)
			require.Equal(t, "panic", attr(span.Attributes, "error.type"))
			require.Equal(t, "panic", b.measured(t, "mcp.server.operation.duration", "tools/call")["error.type"])
			require.NotContains(t, b.everything(t), canary)
		})
	}
}

// TestCancelled holds that a call that its caller gave up is no error of the server's.
func TestCancelled(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	handler := mcpotel.New(b.opts)(mcpchain.Standard(quiet())(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		cancel()
		return nil, ctx.Err()
	}))
	_, _ = handler(ctx, "resources/read", &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "file:///a"}})
	span := b.one(t, "resources/read")
	require.Equal(t, codes.Unset, span.Status.Code)
	require.Empty(t, attr(span.Attributes, "error.type"))
	require.Equal(t, "cancelled", attr(span.Attributes, "mcpchain.kind"))
}

// TestMany makes calls at once.
func TestMany(t *testing.T) {
	b := newBench(t)
	server := newServer()
	server.AddReceivingMiddleware(mcpotel.New(b.opts), mcpchain.Standard(quiet(), mcpotel.New(b.opts)))
	session := serve(t, server, eras[1], "memory", nil, nil)
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			name := "search"
			if i%2 == 0 {
				name = fmt.Sprint(i)
			}
			_, _ = session.CallTool(context.Background(), &mcp.CallToolParams{Name: name})
		})
	}
	group.Wait()
	require.Eventually(t, func() bool { return len(b.of("tools/call")) == 400 }, 30*time.Second, time.Millisecond)
}
