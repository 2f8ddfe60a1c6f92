package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/correlate/sinks"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

// A sink is a handler that misbehaves.
type sink func() error

func (s sink) Enabled(context.Context, slog.Level) bool  { return true }
func (s sink) Handle(context.Context, slog.Record) error { return s() }
func (s sink) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s sink) WithGroup(string) slog.Handler             { return s }

// TestNoRecordIsLost writes through each composition of which one sink misbehaves: the other one
// gets every record once, also of a logger that was made of it, and nobody waits long.
func TestNoRecordIsLost(t *testing.T) {
	for name, compose := range map[string]func(bad, good slog.Handler) slog.Handler{
		"fan-out":   func(bad, good slog.Handler) slog.Handler { return sinks.Fanout(bad, good) },
		"fail-over": func(bad, good slog.Handler) slog.Handler { return sinks.Failover(bad, good) },
		"router": func(bad, good slog.Handler) slog.Handler {
			return sinks.Router(sinks.Route{To: bad}, sinks.Route{To: good})
		},
		"pipe in a fan-out": func(bad, good slog.Handler) slog.Handler {
			return sinks.Fanout(sinks.Pipe(bad, correlate.SlogMiddleware()), good)
		},
		"fail-over in a pipe": func(bad, good slog.Handler) slog.Handler {
			return sinks.Pipe(sinks.Failover(bad, good), correlate.SlogMiddleware())
		},
		"fan-out in a fail-over": func(bad, good slog.Handler) slog.Handler {
			return sinks.Fanout(sinks.Failover(sinks.Fanout(bad), sinks.Router(sinks.Route{To: good})))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			defer close(until)
			for kind, misbehave := range map[string]sink{
				"fails":  func() error { return errors.New("the disk is full") },
				"panics": func() error { panic("the log is broken") },
				"exits":  func() error { runtime.Goexit(); return nil },
				"hangs":  func() error { <-until; return nil },
			} {
				good := harness.NewLog(slog.LevelInfo)
				logger := slog.New(compose(misbehave, good.Handler())).With("a", 1).WithGroup("g")
				start := time.Now()
				const calls = 40
				for i := range calls {
					logger.Info("m", "i", i)
				}
				require.Len(t, good.Records(), calls, name+" "+kind)
				for i, r := range good.Records() {
					require.EqualValues(t, 1, r["a"])
					require.EqualValues(t, i, r["g"].(map[string]any)["i"])
				}
				require.LessOrEqual(t, time.Since(start), 250*time.Millisecond, name+" "+kind)
			}
		})
	}
}

// TestALateSinkGetsItsRecords: a place that hangs gets each record of a fan-out once, when it is back, and nobody else
// gets one for that reason. Of a fail-over it gets only the one that it had when it began to hang: the next place
// has the others.
func TestALateSinkGetsItsRecords(t *testing.T) {
	for name, c := range map[string]struct {
		compose func(bad, good slog.Handler) slog.Handler
		late    int
	}{
		"fan-out": {func(bad, good slog.Handler) slog.Handler { return sinks.Fanout(bad, good) }, 20},
		"router": {func(bad, good slog.Handler) slog.Handler {
			return sinks.Router(sinks.Route{To: bad}, sinks.Route{To: good})
		}, 20},
		"fail-over":            {func(bad, good slog.Handler) slog.Handler { return sinks.Failover(bad, good) }, 1},
		"fail-over, guarded":   {func(bad, good slog.Handler) slog.Handler { return sinks.Failover(correlate.Guard(bad), good) }, 1},
		"fan-out in a fan-out": {func(bad, good slog.Handler) slog.Handler { return sinks.Fanout(sinks.Fanout(bad, bad), good) }, 40},
		"the end of a fail-over": {func(bad, good slog.Handler) slog.Handler {
			return sinks.Fanout(sinks.Failover(sink(func() error { return errors.New("the disk is full") }), bad), good)
		}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := harness.NewLog(slog.LevelInfo)
				before := slog.Default()
				slog.SetDefault(log.Logger())
				defer slog.SetDefault(before)
				until, written := make(chan struct{}), atomic.Int64{}
				bad := sink(func() error { <-until; written.Add(1); return nil })
				good := harness.NewLog(slog.LevelInfo)
				mw := correlate.New(&correlate.Options{Logger: slog.New(c.compose(bad, good.Handler()))})
				for i := range 20 {
					_, err := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) {
						return nil, fmt.Errorf("failure %d", i)
					})(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "a"}})
					require.NoError(t, err)
				}
				time.Sleep(time.Second) // a fan-out waits for one place after the other
				require.Len(t, good.Records(), 20)
				close(until)
				synctest.Wait()
				require.EqualValues(t, c.late, written.Load())
				require.Empty(t, log.Records())
			})
		})
	}
}

