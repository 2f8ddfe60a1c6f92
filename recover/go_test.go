package recover_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/harness"
	mcprecover "github.com/mcpchain/mcpchain/recover"
)

func TestGo(t *testing.T) {
	harness.NoLeaks(t)
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")

	done := mcprecover.Go(ctx, func(ctx context.Context) error {
		require.Equal(t, "value", ctx.Value(key{}))
		return nil
	})
	err, open := <-done
	require.NoError(t, err)
	require.True(t, open, "the error comes before the end, nil too")
	_, open = <-done
	require.False(t, open, "and then the channel is closed")

	done = mcprecover.Go(ctx, func(context.Context) error { return errSecret })
	require.Equal(t, errSecret, <-done)
	_, open = <-done
	require.False(t, open)

	done = mcprecover.Go(ctx, func(context.Context) error { explode(func() { panic(errSecret) }); return nil })
	err = <-done
	var p *fault.PanicError
	require.ErrorAs(t, err, &p)
	require.Equal(t, errSecret, p.Value)
	require.ErrorIs(t, err, errSecret)
	require.Contains(t, p.Stack(), "recover_test.explode(...)")

	require.ErrorAs(t, <-mcprecover.Go(ctx, func(context.Context) error { panic(nil) }), &p)
	require.ErrorAs(t, <-mcprecover.Go(ctx, func(context.Context) error { panic(evil{}) }), &p)

	done = mcprecover.Go(ctx, func(context.Context) error {
		runtime.Goexit()
		return nil
	})
	require.Equal(t, mcprecover.ErrGoexit, <-done)
	_, open = <-done
	require.False(t, open)
}

// TestGoWithoutAReader proves that nobody has to read the channel: a goroutine that
// waited for a reader would be a deadlock in the bubble.
func TestGoWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		for _, fn := range []func(context.Context) error{
			func(context.Context) error { return nil },
			func(context.Context) error { return errSecret },
			func(context.Context) error { panic(errSecret) },
			func(context.Context) error { runtime.Goexit(); return nil },
		} {
			mcprecover.Go(t.Context(), func(ctx context.Context) error {
				defer func() { ended++ }()
				return fn(ctx)
			})
			synctest.Wait()
		}
		require.Equal(t, 4, ended)
	})
}

// TestGoInAHandler proves that the panic of a goroutine may be returned and is then
// like one of the handler's own.
func TestGoInAHandler(t *testing.T) {
	harness.Each(t, harness.Shapes(), goInAHandler)
}

func goInAHandler(t *testing.T, at harness.Place) {
	t.Helper()
	log := harness.NewLog(0)
	got := harness.Call(t, at, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		if err := <-mcprecover.Go(ctx, func(context.Context) error { panic(errSecret) }); err != nil {
			return nil, err
		}
		return harness.Success(req), nil
	}, logging(log))
	require.Contains(t, got.Text(), "Internal error: ")
	require.NotContains(t, string(got.Wire), harness.Canary)
	require.Equal(t, "panic", log.Only(t)["outcome"])
}
