package recover_test

import (
	"context"
	"runtime"
	"testing"

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
