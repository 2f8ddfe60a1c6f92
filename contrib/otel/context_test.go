package otel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
)

const (
	traceA   = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceB   = "0af7651916cd43dd8448eb211c80319c"
	sampled  = "00-" + traceA + "-00f067aa0ba902b7-01"
	dropped  = "00-" + traceA + "-00f067aa0ba902b7-00"
	inHeader = "00-" + traceB + "-b7ad6b7169203331-01"
)

// called is what a handler found in its context.
type called struct {
	baggage string
	span    trace.SpanContext
}

// traced calls a tool with a _meta and a header.
func traced(t *testing.T, b *bench, era, transport string, meta mcp.Meta, header http.Header) (found called) {
	t.Helper()
	server := newServer()
	addTool(server, "look", func(ctx context.Context) error {
		found = called{baggage.FromContext(ctx).String(), trace.SpanContextFromContext(ctx)}
		return nil
	})
	server.AddReceivingMiddleware(mcpotel.New(b.opts), mcpchain.Standard(quiet()))
	session := serve(t, server, era, transport, nil, header)
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: "look"})
	require.NoError(t, err)
	return found
}

// TestUntrusted holds that a caller decides neither about the trace nor about sampling.
func TestUntrusted(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		for _, parent := range []string{sampled, dropped} {
			b := newBench(t, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
			found := traced(t, b, era, transport, mcp.Meta{"traceparent": parent, "tracestate": "a=b", "baggage": "user=root"}, nil)
			span := b.one(t, "tools/call")
			require.NotEqual(t, traceA, span.SpanContext.TraceID().String())
			require.False(t, span.Parent.IsValid())
			require.Len(t, span.Links, 1)
			require.Equal(t, traceA, span.Links[0].SpanContext.TraceID().String())
			require.Equal(t, "a=b", span.Links[0].SpanContext.TraceState().String())
			require.Empty(t, found.baggage)
			require.Equal(t, span.SpanContext.SpanID(), found.span.SpanID())
		}
		b := newBench(t, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
		traced(t, b, era, transport, mcp.Meta{"traceparent": sampled}, nil)
		require.Empty(t, b.spans.GetSpans())
	})
}

func TestTrusted(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b := newBench(t, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
		b.opts.Trust = mcpotel.TrustAll
		found := traced(t, b, era, transport, mcp.Meta{"traceparent": sampled, "tracestate": "a=b", "baggage": "user=alice"}, nil)
		span := b.one(t, "tools/call")
		require.Equal(t, traceA, span.SpanContext.TraceID().String())
		require.Equal(t, "00f067aa0ba902b7", span.Parent.SpanID().String())
		require.True(t, span.Parent.IsRemote())
		require.Equal(t, "a=b", span.SpanContext.TraceState().String())
		require.Empty(t, span.Links)
		require.Equal(t, "user=alice", found.baggage)
	})
}

// TestHeader holds that the header counts where the _meta has no context.
func TestHeader(t *testing.T) {
	for _, era := range eras {
		for name, c := range map[string]struct {
			meta         mcp.Meta
			trust        bool
			parent, link string
		}{
			"trusted":              {trust: true, parent: traceB},
			"untrusted":            {link: traceB},
			"the _meta goes first": {meta: mcp.Meta{"traceparent": sampled}, trust: true, parent: traceA, link: traceB},
			"a broken _meta":       {meta: mcp.Meta{"traceparent": "00-nonsense"}, trust: true, parent: traceB},
		} {
			t.Run(era+"/"+name, func(t *testing.T) {
				b := newBench(t)
				b.opts.Trust = func(context.Context, mcp.Request) bool { return c.trust }
				traced(t, b, era, "http", c.meta, http.Header{"Traceparent": {inHeader}})
				span := b.one(t, "tools/call")
				if c.parent == "" {
					require.False(t, span.Parent.IsValid())
				} else {
					require.Equal(t, c.parent, span.Parent.TraceID().String())
				}
				if c.link == "" {
					require.Empty(t, span.Links)
				} else {
					require.Len(t, span.Links, 1)
					require.Equal(t, c.link, span.Links[0].SpanContext.TraceID().String())
				}
			})
		}
	}
}

