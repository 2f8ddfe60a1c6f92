package mcpchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/budget"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/limit"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/store"
)

func TestMain(m *testing.M) {
	// What is said of panics on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	debug.SetGCPercent(400) // thousands of short-lived servers
	os.Exit(m.Run())
}

var errCanary = errors.New(harness.Canary + " is wrong")

// noting is a log that notes into a trace that it was written to.
type noting struct {
	slog.Handler
	tr *harness.Trace
}

func (n noting) Handle(ctx context.Context, r slog.Record) error {
	n.tr.Note("log")
	return n.Handler.Handle(ctx, r)
}

// TestOrderOfStandard shows the order as one string: what the middlewares do, among the
// middlewares that stand between them.
func TestOrderOfStandard(t *testing.T) {
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		var tr harness.Trace
		options := &mcpchain.Options{
			Logger:    slog.New(noting{slog.DiscardHandler, &tr}),
			Recover:   &mcprecover.Options{OnPanic: func(context.Context, *fault.PanicError) { tr.Note("recover") }},
			Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { tr.Note("id"); return "the-id" }, Logger: slog.New(noting{harness.NewLog(slog.LevelInfo).Handler(), &tr})},
			Mask: &mask.Options{
				Rules: []mask.Rule{func(error) *fault.Error { tr.Note("rule"); return nil }},
				Scrub: func(text string) string { return text },
			},
		}
		s := harness.Start(t, at, harness.Setup{
			Middleware: []mcp.Middleware{mcpchain.Standard(options, tr.Middleware("a"), nil, tr.Middleware("b"))},
			Handlers: map[string]harness.Handler{
				"good":    tr.Handler("h", harness.Succeed()),
				"unknown": tr.Handler("h", harness.Fail(errCanary)),
				"panic":   tr.Handler("h", harness.Panic(errCanary)),
				"asks": tr.Handler("h", func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
					return harness.Success(req), errors.New(correlate.ID(ctx))
				}),
			},
		})
		tr.Take()
		for _, c := range []struct{ name, want string }{
			{"good", ">a >b h <b <a"},
			{"unknown", ">a >b h <b <a rule id log"},
			{"panic", ">a >b h recover <b <a id log"},
			{"asks", ">a >b h id <b <a rule log"},
		} {
			s.Call(t, c.name)
			require.Equal(t, c.want, tr.Take(), c.name)
		}
		// Middlewares that are added later stand outside of it all.
		if !strings.HasPrefix(string(at.Shape), "wrap/") {
			s.Server.AddReceivingMiddleware(tr.Middleware("late"))
			s.Call(t, "panic")
			require.Equal(t, ">late >a >b h recover <b <a id log <late", tr.Take())
		}
	})
}

// TestInnerMiddlewares proves what a middleware of the user's gets from the middlewares
// around it.
func TestInnerMiddlewares(t *testing.T) {
	harness.Each(t, append(harness.Tools(), harness.Others()...), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelInfo)
		var seen error
		var id string
		look := harness.Look(func(ctx context.Context, res mcp.Result, err error) {
			if tool, ok := res.(*mcp.CallToolResult); ok && err == nil {
				err = tool.GetError()
			}
			seen, id = err, correlate.ID(ctx)
		})
		bursts := func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if method == at.Shape.Method() && err == nil && call.Target(req) == at.Shape.Target("bursts") && at.Shape != harness.ServerCompletion {
					panic(errCanary)
				}
				return res, err
			}
		}
		s := harness.Start(t, at, harness.Setup{
			Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{Logger: log.Logger()}, bursts, look)},
			Handlers: map[string]harness.Handler{
				"unknown": harness.Fail(errCanary), "panic": harness.Panic(errCanary), "bursts": harness.Succeed(),
			},
		})
		got := s.Call(t, "unknown")
		require.ErrorIs(t, seen, errCanary, "it is masked later")
		require.Equal(t, got.Reference(), id)
		s.Call(t, "panic")
		var p *fault.PanicError
		require.ErrorAs(t, seen, &p, "a panic of the handler is an error already")
		if at.Shape != harness.ServerCompletion {
			require.Equal(t, fault.KindInternal, s.Call(t, "bursts").Fault().Kind(), "and one of its own is recovered too")
			require.Len(t, log.Records(), 3)
		}
		require.NotContains(t, s.Sent(), harness.Canary)
	})
}

