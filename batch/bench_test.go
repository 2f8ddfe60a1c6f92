package batch_test

import (
	"context"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/batch"
)

func BenchmarkRun(b *testing.B) {
	items := make([]int, 10_000)
	nothing := func(context.Context, int) (int, error) { return 0, nil }
	b.Run("nothing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			batch.Run(b.Context(), items, nothing, &batch.RunOptions[int]{Concurrency: 16})
		}
		perItem(b, len(items))
	})
	b.Run("nothing, one worker", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			batch.Run(b.Context(), items, nothing, &batch.RunOptions[int]{Concurrency: 1})
		}
		perItem(b, len(items))
	})
	b.Run("nothing, with a limit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			batch.Run(b.Context(), items, nothing, &batch.RunOptions[int]{Concurrency: 16, Limit: time.Minute})
		}
		perItem(b, len(items))
	})
}

func perItem(b *testing.B, items int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(items), "ns/item")
}
