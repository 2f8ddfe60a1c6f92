package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/degrade"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/mask"
	"github.com/mcpchain/mcpchain/middleware"
	mcprecover "github.com/mcpchain/mcpchain/recover"
	"github.com/mcpchain/mcpchain/retry"
	"github.com/mcpchain/mcpchain/validate"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var (
	benchRequest = &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "weather", Arguments: json.RawMessage(`{"city":"Berlin"}`)}}
	textResult   = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "22 degrees"}}}
	typedResult  = &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: `{"city":"Berlin","temperature":22.5}`}},
		StructuredContent: json.RawMessage(`{"city":"Berlin","temperature":22.5}`),
	}
	largeResult = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("An ordinary line of a report about nothing at all.\n", 64<<10/51)}}}
	errSecret   = errors.New("dial postgres://app:hunter2@10.0.0.7/prod: connection refused")
)

func bench(b *testing.B, mw mcp.Middleware, h mcp.MethodHandler) {
	b.Helper()
	handler := h
	if mw != nil {
		handler = mw(h)
	}
	// The context that the SDK hands over is a few values deep.
	ctx := context.Background()
	for i := range 4 {
		ctx = context.WithValue(ctx, new(int), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = handler(ctx, middleware.MethodCallTool, benchRequest)
	}
}

func returning(res mcp.Result, err error) mcp.MethodHandler {
	return func(context.Context, string, mcp.Request) (mcp.Result, error) { return res, err }
}

// BenchmarkStandard is what a call pays for the whole chain, as it is and with
// everything turned on. The module bench compares it with others.
func BenchmarkStandard(b *testing.B) {
	logger := quiet()
	panics := func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(errSecret) }
	for _, ending := range []struct {
		name string
		h    mcp.MethodHandler
	}{
		{"success", returning(textResult, nil)},
		{"failure", returning(nil, errSecret)},
		{"panic", panics},
	} {
		for _, chain := range []struct {
			name string
			mw   mcp.Middleware
		}{
			{"default", mcpchain.Standard(&mcpchain.Options{Logger: logger})},
			{"everything", mcpchain.Standard(everything(logger))},
		} {
			b.Run(ending.name+"/"+chain.name, func(b *testing.B) { bench(b, chain.mw, ending.h) })
		}
	}
}

// BenchmarkSuccess is what a call that succeeds pays for each part.
func BenchmarkSuccess(b *testing.B) {
	logger := quiet()
	chains := []struct {
		name string
		mw   mcp.Middleware
	}{
		{"none", nil},
		{"standard", mcpchain.Standard(&mcpchain.Options{Logger: logger})},
		{"recover", mcprecover.New(nil)},
		{"correlate", correlate.New(&correlate.Options{Logger: logger})},
		{"mask", mask.New(&mask.Options{Logger: logger})},
		{"retry", retry.New(nil)},
		{"validate", validate.New(nil)},
		{"batch", everything(logger).Batch},
		{"degrade", degrade.New(nil)},
		{"deadline", deadline.New(nil)},
		{"retry.Server", retry.Server(nil)},
		{"audit", everything(logger).Audit}, // beside the disk
		{"correlate, all of it", correlate.New(&correlate.Options{
			Logger: logger, Slow: time.Minute, Observe: func(context.Context, correlate.Event) {},
			Advanced: correlate.Advanced{ReferenceInSuccess: true},
		})},
		{"mask.Successes", mask.Successes()}, // of a text of 10 bytes; see mask for others
		{"validate.RefuseCredentials", validate.New(&validate.Options{Credentials: validate.RefuseCredentials})},
	}
	for _, c := range chains {
		b.Run(c.name, func(b *testing.B) { bench(b, c.mw, returning(textResult, nil)) })
	}
	for _, scrubs := range []bool{false, true} {
		var successes mcp.Middleware
		if scrubs {
			successes = mask.Successes("weather")
		}
		b.Run(fmt.Sprintf("standard/64 KiB/scrubbed=%t", scrubs), func(b *testing.B) {
			bench(b, mcpchain.Standard(&mcpchain.Options{Logger: logger}, successes), returning(largeResult, nil))
		})
	}
	b.Run("standard/structured", func(b *testing.B) {
		bench(b, mcpchain.Standard(&mcpchain.Options{Logger: logger}), returning(typedResult, nil))
	})
}

// BenchmarkFailure is what a call pays whose error is masked and logged.
func BenchmarkFailure(b *testing.B) {
	logger, silent := quiet(), slog.New(slog.DiscardHandler)
	deliberate := fault.NotFound("city", "Berln", "Berlin", "Bern", "Paris")
	for _, c := range []struct {
		name string
		mw   mcp.Middleware
		err  error
	}{
		{"standard", mcpchain.Standard(&mcpchain.Options{Logger: logger}), errSecret},
		{"standard/no log", mcpchain.Standard(&mcpchain.Options{Logger: silent}), errSecret},
		{"standard/fault", mcpchain.Standard(&mcpchain.Options{Logger: silent}), deliberate},
		{"mask", mask.New(&mask.Options{Logger: silent}), errSecret},
	} {
		b.Run(c.name, func(b *testing.B) { bench(b, c.mw, returning(nil, c.err)) })
	}
}

// BenchmarkPanic is what a call pays whose handler panics.
func BenchmarkPanic(b *testing.B) {
	logger, silent := quiet(), slog.New(slog.DiscardHandler)
	panics := func(context.Context, string, mcp.Request) (mcp.Result, error) { panic(errSecret) }
	for _, c := range []struct {
		name string
		mw   mcp.Middleware
	}{
		{"standard", mcpchain.Standard(&mcpchain.Options{Logger: logger})},
		{"standard/no log", mcpchain.Standard(&mcpchain.Options{Logger: silent})},
	} {
		b.Run(c.name, func(b *testing.B) { bench(b, c.mw, panics) })
	}
}

// BenchmarkRoundTrip is a whole call between a client and a server in one
// process, the cheapest there is.
func BenchmarkRoundTrip(b *testing.B) {
	for _, c := range []struct {
		name string
		mw   mcp.Middleware
	}{
		{"bare", nil},
		{"standard", mcpchain.Standard(&mcpchain.Options{Logger: quiet()})},
		{"everything", mcpchain.Standard(everything(quiet()))},
	} {
		b.Run(c.name, func(b *testing.B) {
			server := mcp.NewServer(&mcp.Implementation{Name: "bench"}, nil)
			server.AddTool(&mcp.Tool{Name: "weather", InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "22 degrees"}}}, nil
				})
			if c.mw != nil {
				server.AddReceivingMiddleware(c.mw)
			}
			clientTransport, serverTransport := mcp.NewInMemoryTransports()
			if _, err := server.Connect(b.Context(), serverTransport, nil); err != nil {
				b.Fatal(err)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(b.Context(), clientTransport, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer session.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "weather"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
