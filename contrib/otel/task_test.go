package otel_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/task"
)

// TestACallThatLasts: the span of the request ends with the handle, and the one of the middleware inside lasts as long as
// the call, below it.
func TestACallThatLasts(t *testing.T) {
	each(t, func(t *testing.T, era, transport string) {
		b, goOn := newBench(t), make(chan struct{})
		inHandler := make(chan trace.SpanContext, 1)
		server := newServer()
		addTool(server, "report", func(ctx context.Context) error {
			<-goOn
			inHandler <- trace.SpanContextFromContext(ctx)
			return ctx.Err()
		})
		tracing, opts := mcpotel.New(b.opts), quiet()
		opts.Task = task.New(&task.Options{After: 10 * time.Millisecond})
		server.AddReceivingMiddleware(tracing, mcpchain.Standard(opts, tracing))
		session := serve(t, server, era, transport, nil, nil)
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "report"})
		require.NoError(t, err)
		handle, ok := res.Meta["io.github.mcpchain/task"].(map[string]any)
		require.True(t, ok)
		request := b.one(t, "tools/call")
		require.Equal(t, "tools/call report", request.Name)
		require.Equal(t, trace.SpanKindServer, request.SpanKind)

		close(goOn)
		for handle["status"] == "running" {
			res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"id": handle["id"]}})
			require.NoError(t, err)
			handle, ok = res.Meta["io.github.mcpchain/task"].(map[string]any)
			require.True(t, ok)
		}
		lasted := 0
		for _, span := range b.of("tools/call") {
			if span.SpanKind != trace.SpanKindInternal {
				continue
			}
			lasted++
			require.Equal(t, "tools/call report", span.Name)
			require.Equal(t, request.SpanContext.SpanID(), span.Parent.SpanID())
			require.Equal(t, (<-inHandler).SpanID(), span.SpanContext.SpanID())
			require.True(t, span.EndTime.After(request.EndTime))
			require.NotEmpty(t, attr(span.Attributes, "mcpchain.reference"))
		}
		require.Equal(t, 1, lasted)
	})
}