func TestOptionsOfStandard(t *testing.T) {
	at := harness.Place{Shape: harness.ServerRaw, Era: harness.Current}
	t.Run("nil", func(t *testing.T) {
		log := harness.NewLog(slog.LevelInfo)
		chain := mcpchain.Standard(nil)
		before := slog.Default()
		slog.SetDefault(log.Logger()) // later than Standard
		defer slog.SetDefault(before)
		got := harness.Call(t, at, harness.Fail(errCanary), chain)
		require.Equal(t, got.Reference(), log.Only(t)["reference"])
	})
	t.Run("logger", func(t *testing.T) {
		log := harness.NewLog(slog.LevelInfo)
		harness.Call(t, at, harness.Fail(errCanary), mcpchain.Standard(&mcpchain.Options{Logger: log.Logger()}))
		log.Only(t)
	})
	t.Run("logger of a part", func(t *testing.T) {
		log, own := harness.NewLog(slog.LevelInfo), harness.NewLog(slog.LevelInfo)
		harness.Call(t, at, harness.Fail(errCanary), mcpchain.Standard(&mcpchain.Options{Logger: log.Logger(), Correlate: &correlate.Options{Logger: own.Logger()}}))
		require.Empty(t, log.Records())
		own.Only(t)
	})
	t.Run("logger of notices", func(t *testing.T) {
		log, other := harness.NewLog(slog.LevelInfo), harness.NewLog(slog.LevelInfo)
		before := slog.Default()
		slog.SetDefault(other.Logger())
		defer slog.SetDefault(before)
		nobody := func(context.Context, mcp.Request) string { panic("no users") }
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{"read_more": harness.Succeed()},
			Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
				Logger: log.Logger(), Budget: budget.New(nil), Limit: limit.New(&limit.Options{Owner: nobody}), Replay: replay.New(&replay.Options{Owner: nobody, Store: store.NewMemory(nil)}),
			})},
		})
		_, err := s.Client.ListTools(t.Context(), nil)
		require.NoError(t, err)
		s.Call(t, "read_more")
		require.Empty(t, other.Records())
		said := log.String()
		require.Contains(t, said, "budget: the server has a tool of this name")
		require.Contains(t, said, "limit.Options.Owner")
	})
	t.Run("logger of what is said at the start", func(t *testing.T) {
		log := harness.NewLog(slog.LevelInfo)
		mcpchain.Standard(&mcpchain.Options{Logger: log.Logger(), Mask: &mask.Options{Reveal: true}})
		require.Contains(t, log.Only(t)["msg"], "mask: Options.Reveal is set")
	})
	t.Run("parts", func(t *testing.T) {
		panics := 0
		s := harness.Start(t, at, harness.Setup{
			Handlers: map[string]harness.Handler{"panic": harness.Panic(1), "unknown": harness.Fail(errCanary)},
			Middleware: []mcp.Middleware{mcpchain.Standard(&mcpchain.Options{
				Recover:   &mcprecover.Options{OnPanic: func(context.Context, *fault.PanicError) { panics++ }},
				Correlate: &correlate.Options{NewID: func(context.Context, mcp.Request) string { return "the-id" }},
				Mask:      &mask.Options{Rules: []mask.Rule{mask.Is(errCanary, fault.New("ruled", "m"))}},
				Render:    &middleware.RenderOptions{JSON: true},
			})},
		})
		require.True(t, json.Valid([]byte(s.Call(t, "panic").Text())))
		require.Equal(t, 1, panics)
		got := s.Call(t, "unknown")
		require.Equal(t, fault.Kind("ruled"), got.Fault().Kind())
		require.Equal(t, "the-id", got.Reference())
	})
	t.Run("copied", func(t *testing.T) {
		options := &mcpchain.Options{Recover: &mcprecover.Options{}, Correlate: &correlate.Options{}, Mask: &mask.Options{}, Logger: slog.New(slog.DiscardHandler)}
		chain := mcpchain.Standard(options)
		require.Nil(t, options.Recover.Logger, "the caller's is not written to")
		require.Nil(t, options.Correlate.Logger)
		require.Nil(t, options.Mask.Logger)
		options.Mask.Reveal, options.Correlate.NewID = true, func(context.Context, mcp.Request) string { return "changed" }
		got := harness.Call(t, at, harness.Fail(errCanary), chain)
		require.NotContains(t, string(got.Wire), harness.Canary)
		require.NotEqual(t, "changed", got.Reference())
	})
	t.Run("bad", func(t *testing.T) {
		require.PanicsWithValue(t, "mask.New: Options.Rules[0] is nil; remove it or give a rule", func() {
			mcpchain.Standard(&mcpchain.Options{Mask: &mask.Options{Rules: []mask.Rule{nil}}})
		})
		require.PanicsWithValue(t, "middleware.Chain: middleware 1 of 1 returned a nil handler", func() {
			mcpchain.Standard(nil, func(mcp.MethodHandler) mcp.MethodHandler { return nil })(returning(nil, nil))
		})
	})
}

func TestChainIsThatOfMiddleware(t *testing.T) {
	var tr harness.Trace
	chain := mcpchain.Chain(tr.Middleware("a"), nil, tr.Middleware("b"))
	_, _ = chain(returning(nil, nil))(t.Context(), middleware.MethodCallTool, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}})
	require.Equal(t, ">a >b <b <a", tr.Take())
}

// returning returns a handler that returns this.
func returning(res mcp.Result, err error) mcp.MethodHandler {
	return func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, err }
}
