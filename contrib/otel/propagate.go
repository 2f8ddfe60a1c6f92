package otel

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// A carrier reads and writes a trace context in a _meta or in an HTTP header.
type carrier struct {
	meta   map[string]any
	header http.Header
	peek   bool // leaves out the baggage, which is read only from trusted callers
}

var _ propagation.TextMapCarrier = carrier{}

// maxCarried bounds a value that is read, in bytes: the limit of the specification of
// baggage.
const maxCarried = 8192

// Get returns a value, "" for one that is no text or longer than any context is.
func (c carrier) Get(key string) string {
	if c.peek && strings.EqualFold(key, "baggage") {
		return ""
	}
	value, _ := c.meta[key].(string)
	if c.header != nil {
		value = c.header.Get(key)
	}
	if len(value) > maxCarried {
		return ""
	}
	return value
}

// Set writes a value into the _meta.
func (c carrier) Set(key, value string) { c.meta[key] = value }

// Keys returns the keys that there are.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c.meta)+len(c.header))
	for key := range c.meta {
		keys = append(keys, key)
	}
	for key := range c.header {
		keys = append(keys, key)
	}
	return keys
}

// extract returns the context that the span of a received request starts in, and its links.
func (t *tracer) extract(ctx context.Context, req mcp.Request) (context.Context, []trace.Link) {
	ambient := trace.SpanFromContext(ctx)
	local := ambient.SpanContext()
	if local.IsSampled() && !local.IsRemote() && !ambient.IsRecording() {
		// The span has ended: it is that of the HTTP request that opened the session, whose
		// context all later requests have.
		ctx = trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	}
	var links []trace.Link
	link := func(to trace.SpanContext) {
		if to.IsValid() {
			links = append(links, trace.Link{SpanContext: to})
		}
	}
	var from *carrier
	var remote trace.SpanContext
	for _, c := range []*carrier{{meta: metaOf(req), peek: true}, {header: headerOf(req), peek: true}} {
		sent := trace.SpanContextFromContext(t.Propagator.Extract(context.Background(), c))
		switch {
		case !sent.IsValid():
		case from == nil:
			from, remote = c, sent
		case !sent.Equal(remote):
			link(sent)
		}
	}
	switch {
	case from == nil:
	case t.trusts(ctx, req):
		link(trace.SpanContextFromContext(ctx))
		from.peek = false
		ctx = t.Propagator.Extract(ctx, from)
	default:
		link(remote)
	}
	return ctx, links
}

// trusts returns what the user's Trust says about the caller, false if it panics.
func (t *tracer) trusts(ctx context.Context, req mcp.Request) (trusted bool) {
	if t.Trust == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			trusted = false
		}
	}()
	return t.Trust(ctx, req)
}

// inject returns a request with the trace context of ctx in the _meta of a copy of its
// parameters, because the caller may still use them. A request that cannot have a _meta is
// returned as it is.
func (t *tracer) inject(ctx context.Context, method string, req mcp.Request) (out mcp.Request) {
	own := carrier{meta: map[string]any{}}
	t.Propagator.Inject(ctx, own)
	if len(own.meta) == 0 || isNil(req) {
		return req
	}
	defer func() {
		if recover() != nil { // parameters of a custom method without a _meta
			out = req
		}
	}()
	params := copyOf(paramsOf(req), method)
	if params == nil {
		return req
	}
	meta := maps.Clone(params.GetMeta())
	if meta == nil {
		meta = map[string]any{}
	}
	if own.meta["traceparent"] != nil {
		delete(meta, "tracestate") // it belongs to another context
	}
	maps.Copy(meta, own.meta)
	params.SetMeta(meta)
	switch s := req.GetSession().(type) {
	case *mcp.ClientSession:
		return &mcp.ClientRequest[mcp.Params]{Session: s, Params: params}
	case *mcp.ServerSession:
		return &mcp.ServerRequest[mcp.Params]{Session: s, Params: params, Extra: req.GetExtra()}
	default:
		return req
	}
}
