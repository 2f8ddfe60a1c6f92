package otel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/middleware"
)

// An operation is a call that a middleware of this package traces.
type operation struct {
	method  string
	label   string      // the method, or other: see methods
	session mcp.Session // nil for none
	target  string      // the name of the tool or prompt, "" for other methods
	known   bool        // the server lists the target

	mu     sync.Mutex
	passes map[string]passed // by the reference of an item
}

// passed is how often a call, or an item of it, passed a middleware inside of the first
// one.
type passed struct {
	number int
	last   trace.SpanContext
}

type operationKey struct{}

// outerOperation returns the operation that already traces this call, nil if there is none.
// If a handler calls something else with its context, that is another call.
func outerOperation(ctx context.Context, method string, req mcp.Request) *operation {
	op, _ := ctx.Value(operationKey{}).(*operation)
	if op == nil || op.method != method || op.session != sessionOf(req) {
		return nil
	}
	return op
}

// maxPasses bounds the items of a call that are remembered. Further ones get no links.
const maxPasses = 1024

// pass notes one more pass of an item and returns its number, from 1, and the span of the
// one before.
func (op *operation) pass(reference string, span trace.SpanContext) (number int, before trace.SpanContext) {
	op.mu.Lock()
	defer op.mu.Unlock()
	p, ok := op.passes[reference]
	if !ok && len(op.passes) >= maxPasses {
		return 1, trace.SpanContext{}
	}
	if op.passes == nil {
		op.passes = map[string]passed{}
	}
	op.passes[reference] = passed{p.number + 1, span}
	return p.number + 1, p.last
}

// name is the name of the span. It has the target only if the server lists it, so that
// there are few names.
func (op *operation) name() string {
	if op.known {
		return op.label + " " + op.target
	}
	return op.label
}

// targetKey is the attribute under which the target of a method stands, "" for none.
func targetKey(method string) string {
	switch method {
	case middleware.MethodCallTool:
		return attrTool
	case middleware.MethodGetPrompt:
		return attrPrompt
	default:
		return ""
	}
}

// targetOf returns the name of the tool or prompt that is called, on either side.
func targetOf(method string, req mcp.Request) (name string) {
	if targetKey(method) == "" {
		return ""
	}
	switch p := paramsOf(req).(type) {
	case *mcp.CallToolParamsRaw:
		name = p.Name
	case *mcp.CallToolParams:
		name = p.Name
	case *mcp.GetPromptParams:
		name = p.Name
	}
	return clean(name, maxName)
}

// requestAttributes are the attributes that a span has from its start.
func (t *tracer) requestAttributes(ctx context.Context, op *operation, req mcp.Request) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 8), attribute.String(attrMethod, clean(op.method, maxName)))
	if key := targetKey(op.method); key != "" {
		attrs = append(attrs, attribute.String(key, op.target))
	}
	if op.method == middleware.MethodCallTool {
		attrs = append(attrs, attribute.String(attrOperation, executeTool))
	}
	if id := sessionID(op.session); id != "" {
		sum := sha256.Sum256([]byte(id))
		attrs = append(attrs, attribute.String(attrSession, "sha256:"+hex.EncodeToString(sum[:8])))
	}
	if version := protocolVersion(req); version != "" {
		attrs = append(attrs, attribute.String(attrProtocolVersion, clean(version, maxName)))
	}
	attrs = append(attrs, network(req)...)
	return append(attrs, t.own(ctx, req)...)
}

// measured are the attributes of a measurement. Each has a closed set of values.
func (t *tracer) measured(op *operation, req mcp.Request, end ending) attribute.Set {
	attrs := append(make([]attribute.KeyValue, 0, 10), attribute.String(attrMethod, op.label))
	if key := targetKey(op.method); key != "" {
		name := other
		if op.known {
			name = op.target
		}
		attrs = append(attrs, attribute.String(key, name))
	}
	if op.method == middleware.MethodCallTool {
		attrs = append(attrs, attribute.String(attrOperation, executeTool))
	}
	if version := protocolVersion(req); version != "" {
		if !slices.Contains(protocolVersions, version) {
			version = other
		}
		attrs = append(attrs, attribute.String(attrProtocolVersion, version))
	}
	attrs = append(attrs, network(req)...)
	return attribute.NewSet(append(attrs, end.measured()...)...)
}

// network describes a request over HTTP. The SDK does not say which transport other
// requests have.
func network(req mcp.Request) []attribute.KeyValue {
	if headerOf(req) == nil {
		return nil
	}
	return []attribute.KeyValue{attribute.String(attrTransport, "tcp"), attribute.String(attrProtocol, "http")}
}

// The bounds of what a span has: of names, of the user's values, of descriptions.
const (
	maxName        = 256
	maxValue       = 1024
	maxDescription = 512
	maxOwn         = 32
)

// own are the user's own attributes, bounded.
func (t *tracer) own(ctx context.Context, req mcp.Request) (attrs []attribute.KeyValue) {
	if t.Attributes == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			attrs = nil
		}
	}()
	attrs = t.Attributes(ctx, req)
	attrs = slices.Clone(attrs[:min(len(attrs), maxOwn)])
	for i, a := range attrs {
		if a.Value.Type() == attribute.STRING {
			attrs[i].Value = attribute.StringValue(clean(a.Value.AsString(), maxValue))
		} else if a.Value.Type() == attribute.STRINGSLICE {
			texts := a.Value.AsStringSlice()
			texts = texts[:min(len(texts), maxOwn)]
			for j, text := range texts {
				texts[j] = clean(text, maxValue)
			}
			attrs[i].Value = attribute.StringSliceValue(texts)
		}
	}
	return attrs
}

// clean bounds a text from outside and replaces characters that are not printable. An
// exporter refuses text that is not UTF-8.
func clean(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(text, ""))
}
