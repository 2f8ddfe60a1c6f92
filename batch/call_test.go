package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/batch"
	"github.com/mcpchain/mcpchain/correlate"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/mask"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

var errKnown = errors.New(harness.Canary + " is locked")

// leaky fails in every way with a secret in it.
func leaky(_ context.Context, i int) (string, error) {
	switch i {
	case 0:
		return "fine", nil
	case 1:
		return "", fmt.Errorf("open /srv/%s: denied", harness.Canary)
	case 2:
		panic(harness.Canary)
	case 3:
		return "", fault.New(fault.KindConflict, "password=hunter2hunter2 is wrong").Because(errors.New(harness.Canary))
	case 4:
		return "", errKnown
	case 5:
		return "", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED, Net: harness.Canary}
	default:
		runtime.Goexit()
		return "", nil
	}
}

const leakyItems = 7

// inACall answers a call of a tool with a batch.
func inACall(o *batch.RunOptions[int]) harness.Handler {
	return func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		return batch.Run(ctx, numbers(leakyItems), leaky, o).ToolResult(), nil
	}
}

// TestFailuresAreLikeThoseOfCalls: masked, scrubbed, classified by the rules, and
// recorded, under a reference each below that of the call.
func TestFailuresAreLikeThoseOfCalls(t *testing.T) {
	harness.Each(t, harness.Tools(), func(t *testing.T, at harness.Place) {
		log := harness.NewLog(slog.LevelInfo)
		chain := []mcp.Middleware{
			mcprecover.New(&mcprecover.Options{Logger: log.Logger()}),
			correlate.New(&correlate.Options{Logger: log.Logger(), NewID: func(context.Context, mcp.Request) string { return "ref" }}),
			mask.New(&mask.Options{Logger: log.Logger(), Rules: []mask.Rule{mask.Is(errKnown, fault.New(fault.KindServiceUnavailable, "the table is busy"))}}),
		}
		got := harness.Call(t, at, inACall(nil), chain...)
		require.NoError(t, got.Err)
		require.False(t, got.Tool().IsError)
		require.NotContains(t, string(got.Wire), harness.Canary)
		require.NotContains(t, string(got.Wire), "hunter2")

		v := structured(t, got.Tool())
		kinds := map[string]any{"internal_error": 3.0, "conflict": 1.0, "service_unavailable": 1.0, "connection_failed": 1.0}
		require.Equal(t, kinds, v["error_summary"].(map[string]any)["by_type"])
		records := map[any]harness.Record{}
		for _, r := range log.Records() {
			records[r["reference"]] = r
		}
		require.Len(t, records, leakyItems-1, log.String())
		for _, e := range v["errors"].([]any) {
			e := e.(map[string]any)
			ref := "ref." + strconv.Itoa(int(e["index"].(float64)))
			require.Equal(t, ref, e["reference_id"])
			require.NotNil(t, records[ref], ref)
			require.Equal(t, at.Shape.Target("it"), records[ref]["tool"])
		}
		require.Equal(t, "panic", records["ref.2"]["outcome"])
		require.Contains(t, records["ref.2"]["stack"], "batch_test.leaky")
		require.Contains(t, records["ref.1"]["error"], harness.Canary)
		require.Equal(t, "ERROR", records["ref.1"]["level"])
		require.Equal(t, "conflict", records["ref.3"]["outcome"])
		require.Contains(t, log.String(), "runtime.Goexit")
		require.Contains(t, text(t, got.Tool()), "- items[1], items[2], items[6]: Internal error: the server failed unexpectedly. References: ref.1, ref.2, ref.6\n")
		require.Contains(t, text(t, got.Tool()), "- items[3]: Conflict: password=[redacted] is wrong. Reference: ref.3\n", "the log knows its cause")
		require.Contains(t, text(t, got.Tool()), "Service unavailable: the table is busy.")
		require.NotContains(t, v, "retry_items", "an error proves what it is, never what became of the item")
		require.NotContains(t, v, "check_items")
	})
}

// TestMaskAlone: mask alone records what it hides, and nothing else.
func TestMaskAlone(t *testing.T) {
	at := harness.Place{Shape: harness.ServerRaw, Era: harness.Current}
	log := harness.NewLog(slog.LevelInfo)
	got := harness.Call(t, at, inACall(nil), mask.New(&mask.Options{Logger: log.Logger()}))
	require.NotContains(t, string(got.Wire), harness.Canary)
	require.Len(t, log.Records(), leakyItems-1)
	for _, r := range log.Records() {
		require.Contains(t, string(got.Wire), r["reference"])
	}

	log = harness.NewLog(slog.LevelDebug)
	got = harness.Call(t, at, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		return batch.Run(ctx, []string{"a"}, func(context.Context, string) (int, error) { return 0, fault.NotFound("file", "a") }, nil).ToolResult(), nil
	}, mask.New(&mask.Options{Logger: log.Logger()}))
	require.NotContains(t, string(got.Wire), "eference")
	require.Empty(t, log.Records(), "the caller knows all of it")
}

// TestAnnotationsOfTheTool: what the tool says of itself decides whether items that may
// have taken effect are sent again.
func TestAnnotationsOfTheTool(t *testing.T) {
	for _, c := range []struct {
		annotations  *mcp.ToolAnnotations
		retry, check int
	}{{nil, 0, 0}, {&mcp.ToolAnnotations{}, 0, 0}, {&mcp.ToolAnnotations{ReadOnlyHint: true}, 2, 0}, {&mcp.ToolAnnotations{IdempotentHint: true}, 2, 0}} {
		server := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		server.AddTool(&mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}, Annotations: c.annotations},
			func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				r := batch.Run(ctx, numbers(2), func(context.Context, int) (int, error) {
					return 0, context.DeadlineExceeded
				}, nil)
				if len(r.RetryItems()) != c.retry || len(r.CheckItems()) != c.check {
					return nil, fmt.Errorf("%d and %d", len(r.RetryItems()), len(r.CheckItems()))
				}
				return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
			})
		server.AddReceivingMiddleware(mcprecover.New(nil))
		res, err := connect(t, server).CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		require.NoError(t, err)
		require.False(t, res.IsError)
	}
}

