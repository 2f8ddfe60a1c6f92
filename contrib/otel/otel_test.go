package otel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/speak"
	"github.com/mcpchain/mcpchain/middleware"
)

// canary is in everything that is private.
const canary = "hunter2-canary"

// The eras of the protocol, and how clients reach servers.
var (
	eras       = []string{"2025-11-25", "2026-07-28"}
	transports = []string{"memory", "http"}
)

// A bench keeps what a server or a client under test traced and measured.
type bench struct {
	spans  *tracetest.InMemoryExporter
	reader *metric.ManualReader
	traces *sdktrace.TracerProvider
	opts   *mcpotel.Options
}

func newBench(t *testing.T, more ...sdktrace.TracerProviderOption) *bench {
	t.Helper()
	b := &bench{spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	b.traces = sdktrace.NewTracerProvider(append(more, sdktrace.WithSyncer(b.spans))...)
	meters := metric.NewMeterProvider(metric.WithReader(b.reader))
	t.Cleanup(func() { _ = b.traces.Shutdown(context.Background()); _ = meters.Shutdown(context.Background()) })
	b.opts = &mcpotel.Options{TracerProvider: b.traces, MeterProvider: meters}
	return b
}

// of returns the spans of a method that ended, the first one that ended first.
func (b *bench) of(method string) (spans []tracetest.SpanStub) {
	for _, s := range b.spans.GetSpans() {
		if attr(s.Attributes, "mcp.method.name") == method {
			spans = append(spans, s)
		}
	}
	return spans
}

// one returns the only span of a method, for which it waits: an answer may arrive before the
// span that it belongs to has ended.
func (b *bench) one(t *testing.T, method string) tracetest.SpanStub {
	t.Helper()
	require.Eventually(t, func() bool { return len(b.of(method)) > 0 }, 30*time.Second, time.Millisecond)
	spans := b.of(method)
	require.Len(t, spans, 1)
	return spans[0]
}

// points returns the measurements of a histogram.
func (b *bench) points(t *testing.T, name string) []metricdata.HistogramDataPoint[float64] {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				require.Equal(t, "s", m.Unit)
				histogram, ok := m.Data.(metricdata.Histogram[float64])
				require.True(t, ok)
				return histogram.DataPoints
			}
		}
	}
	return nil
}

// everything is all that was exported, as one text.
func (b *bench) everything(t *testing.T) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(context.Background(), &all))
	return fmt.Sprintf("%+v %+v", b.spans.GetSpans(), all)
}

func attr(attrs []attribute.KeyValue, key string) string {
	for _, a := range attrs {
		if string(a.Key) == key {
			return a.Value.Emit()
		}
	}
	return ""
}

// serve connects a client to a server, in memory or over HTTP, and gives the session both to
// the client's options.
func serve(t *testing.T, server *mcp.Server, era, transport string, client *mcp.Client, header http.Header) *mcp.ClientSession {
	t.Helper()
	if client == nil {
		client = mcp.NewClient(&mcp.Implementation{Name: "client"}, nil)
	}
	var ours mcp.Transport
	if transport == "http" {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: era == eras[1]})
		web := httptest.NewServer(handler)
		t.Cleanup(web.Close)
		ours = &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: headers(header)}}
	} else {
		var theirs mcp.Transport
		ours, theirs = mcp.NewInMemoryTransports()
		ss, err := server.Connect(context.Background(), theirs, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = ss.Wait() })
	}
	session, err := client.Connect(context.Background(), ours, speak.Version(era))
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// standard connects a client to a server that is traced, with the standard chain inside.
func standard(t *testing.T, b *bench, server *mcp.Server, era, transport string) *mcp.ClientSession {
	t.Helper()
	server.AddReceivingMiddleware(mcpotel.New(b.opts), mcpchain.Standard(quiet()))
	return serve(t, server, era, transport, nil, nil)
}

// headers adds a header to every request.
type headers http.Header

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for key, values := range h {
		r.Header[key] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

func each(t *testing.T, run func(t *testing.T, era, transport string)) {
	t.Helper()
	for _, era := range eras {
		for _, transport := range transports {
			t.Run(era+"/"+transport, func(t *testing.T) { run(t, era, transport) })
		}
	}
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "server"}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	addTool(server, "search", func(context.Context) error { return nil })
	return server
}

