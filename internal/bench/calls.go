package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/audit"
	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/drain"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/validate"
)

var errSecret = errors.New("dial postgres://app:hunter2@10.0.0.7/prod: connection refused")

// The records of all contenders go through the same handler, which formats them and
// throws them away. Successes are recorded by none: they are below its level.
func written() *slog.Logger {
	//nolint:sloglint // formats, and throws away
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func unwritten() *slog.Logger { return slog.New(slog.DiscardHandler) }

// The jobs of a call: what the handler does, and whether the failure is recorded.
const (
	success = iota
	failure
	failureRecorded
	panicked
	jobs
)

func loggerOf(job int) *slog.Logger {
	if job >= failureRecorded {
		return written()
	}
	return unwritten()
}

// ending returns a handler of any library that ends as the job says.
func ending[Req, Res any](job int, res Res) func(context.Context, Req) (Res, error) {
	return func(context.Context, Req) (Res, error) {
		var none Res
		switch job {
		case success:
			return res, nil
		case panicked:
			panic(errSecret)
		default:
			return none, errSecret
		}
	}
}

// sdkContext is as deep as the context that the SDK hands over.
func sdkContext() context.Context {
	ctx := context.Background()
	for i := range 4 {
		ctx = context.WithValue(ctx, new(int), i) //nolint:fatcontext // it is to be deep
	}
	return ctx
}

// calls compares one call through the layers alone, without a connection.
func calls() *table {
	t := &table{
		title:     "A call, the layers alone",
		first:     "",
		jobs:      "success | failure, not recorded | failure with its record | panic with its record | what it does",
		reference: 1,
		note: "Times as ratios to the row \"by hand\", and allocations. Each library's own handler type is called through its layers, without a connection. " +
			"Where a cell is empty, the contender makes no record.",
	}
	sdk := func(name, does string, build func(*slog.Logger) mcp.Middleware) {
		runs := make([]func(), 0, jobs)
		for job := range jobs {
			runs = append(runs, sdkCall(build(loggerOf(job)), job))
		}
		t.add(name, runs, does)
	}
	const passes, masks = "recovers; passes errors on", "recovers, ID, masks, record with the stack"
	sdk("the least that six layers do", passes, func(*slog.Logger) mcp.Middleware { return theLeast() })
	sdk("by hand", masks, handWritten)
	t.add("mcp-go `WithRecovery`", []func(){mcpgoCall(success), mcpgoCall(failure), nil, nil}, "recovers with the value of the panic; passes errors on")
	const advice = masks + "; kinds, advice, arguments explained, loop breaker"
	sdk("`Standard`", advice, func(l *slog.Logger) mcp.Middleware { return mcpchain.Standard(&mcpchain.Options{Logger: l}) })
	sdk("`Standard`, all but `replay` and `state`", advice+", all else", func(l *slog.Logger) mcp.Middleware { return mcpchain.Standard(everything(l)) })
	return t
}

// packages compares each package alone with the same.
func packages() *table {
	t := &table{
		title: "Each package alone", first: "package", jobs: "success | failure, not recorded", reference: 0,
		note: "Times as ratios to the first row.",
	}
	all := everything(unwritten())
	for _, p := range []struct {
		name string
		mw   mcp.Middleware
	}{
		{"by hand, all of it", handWritten(unwritten())},
		{"`recover`", mcprecover.New(nil)},
		{"`correlate`", correlate.New(&correlate.Options{Logger: unwritten()})},
		{"`mask`", mask.New(&mask.Options{Logger: unwritten()})},
		{"`validate`", validate.New(nil)},
		{"`retry`", retry.New(nil)},
		{"`retry.Server`", all.RetryServer},
		{"`deadline`", deadline.New(nil)},
		{"`batch` (a call that is no list)", all.Batch},
		{"`degrade`", degrade.New(nil)},
		{"`limit`", all.Limit},
		{"`drain`", all.Drain},
		{"`budget`", budget.New(nil)},
		{"`audit` (to a sink that does nothing)", all.Audit},
		{"`replay` (a call without a key)", replay.New(&replay.Options{Store: store.NewMemory(nil)})},
		{"`state` (a call without a handle)", state.New(&state.Options{Store: store.NewMemory(nil), Argument: "cart"})},
	} {
		t.add(p.name, []func(){sdkCall(p.mw, success), sdkCall(p.mw, failure)})
	}
	return t
}

// everything is Standard with all that needs no store.
func everything(logger *slog.Logger) *mcpchain.Options {
	return &mcpchain.Options{
		Logger:      logger,
		Audit:       audit.New(&audit.Options{Log: audit.NewLog(func([]audit.Entry) error { return nil }, nil), Logger: unwritten()}),
		Batch:       batch.New(&batch.Options{Lists: []batch.List{{Tool: "get_user", Item: "id", As: "get_users", Items: "ids"}}}),
		Degrade:     degrade.New(nil),
		Deadline:    deadline.New(nil),
		RetryServer: retry.Server(&retry.ServerOptions{InitialInterval: time.Nanosecond}),
		Drain:       drain.New(&drain.Options{Drain: &drain.Drain{}}),
		Budget:      budget.New(nil),
		Limit: limit.New(&limit.Options{
			Limits: []limit.Limit{{Scope: limit.ForAll, Calls: 1 << 30, Running: 1000}}, Logger: unwritten(),
		}),
	}
}

func sdkCall(mw mcp.Middleware, job int) func() {
	end := ending[mcp.Request, mcp.Result](job, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "22 degrees"}}})
	handler := mw(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "tools/list" {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "weather", InputSchema: map[string]any{"type": "object"}}}}, nil
		}
		return end(ctx, req)
	})
	ctx, req := sdkContext(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "weather"}}
	return func() { _, _ = handler(ctx, middleware.MethodCallTool, req) }
}