// TestListThatPanics: a server whose list of tools panics is asked about the tool when an
// item has failed, in a goroutine that nobody else guards. The item has failed all the same.
func TestListThatPanics(t *testing.T) {
	panics := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				panic(harness.Canary)
			}
			return next(ctx, method, req)
		}
	}
	got := harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		return batch.Run(ctx, numbers(3), func(_ context.Context, i int) (int, error) { return 0, errBroken }, nil).ToolResult(), nil
	}, mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}), panics)
	out := outputOf(t, got)
	require.Equal(t, 3, out.Failed)
	require.Equal(t, fault.KindInternal, out.Errors[2].Fault().Kind())
	require.NotContains(t, string(got.Wire), harness.Canary)
}

// TestCauses: the cause of a failure is the error of the function, once, or that of a fault
// that the function made.
func TestCauses(t *testing.T) {
	for _, err := range []error{errBroken, fault.Unavailable("it").Because(errBroken)} {
		fn := func(context.Context, int) (int, error) { return 0, err }
		require.Same(t, errBroken, errors.Unwrap(batch.Run(t.Context(), numbers(1), fn, nil).Items[0].Err))
		harness.Call(t, harness.Place{Shape: harness.ServerRaw, Era: harness.Current}, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			require.Same(t, errBroken, errors.Unwrap(batch.Run(ctx, numbers(1), fn, nil).Items[0].Err))
			return harness.Success(req), nil
		}, mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)}))
	}
}

// TestBatchInOtherHandlers: the failures of a batch are the same behind a resource or a
// prompt.
func TestBatchInOtherHandlers(t *testing.T) {
	for _, shape := range harness.Others() {
		log := harness.NewLog(slog.LevelInfo)
		var r *batch.Result[string]
		harness.Call(t, harness.Place{Shape: shape, Era: harness.Current}, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
			r = batch.Run(ctx, numbers(leakyItems), leaky, nil)
			return harness.Success(req), nil
		}, correlate.New(&correlate.Options{Logger: log.Logger()}), mask.New(nil))
		require.Equal(t, 1, r.Succeeded)
		for i := 1; i < leakyItems; i++ {
			require.NotContains(t, r.Items[i].Err.Error(), harness.Canary)
			require.True(t, strings.HasSuffix(r.Items[i].Err.Reference(), "."+strconv.Itoa(i)), r.Items[i].Err.Reference())
		}
		require.Len(t, log.Records(), leakyItems-1)
		var p *fault.PanicError
		require.ErrorAs(t, r.Items[2].Err, &p)
	}
}

// TestProgressOfTheFirstBatch: inside a call that passes middlewares nobody has to ask
// for notifications; only one batch of a call sends them, because they must increase.
func TestProgressOfTheFirstBatch(t *testing.T) {
	for _, era := range []harness.Era{harness.Current, harness.Older} {
		told := make(chan *mcp.ProgressNotificationParams, 100)
		s := harness.Start(t, harness.Place{Shape: harness.ServerRaw, Era: era}, harness.Setup{
			Handlers: map[string]harness.Handler{"it": func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
				batch.Run(ctx, numbers(5), leaky, nil)
				return batch.Run(ctx, numbers(3), leaky, nil).ToolResult(), nil
			}},
			Middleware: []mcp.Middleware{mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler)})},
			Client: &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				told <- req.Params
			}},
		})
		params := &mcp.CallToolParams{Name: "it"}
		params.SetProgressToken("token")
		_, err := s.Client.CallTool(t.Context(), params)
		require.NoError(t, err)
		before := 0.0
		for before < 5 {
			p := <-told
			require.Equal(t, "token", p.ProgressToken)
			require.InDelta(t, 5, p.Total, 0)
			require.Greater(t, p.Progress, before)
			before = p.Progress
		}
		require.Empty(t, told)
	}
}

// TestPathsAreTheCallersOwn: what to send again is exactly that, also when nothing
// succeeded and it looks like what is hidden elsewhere.
func TestPathsAreTheCallersOwn(t *testing.T) {
	harness.Each(t, []harness.Shape{harness.ServerRaw, harness.ServerTyped, harness.WrapAddTool}, func(t *testing.T, at harness.Place) {
		files := []string{"/home/ann/report.txt", "/home/ann/plan.txt"}
		got := harness.Call(t, at, func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
			return batch.Run(ctx, files, func(_ context.Context, file string) (string, error) {
				return "", fmt.Errorf("%s: %w", harness.Canary, fault.New(fault.KindServiceUnavailable, "the disk /dev/sda7 is away").After(0))
			}, nil).ToolResult(), nil
		}, mcprecover.New(nil), mask.New(&mask.Options{Logger: slog.New(slog.DiscardHandler), Scrub: mask.Scrub}))
		require.True(t, got.Tool().IsError)
		require.Contains(t, got.Text(), `["/home/ann/report.txt","/home/ann/plan.txt"]`)
		require.NotContains(t, got.Text(), "/dev/sda7", "a text of the program's")
		require.NotContains(t, string(got.Wire), harness.Canary)
		if at.Shape != harness.ServerTyped {
			require.Equal(t, []any{files[0], files[1]}, outputOf(t, got).RetryItems)
		}
	})
}