// addTool adds a tool that does what run does.
func addTool(server *mcp.Server, name string, run func(context.Context) error) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct {
		Q string `json:"q,omitempty"`
	}) (*mcp.CallToolResult, any, error) {
		return nil, map[string]any{"said": canary}, run(ctx)
	})
}

func quiet() *mcpchain.Options {
	return &mcpchain.Options{Logger: slog.New(slog.DiscardHandler)}
}

func TestSuccess(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b := newBench(t)
		server := newServer()
		session := standard(t, b, server, era, transport)
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"q": canary}})
		require.NoError(t, err)

		span := b.one(t, "tools/call")
		require.Equal(t, "tools/call search", span.Name)
		require.Equal(t, trace.SpanKindServer, span.SpanKind)
		require.Equal(t, codes.Unset, span.Status.Code)
		require.Empty(t, span.Links)
		require.False(t, span.Parent.IsValid())
		want := map[string]string{
			"mcp.method.name": "tools/call", "gen_ai.tool.name": "search", "gen_ai.operation.name": "execute_tool",
			"mcp.protocol.version": era,
		}
		if transport == "http" {
			want["network.transport"], want["network.protocol.name"] = "tcp", "http"
		}
		require.Equal(t, want, b.measured(t, "mcp.server.operation.duration", "tools/call"))
		if transport == "http" && era == eras[0] {
			require.NotEmpty(t, session.ID())
			require.Regexp(t, "^sha256:[0-9a-f]{16}$", attr(span.Attributes, "mcp.session.id"))
			want["mcp.session.id"] = attr(span.Attributes, "mcp.session.id")
		}
		require.Equal(t, want, attributes(span.Attributes))
		all := b.everything(t)
		require.NotContains(t, all, canary)
		if session.ID() != "" {
			require.NotContains(t, all, session.ID())
		}
	})
}

func attributes(attrs []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range attrs {
		m[string(a.Key)] = a.Value.Emit()
	}
	return m
}

// measured returns the attributes of the only measurement of a method.
func (b *bench) measured(t *testing.T, name, method string) map[string]string {
	t.Helper()
	var found []map[string]string
	for _, p := range b.points(t, name) {
		if attrs := attributes(p.Attributes.ToSlice()); attrs["mcp.method.name"] == method {
			found = append(found, attrs)
		}
	}
	require.Len(t, found, 1)
	return found[0]
}

