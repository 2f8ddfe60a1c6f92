package otel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/middleware"
)

// TestTheReferenceIsTheSpan: with ID as its source of IDs, correlate refers to the span.
func TestTheReferenceIsTheSpan(t *testing.T) {
	b := newBench(t)
	server := newServer()
	addTool(server, "fail", func(context.Context) error { return errors.New("connection refused") })
	opts := quiet()
	opts.Correlate = &correlate.Options{NewID: mcpotel.ID}
	server.AddReceivingMiddleware(mcpotel.New(b.opts), mcpchain.Standard(opts))
	session := serve(t, server, eras[1], "http", nil, nil)
	told, _ := middleware.FaultOf(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"}))
	span := b.one(t, "tools/call")
	require.Equal(t, span.SpanContext.TraceID().String()+"-"+span.SpanContext.SpanID().String(), told.Reference())
}
