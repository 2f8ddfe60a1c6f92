package correlate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var errSecret = errors.New(harness.Canary + " is wrong")

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

// ofCalls are the records of calls of tools, prompts, resources and completions,
// without those of how the session began.
func ofCalls(log *harness.Log) []harness.Record {
	var records []harness.Record
	for _, r := range log.Records() {
		switch r["method"] {
		case call.MethodInitialize, call.MethodDiscover:
		default:
			records = append(records, r)
		}
	}
	return records
}

// TestArgumentsAreNotLogged also holds for results.
func TestArgumentsAreNotLogged(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug)
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: log.Logger()})},
		Handlers: map[string]harness.Handler{
			"good": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: harness.Canary}}, StructuredContent: harness.Canary}
			}),
			"bad": harness.Fail(errors.New("it broke")),
		},
	})
	for _, name := range []string{"good", "bad", "unknown"} {
		s.CallTool(t.Context(), name, map[string]any{"secret": harness.Canary})
	}
	require.Len(t, ofCalls(log), 3)
	require.NotContains(t, log.String(), harness.Canary)
}

// refusal is an error of a client of some service.
type refusal struct{ StatusCode int }

func (refusal) Error() string { return "the service said no" }

func TestOwnLevels(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	var asked []correlate.Outcome
	mw := correlate.New(&correlate.Options{Logger: log.Logger(), Level: func(o correlate.Outcome) slog.Level {
		asked = append(asked, o)
		switch o {
		case "ok":
			return slog.LevelInfo
		case "internal_error":
			return slog.LevelDebug
		default:
			return slog.LevelWarn
		}
	}})
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{
			"good": harness.Succeed(), "bad": harness.Fail(errSecret), "none": harness.Fail(sql.ErrNoRows),
		},
		Middleware: []mcp.Middleware{mw},
	})
	for _, name := range []string{"good", "bad", "none"} {
		s.Call(t, name)
	}
	records := ofCalls(log)
	require.Len(t, records, 2, "what is below the logger's level is not written")
	require.Equal(t, "INFO", records[0]["level"])
	require.Equal(t, "ok", records[0]["outcome"])
	require.Equal(t, "WARN", records[1]["level"])
	require.Equal(t, "not_found", records[1]["outcome"])
	require.Contains(t, asked, correlate.Outcome("internal_error"))
}

// TestASuccessIsFree proves that a success that nobody records costs neither an ID
// nor a record.
func TestASuccessIsFree(t *testing.T) {
	var made atomic.Int32
	newID := func(context.Context, mcp.Request) string { return fmt.Sprint(made.Add(1)) }
	for _, log := range []*harness.Log{harness.NewLog(slog.LevelInfo), harness.NewLog(slog.LevelError)} {
		made.Store(0)
		s := harness.Start(t, rawAt, harness.Setup{
			Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: log.Logger(), NewID: newID})},
			Handlers: map[string]harness.Handler{
				"good": harness.Succeed(), "asks": func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
					if correlate.ID(ctx) != correlate.ID(ctx) {
						t.Error("another ID")
					}
					return harness.Success(req), nil
				},
			},
		})
		for range 10 {
			s.Call(t, "good")
		}
		require.Zero(t, made.Load())
		s.Call(t, "asks")
		require.EqualValues(t, 1, made.Load())
		require.Empty(t, log.Records())
	}
	// With Debug on, each has a record and an ID.
	log := harness.NewLog(slog.LevelDebug)
	made.Store(0)
	s := harness.Start(t, rawAt, harness.Setup{
		Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: log.Logger(), NewID: newID})},
		Handlers:   map[string]harness.Handler{"good": harness.Succeed()},
	})
	s.Call(t, "good")
	require.EqualValues(t, len(log.Records()), made.Load())
	require.Len(t, ofCalls(log), 1)
}

func TestNewID(t *testing.T) {
	for name, c := range map[string]struct {
		newID func(context.Context, mcp.Request) string
		want  string // "" for a UUID
	}{
		"own": {func(context.Context, mcp.Request) string { return "own" }, "own"}, "empty": {func(context.Context, mcp.Request) string { return "" }, ""}, "panics": {func(context.Context, mcp.Request) string { panic("no") }, ""}, "nil": {nil, ""},
	} {
		log := harness.NewLog(slog.LevelInfo)
		got := harness.Call(t, rawAt, harness.Fail(errSecret), correlate.New(&correlate.Options{Logger: log.Logger(), NewID: c.newID}))
		reference := log.Only(t)["reference"]
		require.Equal(t, got.Reference(), reference, name)
		if c.want != "" {
			require.Equal(t, c.want, reference)
		} else {
			require.NoError(t, uuid.Validate(reference.(string)), name)
		}
	}
}

func TestOptionsAreCopied(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug)
	options := &correlate.Options{Logger: log.Logger()}
	mw := correlate.New(options)
	*options = correlate.Options{Logger: slog.New(slog.DiscardHandler), NewID: func(context.Context, mcp.Request) string { return "changed" }}
	got := harness.Call(t, rawAt, harness.Fail(errSecret), mw)
	require.NotEqual(t, "changed", got.Reference())
	require.Len(t, ofCalls(log), 1)
}

// handler calls a handler behind middlewares in this process.
func handler(h mcp.MethodHandler, mw ...mcp.Middleware) (mcp.Result, error) {
	return middleware.Chain(mw...)(h)(context.Background(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "t"}})
}

