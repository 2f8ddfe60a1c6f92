package task_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/task"
)

// BenchmarkInTime compares calls that end in time, with and without the middleware.
func BenchmarkInTime(b *testing.B) {
	quiet := slog.New(slog.DiscardHandler)
	handler := func(_ context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{}, nil
	}
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "report"}}
	for _, c := range []struct {
		name string
		mw   mcp.Middleware
	}{
		{"alone", task.New(nil)},
		{"Standard without it", mcpchain.Standard(&mcpchain.Options{Logger: quiet})},
		{"Standard with it", mcpchain.Standard(&mcpchain.Options{Logger: quiet, Task: task.New(nil)})},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := c.mw(handler)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = h(context.Background(), "tools/call", req)
			}
		})
	}
}

// BenchmarkManyTasks has ten thousand calls behind handles at once, and then asks for the answer of each.
func BenchmarkManyTasks(b *testing.B) {
	const many = 10_000
	for b.Loop() {
		release := make(chan struct{})
		s := &server{at: harness.Place{Shape: harness.ServerTyped, Era: harness.Current}, opts: task.Options{
			After: time.Millisecond, Store: store.NewMemory(&store.MemoryOptions{MaxBytes: 1 << 30}),
			Limits: task.Limits{Running: -1, RunningPerOwner: -1, OwnerBytes: -1},
			Owner:  func(context.Context, mcp.Request) string { return "" },
		}}
		s.start(b, map[string]harness.Handler{"report": func(context.Context, mcp.Request) (mcp.Result, error) {
			<-release
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
		}})
		before := inUse()
		ids := make([]string, many)
		began := time.Now()
		concurrently(many, func(n int) { ids[n] = s.handle(b, "report", "0s") })
		b.ReportMetric(float64(time.Since(began).Microseconds())/many, "µs/handle")
		b.ReportMetric(float64(inUse()-before)/many, "B/running")
		close(release)
		began = time.Now()
		concurrently(many, func(n int) {
			if got := s.ask(b, "task_result", ids[n]); got.Text() != "fine" {
				panic(fmt.Sprint(n, got.Text()))
			}
		})
		b.ReportMetric(float64(time.Since(began).Microseconds())/many, "µs/answer")
		require.EqualValues(b, many, s.runs.Load())
	}
}

// concurrently runs do for each number below n, a hundred at once.
func concurrently(n int, do func(int)) {
	var all sync.WaitGroup
	for worker := range 100 {
		all.Go(func() {
			for i := worker; i < n; i += 100 {
				do(i)
			}
		})
	}
	all.Wait()
}

func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
