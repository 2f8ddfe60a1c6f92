package exchange_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// TestFollow: which calls end with their POST.
func TestFollow(t *testing.T) {
	posted := func(version string, older bool) *exchange.Exchange {
		x, _ := (&exchange.Front{CancelOlder: older}).New(http.Header{"Mcp-Protocol-Version": {version}})
		t.Cleanup(x.End)
		return x
	}
	ended := func(x *exchange.Exchange, between func()) bool {
		ctx, stop := x.Follow(t.Context())
		defer stop()
		between()
		x.Abandon()
		if ctx.Err() != nil {
			require.ErrorIs(t, context.Cause(ctx), exchange.ErrAbandoned)
		}
		return ctx.Err() != nil
	}
	nothing := func() {}
	for version, ends := range map[string]bool{"2026-07-28": true, "2027-01-01": true, "2025-11-25": false, "": false} {
		require.Equal(t, ends, ended(posted(version, false), nothing), version)
		require.True(t, ended(posted(version, true), nothing), version)
	}
	before, during := posted("2026-07-28", false), posted("2025-11-25", true)
	before.Resumable()
	require.False(t, ended(before, nothing))
	require.False(t, ended(during, during.Resumable))
	gone := posted("2026-07-28", false)
	gone.Abandon()
	require.True(t, ended(gone, nothing), "it came too late")

	done := posted("2026-07-28", false)
	ctx, stop := done.Follow(t.Context())
	stop()
	done.Abandon()
	require.NoError(t, ctx.Err(), "it was answered")
	over := posted("2026-07-28", false)
	over.End()
	require.False(t, ended(over, nothing), "it has ended before")

	overStdio := exchange.New()
	defer overStdio.End()
	require.False(t, ended(overStdio, nothing))
	ctx, stop = (*exchange.Exchange)(nil).Follow(t.Context())
	stop()
	require.Equal(t, t.Context(), ctx)
}
