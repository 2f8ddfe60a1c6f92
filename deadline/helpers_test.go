package deadline_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/deadline"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	"github.com/mcpchain/mcpchain/middleware"
)

func TestMain(m *testing.M) {
	// What is said of handlers that fail on purpose is nobody's to read.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

var rawAt = harness.Place{Shape: harness.ServerRaw, Era: harness.Current}

const (
	limit = 30 * time.Second
	grace = deadline.StandardGrace
)

// limited returns a middleware with the limit above that records to log.
func limited(log *harness.Log) mcp.Middleware {
	return deadline.New(&deadline.Options{Limit: limit, Logger: log.Logger()})
}

// obeys returns a handler that works until it is told to stop.
func obeys() harness.Handler {
	return func(ctx context.Context, _ mcp.Request) (mcp.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// ignores returns a handler that goes on for some time, whatever its context says.
func ignores(d time.Duration, then harness.Handler) harness.Handler {
	return func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		time.Sleep(d)
		return then(ctx, req)
	}
}

// each runs a case in every shape and era, each in a bubble with a clock of its own.
func each(t *testing.T, shapes []harness.Shape, run func(t *testing.T, at harness.Place)) {
	t.Helper()
	harness.Each(t, shapes, func(t *testing.T, at harness.Place) {
		synctest.Test(t, func(t *testing.T) { run(t, at) })
	})
}

// took returns how long f took.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// requireKind requires that a call failed in this way.
func requireKind(t *testing.T, kind fault.Kind, got harness.Answer) {
	t.Helper()
	require.NotNil(t, got.Fault())
	require.Equal(t, kind, got.Fault().Kind())
}

// requireLimit requires that a call failed with this error, and that its caller is told that
// the effect is not known.
func requireLimit(t *testing.T, want deadline.LimitError, err error) {
	t.Helper()
	var got *deadline.LimitError
	require.ErrorAs(t, err, &got)
	require.Equal(t, want, deadline.LimitError{Limit: got.Limit, Caller: got.Caller, Running: got.Running, Err: got.Err})
	f, _ := middleware.FaultOf(nil, err)
	require.Equal(t, fault.EffectUnknown, f.Data().Retry.Effect)
}
