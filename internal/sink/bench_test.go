package sink_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/sink"
)

// BenchmarkTry is one record of a failed call: what it costs that its handler runs apart is the difference to
// "direct".
func BenchmarkTry(b *testing.B) {
	record := slog.NewRecord(time.Now(), slog.LevelError, "mcp call", 0)
	record.AddAttrs(slog.String("method", "tools/call"), slog.String("tool", "pay"), slog.String("outcome", "internal_error"),
		slog.Float64("duration_ms", 0.528), slog.String("reference", "01a220f1-6cb8-77c0-abd2-0481f3acff3c"), slog.String("error", "dial: broken"))
	for _, format := range []struct {
		name    string
		handler slog.Handler
	}{{"text", slog.NewTextHandler(io.Discard, nil)}, {"json", slog.NewJSONHandler(io.Discard, nil)}} {
		b.Run(format.name+"/direct", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = format.handler.Handle(b.Context(), record)
			}
		})
		b.Run(format.name+"/apart", func(b *testing.B) {
			b.ReportAllocs()
			logger := slog.New(format.handler)
			for b.Loop() {
				sink.Write(b.Context(), logger, record)
			}
		})
	}
}
