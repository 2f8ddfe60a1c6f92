package correlate_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

func TestGuardIsASlogHandler(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	guarded := slog.New(correlate.Guard(log.Handler()))
	guarded.With("a", 1).WithGroup("g").Info("m", "b", 2)
	guarded.Debug("not written")
	require.Contains(t, log.String(), `"msg":"m","a":1,"g":{"b":2}`)
	require.Len(t, log.Records(), 1)
	require.Error(t, correlate.Guard(broken{}).Handle(t.Context(), slog.Record{}))
	require.True(t, correlate.Guard(broken{enabled: true}).Enabled(t.Context(), slog.LevelInfo))
	require.PanicsWithValue(t, "correlate.Guard: next is nil; give the handler that writes the records", func() { correlate.Guard(nil) })
}

func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(slog.LevelDebug)
		mw := correlate.New(&correlate.Options{Logger: slog.New(correlate.Sample(log.Handler(), time.Minute))})
		fail := func(err error) {
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, err }, mcprecover.New(nil), mw)
		}
		panicky := func() {
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("boom") }, mcprecover.New(nil), mw, mcprecover.New(nil))
		}
		other := func() {
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("boom") }, mcprecover.New(nil), mw, mcprecover.New(nil))
		}
		for range 10 {
			fail(errSecret)
			fail(fmt.Errorf("wrapped: %w", errSecret)) // of another type
			panicky()
			other() // in another place
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { return &mcp.CallToolResult{}, nil }, mw)
		}
		require.Len(t, log.Records(), 4+10, "the first of each, and every success")
		time.Sleep(61 * time.Second)
		records := log.Records()[14:]
		require.Len(t, records, 4)
		for _, r := range records {
			require.EqualValues(t, 9, r["repeated"])
			require.NotEmpty(t, r["reference"])
		}
		fail(errSecret) // in the next period
		require.Len(t, log.Records(), 18)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, log.Records()[18]["repeated"])
		time.Sleep(2 * time.Minute) // nothing happened
		fail(errSecret)
		require.Len(t, log.Records(), 20)
		time.Sleep(2 * time.Minute)
		require.Len(t, log.Records(), 20)
	})
}

// TestSampleIsBounded proves that a caller that makes every failure look like another
// neither fills the memory nor the log, and that the counts come out right.
func TestSampleIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written, repeated atomic.Int64
		count := slogmulti.NewHandleInlineHandler(func(_ context.Context, _ []string, _ []slog.Attr, r slog.Record) error {
			written.Add(1)
			r.Attrs(func(a slog.Attr) bool {
				if a.Key == "repeated" {
					repeated.Add(a.Value.Int64() - 1)
				}
				return true
			})
			return nil
		})
		sampled := slog.New(correlate.Sample(count, time.Minute)).With("a", 1)
		for i := range 10_000 {
			sampled.Info("mcp call", "kind", "not_found", "tool", fmt.Sprint("evil", i))
		}
		require.LessOrEqual(t, written.Load(), int64(300))
		time.Sleep(3 * time.Minute)
		require.EqualValues(t, 10_000, written.Load()+repeated.Load())
		require.LessOrEqual(t, written.Load(), int64(600))
	})
}

// TestSampleIsNotBlinded: a caller that invents tools takes no record of another failure away.
func TestSampleIsNotBlinded(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug)
	sampled := slog.New(correlate.Sample(log.Handler(), time.Minute))
	for i := range 1000 {
		sampled.Info("mcp call", "kind", "not_found", "tool", fmt.Sprint("evil", i))
	}
	before := len(log.Records())
	sampled.Error("mcp call", "kind", "internal_error", "tool", "pay", "stack", "main.pay\n\tmain.go:1")
	require.Len(t, log.Records(), before+1)
}

// TestSampleOfAHandlerThatHangs: what comes at the end of a period waits in one goroutine.
func TestSampleOfAHandlerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hanging atomic.Int64
		release := make(chan struct{})
		hang := slogmulti.NewHandleInlineHandler(func(_ context.Context, _ []string, _ []slog.Attr, r slog.Record) error {
			if r.NumAttrs() > 2 {
				hanging.Add(1)
				<-release
			}
			return nil
		})
		sampled := slog.New(correlate.Sample(hang, time.Minute))
		for range 100 {
			sampled.Info("mcp call", "kind", "not_found", "tool", "a")
			time.Sleep(time.Minute)
		}
		require.EqualValues(t, 1, hanging.Load())
		close(release)
		time.Sleep(3 * time.Minute)
	})
}

// TestSampleOfAHandlerThatPanics: what comes at the end of a period is written in a goroutine
// of its own, which nothing else recovers.
func TestSampleOfAHandlerThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var repeated atomic.Int64
		panics := slogmulti.NewHandleInlineHandler(func(_ context.Context, _ []string, _ []slog.Attr, r slog.Record) error {
			if r.NumAttrs() > 2 {
				repeated.Add(1)
				panic("the log is broken")
			}
			return nil
		})
		sampled := slog.New(correlate.Sample(panics, time.Minute))
		for range 5 {
			sampled.Info("mcp call", "kind", "not_found", "tool", "a")
			sampled.Info("mcp call", "kind", "not_found", "tool", "a")
			time.Sleep(90 * time.Second)
		}
		time.Sleep(3 * time.Minute)
		require.Positive(t, repeated.Load())
	})
}

func TestSampleOptions(t *testing.T) {
	require.PanicsWithValue(t, "correlate.Sample: next is nil; give the handler that writes the records", func() { correlate.Sample(nil, time.Second) })
	require.PanicsWithValue(t, "correlate.Sample: every is not positive; give a period, such as time.Minute", func() { correlate.Sample(slog.DiscardHandler, 0) })
}
