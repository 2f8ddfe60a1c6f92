package correlate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	slogmulti "github.com/samber/slog-multi"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

// A sink is a handler that misbehaves.
type sink struct {
	slog.Handler
	handle func() error
}

func (s sink) Enabled(context.Context, slog.Level) bool  { return true }
func (s sink) Handle(context.Context, slog.Record) error { return s.handle() }
func (s sink) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s sink) WithGroup(string) slog.Handler             { return s }
func (s sink) String() string                            { return "sink" }
func blocks(until <-chan struct{}) func() error          { return func() error { <-until; return nil } }
func fails() error                                       { return errors.New("the disk is full") }
func panicsAlways() error                                { panic("the log is broken") }
func goexits() error                                     { runtime.Goexit(); return nil }
func misbehaviours(until <-chan struct{}) map[string]func() error {
	return map[string]func() error{"fails": fails, "panics": panicsAlways, "blocks": blocks(until), "exits": goexits}
}

// TestNoRecordIsLost writes into a fan-out and a fail-over of which the first sink
// misbehaves: the second gets every record, and no answer waits.
func TestNoRecordIsLost(t *testing.T) {
	type build func(bad, good slog.Handler) slog.Handler
	for name, of := range map[string]build{
		"fan-out": func(bad, good slog.Handler) slog.Handler {
			return slogmulti.Fanout(correlate.Guard(bad), correlate.Guard(good))
		},
		"fail-over": func(bad, good slog.Handler) slog.Handler {
			return slogmulti.Failover()(correlate.Guard(bad), correlate.Guard(good))
		},
		"alone": func(bad, _ slog.Handler) slog.Handler { return bad },
	} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			defer close(until)
			for kind, misbehave := range misbehaviours(until) {
				good := harness.NewLog(slog.LevelInfo)
				if name == "alone" { // the default log takes what its own cannot
					before := slog.Default()
					slog.SetDefault(good.Logger())
					defer slog.SetDefault(before)
				}
				mw := correlate.New(&correlate.Options{Logger: slog.New(of(sink{handle: misbehave}, good.Handler()))})
				start := time.Now()
				const calls = 40
				for i := range calls {
					_, err := handler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
						return nil, fmt.Errorf("failure %d", i)
					}, mcprecover.New(nil), mw)
					require.NoError(t, err)
				}
				records := good.Records()
				if name == "alone" && kind == "blocks" {
					require.Empty(t, records, "they are late, and not lost")
					require.Equal(t, 250*time.Millisecond, time.Since(start))
					continue
				}
				require.Len(t, records, calls, name+" "+kind)
				for i, r := range records {
					require.Equal(t, fmt.Sprint("failure ", i), r["error"])
					require.Equal(t, name == "alone", r["log_failed"] != nil)
				}
				switch {
				case kind != "blocks":
					require.Zero(t, time.Since(start))
				default:
					require.LessOrEqual(t, time.Since(start), 250*time.Millisecond)
				}
			}
		})
	}
}

// TestOneStuckLogTakesNothingFromAnother proves that the bound for records that a log
// holds is its own.
func TestOneStuckLogTakesNothingFromAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		bad := correlate.New(&correlate.Options{Logger: slog.New(sink{handle: blocks(until)})})
		good := harness.NewLog(slog.LevelInfo)
		fail := func(mw mcp.Middleware) {
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errSecret }, mw)
		}
		for range 20 {
			fail(bad)
		}
		for range 20 {
			fail(correlate.New(&correlate.Options{Logger: good.Logger()}))
		}
		require.Len(t, good.Records(), 20)
		for _, r := range good.Records() {
			require.NotContains(t, r, "log_failed")
		}
	})
}

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

// TestRoutingByOutcome sends panics, and nothing else, to a pager.
func TestRoutingByOutcome(t *testing.T) {
	pager, all := harness.NewLog(slog.LevelDebug), harness.NewLog(slog.LevelDebug)
	router := slogmulti.Router().
		Add(correlate.Guard(pager.Handler()), slogmulti.AttrValueIs("outcome", "panic")).
		Add(all.Handler()).
		Handler()
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers:   map[string]harness.Handler{"good": harness.Succeed(), "bad": harness.Fail(errSecret), "panics": harness.Panic("boom")},
		Middleware: []mcp.Middleware{mcprecover.New(nil), correlate.New(&correlate.Options{Logger: slog.New(router)}), mcprecover.New(nil)},
	})
	for _, name := range []string{"good", "bad", "panics"} {
		s.Call(t, name)
	}
	require.Equal(t, "panics", pager.Only(t)["tool"])
	require.Len(t, ofCalls(all), 3)
}

// TestAPipe scrubs a copy of the log, with the reference in it.
func TestAPipe(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	logger := slog.New(slogmulti.Pipe(correlate.SlogMiddleware(), mask.SlogMiddleware(nil)).Handler(log.Handler()))
	harness.Call(t, rawAt, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		logger.InfoContext(ctx, "password="+harness.Canary, "token", harness.Canary, "at", errors.New("open /srv/"+harness.Canary))
		return nil, fmt.Errorf("dial postgres://app:%s@10.0.0.7/x", harness.Canary)
	}, correlate.New(&correlate.Options{Logger: logger}))
	records := log.Records()
	require.Len(t, records, 2)
	require.Equal(t, records[0]["reference"], records[1]["reference"])
	require.NotContains(t, log.String(), harness.Canary)
}