// handWritten is what a careful team writes: a recovery, an ID for the call, a masked
// error and a log record, each a middleware of its own.
func handWritten(logger *slog.Logger) mcp.Middleware {
	type key struct{}
	type state struct {
		once sync.Once
		id   string
	}
	id := func(ctx context.Context) string {
		s, _ := ctx.Value(key{}).(*state)
		s.once.Do(func() { s.id = uuid.NewString() })
		return s.id
	}
	failed := func(res mcp.Result, err error) bool {
		r, ok := res.(*mcp.CallToolResult)
		return err != nil || ok && r.IsError
	}
	identity := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, key{}, &state{}), method, req)
		}
	}
	masking := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			start := time.Now()
			res, err := next(ctx, method, req)
			if !failed(res, err) {
				return res, nil
			}
			if r, ok := res.(*mcp.CallToolResult); ok && r != nil {
				err = r.GetError()
			}
			if logger.Enabled(ctx, slog.LevelError) {
				attrs := []slog.Attr{
					slog.String("method", method), slog.Any("error", err), slog.String("reference", id(ctx)), slog.Duration("duration", time.Since(start)),
				}
				if p := (*panicError)(nil); errors.As(err, &p) {
					attrs = append(attrs, slog.String("stack", p.stack))
				}
				logger.LogAttrs(ctx, slog.LevelError, "call failed", attrs...)
			}
			return &mcp.CallToolResult{
				IsError: true,
				Content: []mcp.Content{&mcp.TextContent{Text: "Internal error. Reference: " + id(ctx)}},
			}, nil
		}
	}
	return mcpchain.Chain(recovers, identity, masking, recovers)
}

// stack is what the records of a panic have beside ours, formatted where it happened.
func stack() string {
	return string(debug.Stack()) //nolint:forbidigo // as others do
}

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func recovers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &panicError{p, stack()}
			}
		}()
		return next(ctx, method, req)
	}
}

// theLeast is the least that six layers can do: two recoveries, one context, three looks
// at the result.
func theLeast() mcp.Middleware {
	type key struct{}
	value := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, key{}, true), method, req)
		}
	}
	look := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if r, ok := res.(*mcp.CallToolResult); err == nil && ok && r.IsError {
				err = r.GetError()
			}
			return res, err
		}
	}
	return mcpchain.Chain(recovers, value, look, look, look, recovers)
}

// mcpgoCall is a handler of mcp-go with its recovery around it, as the server makes it.
func mcpgoCall(job int) func() {
	var handler mcpgoserver.ToolHandlerFunc
	capture := func(next mcpgoserver.ToolHandlerFunc) mcpgoserver.ToolHandlerFunc {
		handler = next
		return next
	}
	s := mcpgoserver.NewMCPServer("bench", "1", mcpgoserver.WithToolHandlerMiddleware(capture), mcpgoserver.WithRecovery())
	s.AddTool(mcpgo.NewTool("weather"), ending[mcpgo.CallToolRequest](job, mcpgo.NewToolResultText("22 degrees")))
	s.HandleMessage(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"}}`))
	ctx, req := sdkContext(), mcpgo.CallToolRequest{Params: mcpgo.CallToolParams{Name: "weather"}}
	return func() { _, _ = handler(ctx, req) }
}