// TestRouter sends panics, and nothing else, to a pager.
func TestRouter(t *testing.T) {
	pager, all := harness.NewLog(slog.LevelDebug), harness.NewLog(slog.LevelDebug)
	router := sinks.Router(
		sinks.Route{To: pager.Handler(), When: sinks.Attr("outcome", "panic", "timeout")},
		sinks.Route{To: all.Handler()},
	)
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{
			"good": harness.Succeed(), "bad": harness.Fail(errors.New("x")), "panics": harness.Panic("boom"),
		},
		Middleware: []mcp.Middleware{mcprecover.New(nil), correlate.New(&correlate.Options{Logger: slog.New(router)}), mcprecover.New(nil)},
	})
	for _, name := range []string{"good", "bad", "panics"} {
		s.Call(t, name)
	}
	require.Equal(t, "panics", pager.Only(t)["tool"])
	of := map[any]int{}
	for _, r := range all.Records() {
		of[r["tool"]]++
	}
	require.Equal(t, 1, of["good"])
	require.Equal(t, 1, of["bad"])
	require.Equal(t, 1, of["panics"])
}

func TestAPredicateThatPanicsLosesNothing(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	slog.New(sinks.Router(sinks.Route{To: log.Handler(), When: func(context.Context, slog.Record) bool { panic("boom") }})).Info("m")
	require.Len(t, log.Records(), 1)
}

// TestPipe scrubs a copy of the log, with the reference in it, each time that it is made.
func TestPipe(t *testing.T) {
	for range 2 {
		log := harness.NewLog(slog.LevelInfo)
		logger := slog.New(sinks.Pipe(log.Handler(), correlate.SlogMiddleware(), mask.SlogMiddleware(nil)))
		harness.Call(t, rawAt, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			logger.InfoContext(ctx, "password="+harness.Canary, "token", harness.Canary, "at", errors.New("open /srv/"+harness.Canary))
			return nil, fmt.Errorf("dial postgres://app:%s@10.0.0.7/x", harness.Canary)
		}, correlate.New(&correlate.Options{Logger: logger}))
		records := log.Records()
		require.Len(t, records, 2)
		require.NotEmpty(t, records[0]["reference"])
		require.Equal(t, records[0]["reference"], records[1]["reference"])
		require.NotContains(t, log.String(), harness.Canary)
	}
}

func TestLevels(t *testing.T) {
	info, debug := harness.NewLog(slog.LevelInfo), harness.NewLog(slog.LevelDebug)
	slog.New(sinks.Failover(info.Handler(), debug.Handler())).Debug("m")
	require.Empty(t, info.Records())
	require.Len(t, debug.Records(), 1, "the first is not for this level")
	require.False(t, slog.New(sinks.Fanout(info.Handler())).Enabled(t.Context(), slog.LevelDebug))
	require.NoError(t, sinks.Router().Handle(t.Context(), slog.Record{}), "no route, no record")
}

func TestMistakes(t *testing.T) {
	const give = "; give the handler that writes the records"
	require.PanicsWithValue(t, "sinks.Fanout: handler 2 is nil"+give, func() { sinks.Fanout(slog.DiscardHandler, nil) })
	require.PanicsWithValue(t, "sinks.Failover: handler 1 is nil"+give, func() { sinks.Failover(nil) })
	require.PanicsWithValue(t, "sinks.Router: handler 2 is nil"+give, func() { sinks.Router(sinks.Route{To: slog.DiscardHandler}, sinks.Route{}) })
	require.PanicsWithValue(t, "sinks.Pipe: handler 1 is nil"+give, func() { sinks.Pipe(nil) })
	require.PanicsWithValue(t, "sinks.Pipe: middleware 1 is nil", func() { sinks.Pipe(slog.DiscardHandler, nil) })
}

func ExampleFanout() {
	withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	operator := slog.NewTextHandler(os.Stdout, withoutTime)
	partner := slog.NewTextHandler(os.Stdout, withoutTime).WithAttrs([]slog.Attr{slog.String("to", "partner")})
	logger := slog.New(sinks.Fanout(
		operator,
		sinks.Pipe(partner, mask.SlogMiddleware(nil)), // scrubbed, because it leaves the company
	))
	logger.Error("login failed", "error", errors.New("dial postgres://app:hunter2@10.0.0.7/orders: refused"))
	// Output:
	// level=ERROR msg="login failed" error="dial postgres://app:hunter2@10.0.0.7/orders: refused"
	// level=ERROR msg="login failed" to=partner error="dial postgres://[redacted]: refused"
}
