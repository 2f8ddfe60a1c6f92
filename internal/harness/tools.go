package harness

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/middleware"
)

// Canary is a secret that no scrubber recognizes by its shape. It must not leave the
// server.
const Canary = "kanarienvogel"

// A Log keeps the records of a logger.
type Log struct {
	buf   recorder
	level slog.Level

	mu      sync.Mutex
	parsed  int // bytes
	records []Record
}

// A Record is one record of a log, as it is in JSON.
type Record map[string]any

// NewLog returns a log that takes records of this level and above.
func NewLog(level slog.Level) *Log { return &Log{level: level} }

// Handler returns a handler that writes into the log.
func (l *Log) Handler() slog.Handler {
	return slog.NewJSONHandler(&l.buf, &slog.HandlerOptions{Level: l.level})
}

// Logger returns a logger that writes into the log.
func (l *Log) Logger() *slog.Logger { return slog.New(l.Handler()) }

// String returns the log as it is.
func (l *Log) String() string { return l.buf.from(0) }

// Records returns the records so far.
func (l *Log) Records() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.buf.from(l.parsed)
	l.parsed += len(fresh)
	for dec := json.NewDecoder(strings.NewReader(fresh)); dec.More(); {
		var r Record
		if err := dec.Decode(&r); err != nil {
			panic("harness: a record is not JSON: " + err.Error())
		}
		l.records = append(l.records, r)
	}
	return slices.Clone(l.records)
}

// Only returns the record of a log that must have exactly one.
func (l *Log) Only(t testing.TB) Record {
	t.Helper()
	records := l.Records()
	require.Len(t, records, 1, l.String())
	return records[0]
}

// A Trace records in which order middlewares run, as one string: ">a >b h <b <a".
type Trace struct {
	mu    sync.Mutex
	words []string
}

// Note adds a word.
func (tr *Trace) Note(word string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.words = append(tr.words, word)
}

// String returns the words so far.
func (tr *Trace) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.Join(tr.words, " ")
}

// Take returns the words so far and forgets them.
func (tr *Trace) Take() string {
	defer func() {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.words = nil
	}()
	return tr.String()
}

// Middleware returns a middleware that notes ">name" and "<name", and "!name" for a panic, for
// calls of tools, prompts, resources and completions.
func (tr *Trace) Middleware(name string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case middleware.MethodCallTool, middleware.MethodGetPrompt, middleware.MethodReadResource, middleware.MethodComplete:
			default:
				return next(ctx, method, req)
			}
			tr.Note(">" + name)
			end := "!" + name
			defer func() { tr.Note(end) }()
			res, err := next(ctx, method, req)
			end = "<" + name
			return res, err
		}
	}
}

// Handler returns a handler that notes a word and does what h does.
func (tr *Trace) Handler(word string, h Handler) Handler {
	return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		tr.Note(word)
		return h(ctx, req)
	}
}

// Look returns a middleware that passes the answers to calls of tools, prompts, resources
// and completions to a function.
func Look(at func(ctx context.Context, res mcp.Result, err error)) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			switch method {
			case middleware.MethodCallTool, middleware.MethodGetPrompt, middleware.MethodReadResource, middleware.MethodComplete:
				at(ctx, res, err)
			}
			return res, err
		}
	}
}

// NoLeaks fails the test when it leaves goroutines behind. Call it first, so that
// it looks last.
func NoLeaks(t testing.TB) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		// Goroutines may end a little after the code that waited for them.
		for range 500 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		stacks := make([]byte, 1<<16)
		stacks = stacks[:runtime.Stack(stacks, true)]
		t.Errorf("%d goroutines, %d before the test:\n%s", runtime.NumGoroutine(), before, stacks)
	})
}

// Eventually waits until a condition holds: for what is done without an answer,
// such as a notification.
func Eventually(t testing.TB, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, time.Millisecond)
}