// TestAPanicPasses proves that a panic that nobody recovers is recorded and goes
// on, so that the process still ends as it would without the record.
func TestAPanicPasses(t *testing.T) {
	for _, value := range []any{"boom", errSecret, nil, []int{1}, map[string]int{}} {
		log := harness.NewLog(slog.LevelInfo)
		var recovered any
		func() {
			defer func() { recovered = recover() }()
			_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(value) }, correlate.New(&correlate.Options{Logger: log.Logger()}))
		}()
		if value == nil {
			require.IsType(t, &runtime.PanicNilError{}, recovered)
		} else {
			require.Equal(t, value, recovered)
		}
		r := log.Only(t)
		require.Equal(t, "panic", r["outcome"])
		require.Equal(t, "ERROR", r["level"])
		first, _, _ := strings.Cut(r["stack"].(string), "\n")
		require.Contains(t, first, "correlate_test.TestAPanicPasses")
	}
}

// TestGoexit proves that a handler that ends its goroutine, which nobody can
// answer, leaves a record.
func TestGoexit(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	var wait sync.WaitGroup
	wait.Go(func() {
		_, _ = handler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			runtime.Goexit()
			return nil, nil
		}, mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()}), mcprecover.New(nil))
		t.Error("the goroutine goes on")
	})
	wait.Wait()
	r := log.Only(t)
	require.Contains(t, r["error"], "runtime.Goexit")
	require.Equal(t, "internal_error", r["outcome"])
}

func TestIDAndLoggerOutsideACall(t *testing.T) {
	require.Empty(t, correlate.ID(t.Context()))
	require.Same(t, slog.Default(), correlate.Logger(t.Context()))
}

func TestIDAndLoggerInsideACall(t *testing.T) {
	harness.Each(t, harness.Shapes(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelInfo)
		var id string
		got := harness.Call(t, at, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			id = correlate.ID(ctx)
			correlate.Logger(ctx).InfoContext(ctx, "from the handler", "n", 1)
			return nil, errSecret
		}, correlate.New(&correlate.Options{Logger: log.Logger()}))
		require.NotNil(t, got.Fault())
		records := log.Records()
		require.Len(t, records, 2)
		require.Equal(t, "from the handler", records[0]["msg"])
		require.Equal(t, id, records[0]["reference"])
		require.Equal(t, id, records[1]["reference"])
	})
}

// TestLoggerWithoutCorrelate proves that any middleware makes the ID that a handler asks
// for.
func TestLoggerWithoutCorrelate(t *testing.T) {
	var id string
	got := harness.Call(t, rawAt, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		id = correlate.ID(ctx)
		panic(errSecret)
	}, mcprecover.New(nil))
	require.NotEmpty(t, id)
	require.Equal(t, id, got.Reference())
}

// TestWhatIsNotRecorded are notifications and what lasts as long as its caller.
func TestWhatIsNotRecorded(t *testing.T) {
	log := harness.NewLog(slog.LevelDebug - 100)
	mw := correlate.New(&correlate.Options{Logger: log.Logger()})
	for _, method := range []string{"notifications/progress", "notifications/initialized", call.MethodListen} {
		for _, err := range []error{nil, errSecret} {
			_, got := mw(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, err })(t.Context(), method, nil)
			require.Equal(t, err == nil, got == nil)
		}
	}
	require.Empty(t, log.Records())
}

func TestDurationIsThatOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := harness.NewLog(slog.LevelDebug)
		_, err := handler(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			time.Sleep(1500 * time.Millisecond)
			return &mcp.CallToolResult{}, nil
		}, correlate.New(&correlate.Options{Logger: log.Logger()}))
		require.NoError(t, err)
		require.InDelta(t, 1500, log.Only(t)["duration_ms"], 0)
	})
}

// TestASuccessThatCannotBeSentIsRecordedAsAFailure proves that the record tells
// what the caller got, although correlate saw a success.
func TestASuccessThatCannotBeSentIsRecordedAsAFailure(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		log := harness.NewLog(level)
		s := harness.Start(t, rawAt, harness.Setup{
			Handlers: map[string]harness.Handler{"it": harness.Return(func() *mcp.CallToolResult {
				return &mcp.CallToolResult{StructuredContent: func() {}}
			})},
			Middleware: []mcp.Middleware{mcprecover.New(nil), correlate.New(&correlate.Options{Logger: log.Logger()})},
		})
		got := s.Call(t, "it")
		records := ofCalls(log)
		require.Len(t, records, 1)
		require.Equal(t, "internal_error", records[0]["outcome"])
		require.Equal(t, got.Reference(), records[0]["reference"])
		require.Contains(t, records[0], "duration_ms")
	}
}

// broken panics when it is written to, and may do so when it is asked.
type broken struct{ enabled bool }

func (b broken) Enabled(context.Context, slog.Level) bool {
	if b.enabled {
		panic("the log is broken")
	}
	return true
}
func (broken) Handle(context.Context, slog.Record) error { panic("the log is broken") }
func (b broken) WithAttrs([]slog.Attr) slog.Handler      { return b }
func (b broken) WithGroup(string) slog.Handler           { return b }

// TestManyCallsAtOnce proves that no two calls share an ID.
func TestManyCallsAtOnce(t *testing.T) {
	log := harness.NewLog(slog.LevelInfo)
	s := harness.Start(t, rawAt, harness.Setup{
		Handlers: map[string]harness.Handler{"it": func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			return nil, errors.New(correlate.ID(ctx))
		}},
		Middleware: []mcp.Middleware{correlate.New(&correlate.Options{Logger: log.Logger()})},
	})
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			got := s.CallTool(t.Context(), "it", nil)
			if f := got.Fault(); !strings.HasPrefix(f.Message(), f.Reference()) {
				t.Errorf("%q has the reference %q", f.Message(), f.Reference())
			}
		})
	}
	calls.Wait()
	seen := map[any]bool{}
	for _, r := range log.Records() {
		seen[r["reference"]] = true
	}
	require.Len(t, seen, 100)
}
