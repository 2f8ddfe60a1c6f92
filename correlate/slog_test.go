package correlate_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
)

// inCall runs a function with the context of a call whose ID is "the-id".
func inCall(t *testing.T, run func(ctx context.Context)) {
	t.Helper()
	mw := correlate.New(&correlate.Options{Logger: slog.New(slog.DiscardHandler), NewID: func(context.Context, mcp.Request) string { return "the-id" }})
	_, err := handler(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		run(ctx)
		return &mcp.CallToolResult{}, nil
	}, mw)
	require.NoError(t, err)
}

// written returns a line of a log without the time.
func written(t *testing.T, log *harness.Log) string {
	t.Helper()
	log.Only(t)
	_, after, _ := strings.Cut(strings.TrimSpace(log.String()), `","level"`)
	return `{"level"` + after
}

func TestHandler(t *testing.T) {
	for _, c := range []struct {
		name string
		log  func(ctx context.Context, l *slog.Logger)
		want string
	}{
		{"plain", func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", "a", 1) }, `{"level":"INFO","msg":"m","a":1,"reference":"the-id"}`},
		{"no attributes", func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m") }, `{"level":"INFO","msg":"m","reference":"the-id"}`},
		{"with", func(ctx context.Context, l *slog.Logger) { l.With("b", 2).InfoContext(ctx, "m", "a", 1) }, `{"level":"INFO","msg":"m","b":2,"a":1,"reference":"the-id"}`},
		{"with nothing", func(ctx context.Context, l *slog.Logger) { l.With().WithGroup("").InfoContext(ctx, "m") }, `{"level":"INFO","msg":"m","reference":"the-id"}`},
		{"group", func(ctx context.Context, l *slog.Logger) { l.WithGroup("g").InfoContext(ctx, "m", "a", 1) }, `{"level":"INFO","msg":"m","reference":"the-id","g":{"a":1}}`},
		{
			"groups and attributes", func(ctx context.Context, l *slog.Logger) {
				l.With("b", 2).WithGroup("g").With("c", 3).WithGroup("h").With("d", 4).InfoContext(ctx, "m", "a", 1)
			},
			`{"level":"INFO","msg":"m","b":2,"reference":"the-id","g":{"c":3,"h":{"d":4,"a":1}}}`,
		},
		{"reference in the record", func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", "reference", "own") }, `{"level":"INFO","msg":"m","reference":"own"}`},
		{"reference in the logger", func(ctx context.Context, l *slog.Logger) { l.With("reference", "own").InfoContext(ctx, "m", "a", 1) }, `{"level":"INFO","msg":"m","reference":"own","a":1}`},
		{
			"reference in the logger, then a group", func(ctx context.Context, l *slog.Logger) {
				l.With("reference", "own").WithGroup("g").InfoContext(ctx, "m", "a", 1)
			}, `{"level":"INFO","msg":"m","reference":"own","g":{"a":1}}`,
		},
		{
			"another thing of the same name in a group", func(ctx context.Context, l *slog.Logger) {
				l.WithGroup("g").With("reference", "a").InfoContext(ctx, "m", "reference", "b")
			}, `{"level":"INFO","msg":"m","reference":"the-id","g":{"reference":"a","reference":"b"}}`,
		},
		{"outside a call", func(_ context.Context, l *slog.Logger) { l.InfoContext(context.Background(), "m", "a", 1) }, `{"level":"INFO","msg":"m","a":1}`},
		{"outside a call in a group", func(_ context.Context, l *slog.Logger) { l.WithGroup("g").Info("m", "a", 1) }, `{"level":"INFO","msg":"m","g":{"a":1}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, wrap := range map[string]func(slog.Handler) slog.Handler{
				"Handler": correlate.Handler,
				"Pipe":    func(h slog.Handler) slog.Handler { return slogmulti.Pipe(correlate.SlogMiddleware()).Handler(h) },
				"between": func(h slog.Handler) slog.Handler {
					same := slogmulti.NewHandleInlineMiddleware(func(ctx context.Context, r slog.Record, next func(context.Context, slog.Record) error) error {
						return next(ctx, r)
					})
					return slogmulti.Pipe(same, correlate.SlogMiddleware(), same).Handler(h)
				},
				"twice": func(h slog.Handler) slog.Handler { return correlate.Handler(correlate.Handler(h)) },
			} {
				log := harness.NewLog(slog.LevelInfo)
				inCall(t, func(ctx context.Context) { c.log(ctx, slog.New(wrap(log.Handler()))) })
				require.Equal(t, c.want, written(t, log), how)
			}
		})
	}
}

func TestHandlerKeepsTheLevel(t *testing.T) {
	log := harness.NewLog(slog.LevelWarn)
	h := correlate.Handler(log.Handler())
	require.False(t, h.Enabled(t.Context(), slog.LevelInfo))
	require.True(t, h.Enabled(t.Context(), slog.LevelWarn))
	require.Same(t, h, h.WithAttrs(nil))
	require.Same(t, h, h.WithGroup(""))
	require.False(t, h.WithGroup("g").WithAttrs([]slog.Attr{slog.Int("a", 1)}).Enabled(t.Context(), slog.LevelInfo))
}

// TestHandlerDoesNotShare proves that loggers made from one do not write into each
// other.
func TestHandlerDoesNotShare(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	inCall(t, func(ctx context.Context) {
		base := slog.New(correlate.Handler(log.Handler())).WithGroup("g").With("a", 1)
		first, second := base.With("b", 2), base.With("c", 3)
		third := base.WithGroup("h")
		for _, l := range []*slog.Logger{first, second, third, base} {
			l.InfoContext(ctx, "m", "z", 0)
		}
	})
	var got []any
	for _, r := range log.Records() {
		require.Equal(t, "the-id", r["reference"])
		got = append(got, r["g"])
	}
	require.Equal(t, []any{
		map[string]any{"a": 1.0, "b": 2.0, "z": 0.0}, map[string]any{"a": 1.0, "c": 3.0, "z": 0.0},
		map[string]any{"a": 1.0, "h": map[string]any{"z": 0.0}}, map[string]any{"a": 1.0, "z": 0.0},
	}, got)
}

// TestHandlerAndTheRecordsOfCalls proves that a record of ours has one reference,
// also when it is written through the handler, and so has one of Logger.
func TestHandlerAndTheRecordsOfCalls(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	logger := slog.New(correlate.Handler(log.Handler()))
	got := harness.Call(t, rawAt, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		logger.InfoContext(ctx, "plain")
		correlate.Logger(ctx).InfoContext(ctx, "of the call")
		return nil, errSecret
	}, correlate.New(&correlate.Options{Logger: logger}))
	records := log.Records()
	require.Len(t, records, 3)
	for _, r := range records {
		require.Equal(t, got.Reference(), r["reference"])
	}
	require.Equal(t, 3, strings.Count(log.String(), `"reference"`))
}

func TestHandlerWithoutNext(t *testing.T) {
	const want = "correlate.Handler: next is nil; give the handler that writes the records"
	require.PanicsWithValue(t, want, func() { correlate.Handler(nil) })
	require.PanicsWithValue(t, want, func() { correlate.SlogMiddleware()(nil) })
}
