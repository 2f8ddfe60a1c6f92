package degrade_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
)

func BenchmarkRun(b *testing.B) {
	down := fault.Unavailable("it").Because(errSecret)
	for name, fetch := range map[string]func(context.Context) (int, error){"complete": give(1), "degraded": fail[int](down)} {
		b.Run(name, func(b *testing.B) {
			handler := mask.New(&mask.Options{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil))})(
				func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
					var out [3]int
					_, err := degrade.Run(ctx, degrade.Required("a", &out[0], give(1)), degrade.Optional("b", &out[1], give(1)), degrade.Optional("c", &out[2], fetch))
					return &mcp.CallToolResult{}, err
				})
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handler(b.Context(), "tools/call", req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNew is what the middleware costs a call that does not use it.
func BenchmarkNew(b *testing.B) {
	res := &mcp.CallToolResult{}
	last := func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, nil }
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}
	for name, handler := range map[string]mcp.MethodHandler{
		"mask":         mask.New(nil)(last),
		"mask,degrade": mask.New(nil)(degrade.New(nil)(last)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handler(b.Context(), "tools/call", req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