// TestFailures compares what a span and a measurement say of each sort of failure.
func TestFailures(t *testing.T) {
	failing := func(err error) func(context.Context) error {
		return func(context.Context) error { return err }
	}
	for name, c := range map[string]struct {
		run                          func(context.Context) error
		resource                     bool
		errorType, code, kind, party string
		status                       codes.Code
		description                  string
	}{
		"a tool's bug": {
			run: failing(errors.New("pq: " + canary)), errorType: "tool_error", kind: "internal_error", party: "server",
			status: codes.Error, description: "the server failed unexpectedly",
		},
		"a tool's panic": {
			run: func(context.Context) error { panic(canary) }, errorType: "tool_error", kind: "internal_error", party: "server",
			status: codes.Error, description: "the server failed unexpectedly",
		},
		"a service is down": {
			run: failing(fault.Unavailable("the index")), errorType: "tool_error", kind: "service_unavailable", party: "upstream",
			status: codes.Error, description: "a service that is needed is not available now",
		},
		"what the caller got wrong": {
			run: failing(fault.Invalid("q", canary, "a word")), errorType: "tool_error", kind: "validation_error", party: "caller",
		},
		"what the caller may not do": {
			run: failing(fault.Denied("search", "the index")), errorType: "tool_error", kind: "permission_denied", party: "caller",
		},
		"a kind of its own": {
			run: failing(fault.New("deployment_in_progress", "wait")), errorType: "tool_error", kind: "deployment_in_progress",
		},
		"a resource's bug": {
			resource: true, run: failing(errors.New("pq: " + canary)), errorType: "-32603", code: "-32603", kind: "internal_error",
			party: "server", status: codes.Error, description: "the server failed unexpectedly",
		},
		"a resource's panic": {
			resource: true, run: func(context.Context) error { panic(canary) }, errorType: "-32603", code: "-32603",
			kind: "internal_error", party: "server", status: codes.Error, description: "the server failed unexpectedly",
		},
		"a denied read": {
			resource: true, run: failing(fault.Denied("read", "the file")), code: "403", kind: "permission_denied", party: "caller",
		},
		"a resource that does not exist": {
			resource: true, run: failing(fault.NotFound("file", canary)), code: "-32602", kind: "not_found", party: "caller",
		},
		"a deliberate error": {
			resource: true, run: failing(&jsonrpc.Error{Code: -32050, Message: canary}), errorType: "-32050", code: "-32050",
			status: codes.Error,
		},
		"a slow service": {
			resource: true, run: failing(context.DeadlineExceeded), errorType: "504", code: "504", kind: "timeout",
			status: codes.Error, description: "the operation did not finish in time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, era, transport string) {
				b := newBench(t)
				server := newServer()
				addTool(server, "fail", c.run)
				server.AddResource(&mcp.Resource{Name: "file", URI: "file:///" + canary},
					func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
						return nil, c.run(ctx)
					})
				session := standard(t, b, server, era, transport)
				method := "tools/call"
				var told *fault.Error
				if c.resource {
					method = "resources/read"
					told, _ = middleware.FaultOf(session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///" + canary}))
				} else {
					told, _ = middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"}))
				}
				require.NotNil(t, told)

				span := b.one(t, method)
				require.Equal(t, c.status, span.Status.Code)
				require.Equal(t, c.description, span.Status.Description)
				got := attributes(span.Attributes)
				require.Equal(t, c.errorType, got["error.type"])
				require.Equal(t, c.code, got["rpc.response.status_code"])
				require.Equal(t, c.kind, got["mcpchain.kind"])
				require.Equal(t, c.party, got["mcpchain.party"])
				require.Equal(t, told.Reference(), got["mcpchain.reference"])
				require.Equal(t, name == "a deliberate error", told.Reference() == "")
				advice, _ := told.Retry()
				require.Equal(t, string(advice.Effect), got["mcpchain.effect"])

				measured := b.measured(t, "mcp.server.operation.duration", method)
				for _, key := range []string{"error.type", "rpc.response.status_code", "mcpchain.party", "gen_ai.tool.name"} {
					require.Equal(t, got[key], measured[key], key)
				}
				for _, key := range []string{"mcpchain.reference", "mcpchain.effect", "mcp.session.id"} {
					require.NotContains(t, measured, key)
				}
				switch c.kind {
				case "":
					require.NotContains(t, measured, "mcpchain.kind")
				case "deployment_in_progress":
					require.Equal(t, "_other", measured["mcpchain.kind"])
				default:
					require.Equal(t, c.kind, measured["mcpchain.kind"])
				}
				require.NotContains(t, b.everything(t), canary)
			})
		})
	}
}

// TestAnswers holds that answers are what they are without this middleware outside of
// mcpchain's, names that are suggested included.
func TestAnswers(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		var texts []string
		for _, outside := range []mcp.Middleware{nil, mcpotel.New(newBench(t).opts)} {
			server := newServer()
			server.AddReceivingMiddleware(middleware.Chain(outside, mcpchain.Standard(quiet())))
			session := serve(t, server, era, transport, nil, nil)
			told, _ := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "serch"}))
			texts = append(texts, told.Text())
		}
		require.Contains(t, texts[0], "search")
		require.Equal(t, texts[0], texts[1])
	})
}

// What the server's own SDK answers, with nothing of mcpchain's but this middleware.
func TestAlone(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b := newBench(t)
		server := newServer()
		addTool(server, "fail", func(context.Context) error { return fmt.Errorf("open %s: %w", canary, fs.ErrPermission) })
		server.AddReceivingMiddleware(mcpotel.New(b.opts))
		session := serve(t, server, era, transport, nil, nil)

		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
		require.NoError(t, err)
		require.NotContains(t, res.Meta, middleware.MetaKey, "the answer is the server's own")
		span := b.one(t, "tools/call")
		require.Equal(t, "tools/call fail", span.Name)
		require.Equal(t, "tool_error", attr(span.Attributes, "error.type"))
		require.NotContains(t, b.everything(t), canary)
		b.spans.Reset()

		_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "missing"})
		require.Error(t, err)
		span = b.one(t, "tools/call")
		require.Equal(t, "tools/call", span.Name)
		require.Equal(t, "missing", attr(span.Attributes, "gen_ai.tool.name"))
		require.Equal(t, "-32602", attr(span.Attributes, "rpc.response.status_code"))
		require.Empty(t, attr(span.Attributes, "error.type"))
		require.Equal(t, codes.Unset, span.Status.Code)
	})
}
