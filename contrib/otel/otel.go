// Package otel traces and measures MCP calls with OpenTelemetry, by its semantic
// conventions for MCP. Import it as mcpotel.
//
//	server.AddReceivingMiddleware(mcpotel.New(nil), mcpchain.Standard(nil))
//	client.AddSendingMiddleware(mcpotel.Client(nil))
//
// Each request and notification becomes a span of kind SERVER, such as "tools/call search",
// and a measurement in the histogram mcp.server.operation.duration; on the sending side, a
// span of kind CLIENT and a measurement in mcp.client.operation.duration. Put New outermost:
// the records of package correlate then belong to the span of their call.
//
// # Failures
//
// A result with isError has the error.type "tool_error", any other failure its JSON-RPC
// code. The status of a server's span is an error only if the server or a service that it
// needs failed. Mistakes of the caller, things that do not exist and missing permissions
// leave the status unset, as does a call that its caller gave up. On the client, the status
// is an error for every failure. Beside the conventions' attributes a failure has
//
//	mcpchain.kind       what sort of failure it is, such as "not_found"
//	mcpchain.party      whose fault it is: caller, server or upstream
//	mcpchain.effect     whether something was changed: none, unknown or committed
//	mcpchain.reference  the ID that the caller has and under which the log has the whole error
//	mcpchain.attempts   how often retry.Server ran the handler
//
// The exemplars of the histogram lead to the span of a slow or failed call; the span has
// the reference, and the log has the rest.
//
// # What is private
//
// Arguments, results, URIs of resources and texts of errors stay out of spans. The ID of an
// HTTP session is a credential: the span has a hash of it. [Options] adds what else a span
// should have. Every value is bounded. The attributes of metrics have closed sets of values:
// a tool or prompt that the server does not list is "_other", and so is a method that the
// protocol does not have, in the names of spans too, until it has been answered once without
// an error: a gateway passes on whatever its callers invent.
//
// # Trace context
//
// New reads the trace context of a request from its _meta (SEP-414) or else from its HTTP
// header. Its sender would decide which trace a call belongs to and whether it is sampled,
// so by default the span only has a link to it. With [Options].Trust it is the parent.
// Client writes the context into the _meta of what it sends.
//
// # Items and attempts
//
// If a call meets a second middleware of New or Client inside of the first, that one adds a
// span of kind INTERNAL below the span of the call: for each item of a batch as an inner
// middleware of mcpchain.Standard, for each attempt of retry.Server around a handler, and for
// each attempt of retry/client inside of that. An attempt has a link to the one before.
//
//	server.AddReceivingMiddleware(tracing, mcpchain.Standard(opts, tracing))
//
// If package task answers a call with a handle, the span of the request ends with the handle. The inner
// one ends with the call.
package otel

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/middleware"
)

// scope is the name of the instrumentation.
const scope = "github.com/mcpchain/mcpchain/contrib/otel"

// Options configure [New] and [Client]. The zero value is the recommended default. The
// functions may be called concurrently; one that panics counts as nil for the call.
type Options struct {
	// TracerProvider makes the spans. Nil means the global one.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the histogram. Nil means the global one.
	MeterProvider metric.MeterProvider

	// Propagator reads and writes trace contexts. Nil means W3C Trace Context and Baggage,
	// which SEP-414 names.
	Propagator propagation.TextMapPropagator

	// Trust reports whether the trace context that came with a request becomes the parent of
	// its span, and its baggage that of the handler. With a sampler that follows the parent,
	// trusted callers decide what is sampled. Nil means that no caller is trusted: the span
	// gets a link. See [TrustAll]. [Client] does not use it.
	Trust func(ctx context.Context, req mcp.Request) bool

	// Attributes returns more attributes for the span of a request: the user, the tenant,
	// the URI of a resource. The first 32 are taken, of a list of strings the first 32, and 1,024
	// bytes of a string. Metrics do not have them. Nil means none.
	Attributes func(ctx context.Context, req mcp.Request) []attribute.KeyValue

	// Messages makes the public text of a failure the description of the span's status: the
	// first 512 bytes of what the caller reads. It may repeat what the caller sent, and
	// without package mask it is the text of the error itself. The default is a sentence
	// for the kind.
	Messages bool
}

// TrustAll is an Options.Trust for servers that only trusted programs can call.
func TrustAll(context.Context, mcp.Request) bool { return true }

// New returns a receiving middleware that traces and measures what a server or a client
// receives. opts may be nil. Not traced are subscriptions/listen, which lasts as long as its
// caller, and lookups that mcpchain itself makes.
//
// Around a single handler New cannot look up which tools are listed, so metrics have each
// tool as "_other".
func New(opts *Options) mcp.Middleware {
	return newTracer(opts, trace.SpanKindServer, metricServerDuration,
		"MCP request or notification duration as observed on the receiver from the time it was received until the result or ack is sent.").wrap
}

