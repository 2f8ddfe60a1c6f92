package otel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpchain/mcpchain"
	mcpotel "github.com/mcpchain/mcpchain/contrib/otel"
	"github.com/mcpchain/mcpchain/fault"
)

// weather has a tool that answers, one that refuses and one with a bug.
func weather() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "weather"}, nil)
	for tool, err := range map[string]error{
		"now":     nil,
		"history": fault.Denied("read", "the archive"),
		"storms":  errors.New(`pq: relation "storms" does not exist`),
	} {
		mcp.AddTool(server, &mcp.Tool{Name: tool}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
			return nil, nil, err
		})
	}
	return server
}

// callAll calls the tools of weather.
func callAll(server *mcp.Server) {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := server.Connect(ctx, theirs, nil)
	if err != nil {
		log.Panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		log.Panic(err)
	}
	for _, tool := range []string{"now", "history", "storms"} {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool}); err != nil {
			log.Panic(err)
		}
	}
	_ = session.Close()
	_ = served.Wait()
}

// The spans of three calls. A real program gives an exporter of OTLP to its providers and
// sets them with otel.SetTracerProvider and otel.SetMeterProvider.
func Example() {
	spans := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))

	server := weather()
	server.AddReceivingMiddleware(
		mcpotel.New(&mcpotel.Options{TracerProvider: traces}),
		mcpchain.Standard(quiet()))
	callAll(server)

	for _, span := range spans.GetSpans() {
		if attr(span.Attributes, "mcp.method.name") != "tools/call" {
			continue
		}
		fmt.Println(span.Name)
		fmt.Println("   status", strings.TrimSpace(span.Status.Code.String()+" "+span.Status.Description))
		for _, key := range []string{"error.type", "mcpchain.kind", "mcpchain.party", "mcpchain.effect"} {
			if value := attr(span.Attributes, key); value != "" {
				fmt.Println("  ", key, value)
			}
		}
	}
	// Output:
	// tools/call now
	//    status Unset
	// tools/call history
	//    status Unset
	//    error.type tool_error
	//    mcpchain.kind permission_denied
	//    mcpchain.party caller
	// tools/call storms
	//    status Error the server failed unexpectedly
	//    error.type tool_error
	//    mcpchain.kind internal_error
	//    mcpchain.party server
}
