package call_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

// noting returns a middleware whose step notes its name and the error that is judged.
func noting(notes *[]string, name string) mcp.Middleware {
	return atFailure(func(_ *call.Call, f *failure.Failure) { *notes = append(*notes, fmt.Sprint(name, ": ", f.Err())) })
}

// TestStepsRunOnce: innermost first, more of them than fit into the Call, however often the call is ended.
func TestStepsRunOnce(t *testing.T) {
	var notes []string
	var ended []*failure.Failure
	twice := call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		res, err := next(ctx, c.Method(), req)
		ended = append(ended, c.End(res, err), c.End(res, err), c.Judge(res, err))
		return res, err
	})
	all := []mcp.Middleware{noting(&notes, "a"), noting(&notes, "b"), noting(&notes, "c"), twice, noting(&notes, "d"), noting(&notes, "e"), noting(&notes, "f")}
	_, _ = invoke(middleware.Chain(all...), returns(nil, errSecret))
	var want []string
	for _, name := range []string{"f", "e", "d", "c", "b", "a"} {
		want = append(want, fmt.Sprint(name, ": ", errSecret))
	}
	require.Equal(t, want, notes)
	require.Same(t, ended[0], ended[1])
	require.Same(t, ended[0], ended[2])

	notes = nil
	res, err := invoke(middleware.Chain(all...), returns(&mcp.CallToolResult{}, nil))
	require.NoError(t, err)
	require.False(t, failure.IsError(res))
	require.Empty(t, notes, "a success has no end")
}

// TestWhatLeavesIsJudged: a middleware of the program's own returns another error.
func TestWhatLeavesIsJudged(t *testing.T) {
	var notes []string
	log := harness.NewLog(slog.LevelDebug)
	wraps := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			_, err := next(ctx, method, req)
			return nil, fault.NotFound("file", "a").Because(err)
		}
	}
	recorded := establish(&call.Settings{Logger: log.Logger(), Mask: func(text string) string { return text }})
	res, err := invoke(middleware.Chain(recorded, wraps, noting(&notes, "inside")), returns(nil, errSecret))
	require.NoError(t, err)
	f, _ := middleware.FaultOf(res, nil)
	require.Equal(t, fault.KindNotFound, f.Kind())
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "file 'a' does not exist")
	record := log.Only(t)
	require.Equal(t, "not_found", record["kind"])
	require.Contains(t, fmt.Sprint(record["error_types"]), "*fault.Error > *errors.errorString", "and leads to the first")
}

// TestARepetitionDropsTheFirstTry: what the middlewares inside entered during a try that is repeated is not said.
func TestARepetitionDropsTheFirstTry(t *testing.T) {
	var notes []string
	tries := 0
	again := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			middleware.AddTo(ctx, res, err, func(f *fault.Error) *fault.Error { return f.With("try", 1) })
			return next(ctx, method, req)
		}
	}
	first := noting(&notes, "first try")
	sometimes := func(next mcp.MethodHandler) mcp.MethodHandler {
		inside := first(next)
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if tries++; tries == 1 {
				return inside(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	}
	res, err := invoke(middleware.Chain(noting(&notes, "outside"), again, noting(&notes, "around"), sometimes), func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, fault.New("own", fmt.Sprint("try ", tries))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"around: Own: try 2.", "outside: Own: try 2."}, notes)
	f, _ := middleware.FaultOf(res, nil)
	require.Empty(t, f.Data().Details, "what was added to the first try is not said of the second one")
}

// TestAfterTheAnswer: a handler that was given up ends later, and nothing is said of it.
func TestAfterTheAnswer(t *testing.T) {
	var notes []string
	var c *call.Call
	_, _ = invoke(middleware.Chain(noting(&notes, "it"), call.Wrap(func(_ context.Context, this *call.Call, _ mcp.Request, _ mcp.MethodHandler) (mcp.Result, error) {
		c = this
		return nil, errSecret
	})), returns(nil, nil))
	late := c.End(nil, errors.New("late"))
	require.EqualError(t, late.Err(), "late")
	require.Len(t, notes, 1)
}