// Client returns a sending middleware that traces and measures what a client or a server
// sends, and writes the trace context into its _meta. opts may be nil. Metrics have the name
// of a tool or prompt once a list of the server had it.
func Client(opts *Options) mcp.Middleware {
	return newTracer(opts, trace.SpanKindClient, metricClientDuration,
		"The duration of the MCP request or notification as observed on the sender from the time it was sent until the response or ack is received.").wrap
}

// A tracer is one middleware.
type tracer struct {
	Options

	kind     trace.SpanKind
	spans    trace.Tracer
	duration metric.Float64Histogram
	listed   *listed
	methods  methods
}

func newTracer(opts *Options, kind trace.SpanKind, name, description string) *tracer {
	t := &tracer{kind: kind, listed: newListed()}
	if opts != nil {
		t.Options = *opts
	}
	if t.TracerProvider == nil {
		t.TracerProvider = otelapi.GetTracerProvider()
	}
	if t.MeterProvider == nil {
		t.MeterProvider = otelapi.GetMeterProvider()
	}
	if t.Propagator == nil {
		t.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	t.spans = t.TracerProvider.Tracer(scope)
	var err error
	t.duration, err = t.MeterProvider.Meter(scope).Float64Histogram(name, metric.WithUnit("s"),
		metric.WithDescription(description), metric.WithExplicitBucketBoundaries(durationBounds...))
	if err != nil {
		otelapi.Handle(err) // the instrument that came with it does nothing
	}
	return t
}

func (t *tracer) wrap(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "subscriptions/listen" || middleware.IsLookup(ctx) {
			return next(ctx, method, req)
		}
		if outer := outerOperation(ctx, method, req); outer != nil {
			return t.again(ctx, outer, method, req, next)
		}
		return t.call(ctx, method, req, next)
	}
}

// call traces and measures a call.
func (t *tracer) call(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	op := &operation{method: method, label: t.methods.label(method), session: sessionOf(req), target: targetOf(method, req)}
	op.known = t.knows(ctx, op, req, next)
	options := []trace.SpanStartOption{trace.WithSpanKind(t.kind)}
	if t.kind == trace.SpanKindServer {
		var links []trace.Link
		ctx, links = t.extract(ctx, req)
		options = append(options, trace.WithLinks(links...))
	}
	start := time.Now()
	ctx, span := t.spans.Start(ctx, op.name(), options...)
	ctx = context.WithValue(ctx, operationKey{}, op)
	if span.IsRecording() {
		span.SetAttributes(t.requestAttributes(ctx, op, req)...)
	}
	if t.kind == trace.SpanKindClient {
		req = t.inject(ctx, method, req)
	}
	end := ending{errorType: "panic", failed: true} // unless next returns
	defer func() {
		if t.duration.Enabled(ctx) {
			t.duration.Record(ctx, time.Since(start).Seconds(), metric.WithAttributeSet(t.measured(op, req, end)))
		}
		t.finish(span, end)
	}()
	res, err := next(ctx, method, req)
	end = t.endOf(ctx, res, err)
	t.listed.learn(res)
	if err == nil && !isNil(res) { // notifications have no answer
		t.methods.serves(method)
	}
	return res, err
}

// again traces a call that another middleware of this package traces already: an item or an
// attempt of it.
func (t *tracer) again(ctx context.Context, op *operation, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	ctx, span := t.spans.Start(ctx, op.name())
	reference := correlate.ID(ctx)
	number, before := op.pass(reference, span.SpanContext())
	if before.IsValid() {
		span.AddLink(trace.Link{SpanContext: before})
	}
	if span.IsRecording() {
		span.SetAttributes(attribute.String(attrMethod, clean(method, maxName)), attribute.Int(attrAttempt, number))
		if reference != "" {
			span.SetAttributes(attribute.String(attrReference, clean(reference, maxName)))
		}
	}
	if t.kind == trace.SpanKindClient {
		req = t.inject(ctx, method, req)
	}
	end := ending{errorType: "panic", failed: true}
	defer func() { t.finish(span, end) }()
	res, err := next(ctx, method, req)
	end = t.endOf(ctx, res, err)
	return res, err
}

// finish writes into a span how its call ended, and ends it.
func (t *tracer) finish(span trace.Span, end ending) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(end.attributes()...)
	if end.failed {
		span.SetStatus(codes.Error, end.description(t.Messages))
	}
}

// ID returns the IDs of the trace and the span of ctx, "" outside of a trace. Set as
// correlate.Options.NewID, it makes references by which the trace of a failure can be
// found. The ID of the trace alone would not do: a trace may have many calls.
func ID(ctx context.Context, _ mcp.Request) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ""
	}
	return span.TraceID().String() + "-" + span.SpanID().String()
}
