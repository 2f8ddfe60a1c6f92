package state_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/state"
)

var quiet = slog.New(slog.DiscardHandler)

func TestSharedIsOpenedOnceBeforeTheFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened, closed atomic.Int32
		pool := state.Share(nil, func(context.Context) (string, error) {
			time.Sleep(time.Second)
			opened.Add(1)
			return "pool", nil
		}, func(string) error { closed.Add(1); return nil })
		server := pool.Middleware()(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			p, err := pool.Get(ctx)
			require.Equal(t, "pool", p)
			return nil, err
		})
		_, err := pool.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })(t.Context(), "ping", nil)
		require.NoError(t, err)
		require.Zero(t, opened.Load(), "a ping needs nothing")
		var work sync.WaitGroup
		for range 10 {
			work.Go(func() {
				_, err := server(t.Context(), "initialize", nil)
				require.NoError(t, err)
			})
		}
		work.Wait()
		require.EqualValues(t, 1, opened.Load())
		require.NoError(t, pool.Close())
		require.NoError(t, pool.Close())
		require.EqualValues(t, 1, closed.Load())
		_, err = pool.Get(t.Context())
		require.ErrorIs(t, err, fault.KindServiceUnavailable)
		require.Equal(t, fault.EffectUnknown, retryOf(t, err).Effect, "a handler may have changed something before")
		f, _ := middleware.FaultOf(server(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "it"}}))
		require.Equal(t, fault.EffectNone, retryOf(t, f).Effect, "no handler ran")
	})
}

func TestSharedThatCannotBeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		tries, down := 0, true
		pool := state.Share(&state.ShareOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(context.Context) (int, error) {
			tries++
			if down {
				return 0, errors.New("secret: no route to host")
			}
			return 7, nil
		}, nil)
		server := pool.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil })
		for _, method := range []string{"initialize", "server/discover"} {
			_, err := server(t.Context(), method, nil)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
		}
		require.Equal(t, 1, tries, "the second came too early")
		require.Equal(t, 1, strings.Count(log.String(), "secret: no route to host"))

		_, err := pool.Get(t.Context())
		var f *fault.Error
		require.ErrorAs(t, err, &f)
		retry, _ := f.Retry()
		require.InDelta(t, 1, retry.RetryAfterSeconds, 0.01)
		for range 10 {
			time.Sleep(time.Hour)
			_, err := pool.Get(t.Context())
			require.Error(t, err)
		}
		require.Equal(t, 11, tries)
		_, err = pool.Get(t.Context())
		require.ErrorAs(t, err, &f)
		retry, _ = f.Retry()
		require.InDelta(t, 60, retry.RetryAfterSeconds, 0.01, "the wait has grown to its bound")

		down = false
		time.Sleep(time.Minute)
		got, err := pool.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, 7, got)
		require.NoError(t, pool.Close())
	})
}

func TestSharedSurvivesItsOpener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, open := range map[string]func(context.Context) (int, error){
			"panic":  func(context.Context) (int, error) { panic("secret") },
			"goexit": func(context.Context) (int, error) { runtime.Goexit(); return 0, nil },
			"stuck":  func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
		} {
			_, err := state.Share(&state.ShareOptions{Logger: quiet}, open, nil).Get(t.Context())
			require.ErrorIs(t, err, fault.KindServiceUnavailable, name)
			require.NotContains(t, err.Error(), "secret")
		}
	})
}

func TestSharedGoesOnWhenTheFirstCallerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := state.Share(nil, func(ctx context.Context) (int, error) {
			time.Sleep(10 * time.Second)
			return 7, ctx.Err()
		}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := pool.Get(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got, err := pool.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, 7, got)
	})
}

func TestSharedThatIsClosedWhileItOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		pool := state.Share(nil, func(context.Context) (int, error) { time.Sleep(time.Second); return 7, nil }, func(int) error { closed.Add(1); return nil })
		go func() { _, _ = pool.Get(t.Context()) }()
		synctest.Wait()
		require.NoError(t, pool.Close())
		require.Zero(t, closed.Load())
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, closed.Load())
	})
}