// TestAmbient puts an HTTP server's own spans around the MCP server: a live one is the
// parent, or linked where a trusted _meta has one; one that ended with the request that
// opened the session is neither.
func TestAmbient(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		for _, trust := range []bool{true, false} {
			t.Run(fmt.Sprintf("stateless %v trust %v", stateless, trust), func(t *testing.T) {
				b := newBench(t)
				b.opts.Trust = func(context.Context, mcp.Request) bool { return trust }
				server := newServer()
				server.AddReceivingMiddleware(mcpotel.New(b.opts))
				handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
				var open atomic.Int32
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					open.Add(1)
					defer open.Add(-1)
					ctx, span := b.traces.Tracer("http").Start(r.Context(), "POST")
					defer span.End()
					handler.ServeHTTP(w, r.WithContext(ctx))
				}))
				t.Cleanup(web.Close)
				session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(t.Context(),
					&mcp.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true}, nil)
				require.NoError(t, err)
				t.Cleanup(func() { _ = session.Close() })
				// An answer may arrive before the span of its request has ended.
				require.Eventually(t, func() bool { return open.Load() == 0 }, 30*time.Second, time.Millisecond)
				_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Meta: mcp.Meta{"traceparent": sampled}})
				require.NoError(t, err)
				span := b.one(t, "tools/call")
				switch {
				case trust:
					require.Equal(t, traceA, span.Parent.TraceID().String())
				case stateless:
					require.True(t, span.Parent.IsValid())
					require.False(t, span.Parent.IsRemote())
				default:
					require.False(t, span.Parent.IsValid())
				}
				links := 0
				if stateless || !trust {
					links = 1
				}
				require.Len(t, span.Links, links)
			})
		}
	}
}

// TestHostileContext sends what is no trace context.
func TestHostileContext(t *testing.T) {
	long := strings.Repeat("a", 1<<16)
	for i, value := range []any{
		"", "00", "00-" + traceA, strings.ToUpper(sampled), "ff-" + sampled[3:], sampled + "-extra", " " + sampled,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-" + traceA + "-0000000000000000-01",
		"00-" + traceA + "-00f067aa0ba902b7-ff", strings.Replace(sampled, "4b", "\u202e4b", 1), strings.Replace(sampled, "-", "\n", 1),
		"01-" + sampled[3:] + "-" + long, long, "\x00", 7, 1.5, true, nil, []any{sampled}, map[string]any{"traceparent": sampled},
	} {
		for _, trust := range []bool{true, false} {
			b := newBench(t)
			b.opts.Trust = func(context.Context, mcp.Request) bool { return trust }
			traced(t, b, eras[i%2], "memory", mcp.Meta{"traceparent": value, "tracestate": long, "baggage": long}, nil)
			span := b.one(t, "tools/call")
			require.False(t, span.Parent.IsValid(), "%d", i)
			require.Empty(t, span.Links, "%d", i)
		}
	}
}

// TestHostileState sends a good parent with what is no state and no baggage.
func TestHostileState(t *testing.T) {
	long := strings.Repeat("a", 1<<16)
	for i, value := range []any{long, "k=" + long, strings.Repeat("k=v,", 20_000), "=", "a=b\n=c", 7, []any{"a=b"}, strings.Repeat("a=b,", 40)} {
		b := newBench(t)
		b.opts.Trust = mcpotel.TrustAll
		found := traced(t, b, eras[i%2], "memory", mcp.Meta{"traceparent": sampled, "tracestate": value, "baggage": value}, nil)
		span := b.one(t, "tools/call")
		require.Equal(t, traceA, span.Parent.TraceID().String())
		require.LessOrEqual(t, len(span.SpanContext.TraceState().String()), 512*33)
		require.LessOrEqual(t, len(found.baggage), 8192)
		require.NotContains(t, span.SpanContext.TraceState().String(), "\n")
	}
}

// TestClient follows a call from the client's span to the server's.
func TestClient(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b, served := newBench(t), newBench(t)
		served.opts.Trust = mcpotel.TrustAll
		server := newServer()
		server.AddResource(&mcp.Resource{Name: "file", URI: "file:///a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, mcp.ResourceNotFoundError("file:///a")
		})
		server.AddReceivingMiddleware(mcpotel.New(served.opts), mcpchain.Standard(quiet()))
		client := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil)
		client.AddSendingMiddleware(mcpotel.Client(b.opts))
		session := serve(t, server, era, transport, client, nil)
		_, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		b.one(t, "tools/list")
		require.Equal(t, b.one(t, "tools/list").SpanContext.SpanID(), served.one(t, "tools/list").Parent.SpanID())

		member, err := baggage.NewMember("user", "alice")
		require.NoError(t, err)
		bag, err := baggage.New(member)
		require.NoError(t, err)
		ctx, root := b.traces.Tracer("app").Start(baggage.ContextWithBaggage(t.Context(), bag), "agent")
		params := &mcp.CallToolParams{Name: "search", Meta: mcp.Meta{"traceparent": inHeader, "tracestate": "old=1", "mine": "kept"}}
		_, err = session.CallTool(ctx, params)
		require.NoError(t, err)
		root.End()
		span := b.one(t, "tools/call")
		require.Equal(t, trace.SpanKindClient, span.SpanKind)
		require.Equal(t, "tools/call search", span.Name)
		require.Equal(t, root.SpanContext().SpanID(), span.Parent.SpanID())
		require.Equal(t, era, attr(span.Attributes, "mcp.protocol.version"))
		remote := served.one(t, "tools/call")
		require.Equal(t, root.SpanContext().TraceID(), remote.SpanContext.TraceID())
		require.Equal(t, span.SpanContext.SpanID(), remote.Parent.SpanID())
		require.Empty(t, remote.SpanContext.TraceState().String(), "the state belongs to the context that was replaced")
		require.Equal(t, inHeader, params.Meta["traceparent"], "the parameters are the caller's")
		require.NotContains(t, params.Meta, "baggage")

		_, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"})
		require.Error(t, err)
		span = b.one(t, "resources/read")
		require.Equal(t, "-32602", attr(span.Attributes, "error.type"), "to a client every failure is one")
		require.Equal(t, "not_found", attr(span.Attributes, "mcpchain.kind"))
		require.Equal(t, attr(served.one(t, "resources/read").Attributes, "mcpchain.reference"), attr(span.Attributes, "mcpchain.reference"))
		require.Empty(t, attr(served.one(t, "resources/read").Attributes, "error.type"))
		measured := b.measured(t, "mcp.client.operation.duration", "tools/call")
		require.Equal(t, "search", measured["gen_ai.tool.name"])
	})
}

// TestServerSends follows a request of the server's to its client.
func TestServerSends(t *testing.T) {
	b, received := newBench(t), newBench(t)
	received.opts.Trust = mcpotel.TrustAll
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}})
		return nil, nil, err
	})
	server.AddReceivingMiddleware(mcpotel.New(b.opts))
	server.AddSendingMiddleware(mcpotel.Client(b.opts))
	client := mcp.NewClient(&mcp.Implementation{Name: "client"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	client.AddReceivingMiddleware(mcpotel.New(received.opts))
	session := serve(t, server, eras[0], "memory", client, nil)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
	require.NoError(t, err)
	require.False(t, res.IsError)
	call, asked, answered := b.one(t, "tools/call"), b.one(t, "elicitation/create"), received.one(t, "elicitation/create")
	require.Equal(t, call.SpanContext.SpanID(), asked.Parent.SpanID())
	require.Equal(t, asked.SpanContext.SpanID(), answered.Parent.SpanID())
	require.Equal(t, trace.SpanKindServer, answered.SpanKind)
}
