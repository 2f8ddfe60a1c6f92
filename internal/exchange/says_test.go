package exchange_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/internal/exchange"
)

// TestSays: what an answer says is heard until its header is written, and of one call in its POST.
func TestSays(t *testing.T) {
	with := func(authorization string) *exchange.Exchange {
		x, _ := (&exchange.Front{}).New(http.Header{"Authorization": {authorization}})
		t.Cleanup(x.End)
		return x
	}
	x := with("Bearer t")
	require.True(t, x.Signs())
	require.True(t, x.Challenge(401, "a b"))
	x.Later(429, time.Second)
	x.RateLimit("p", "l")
	require.Equal(t, &exchange.Says{Challenge: 401, Scope: "a b", Later: 429, After: time.Second, Policy: "p", Limit: "l"}, x.Fix())
	require.False(t, x.Signs())
	require.False(t, x.Challenge(403, ""))
	require.Equal(t, 401, x.Fix().Challenge)

	require.Nil(t, with("Bearer t").Fix())
	batch := with("Bearer t")
	batch.Batch()
	require.False(t, batch.Signs())
	require.False(t, batch.Challenge(401, ""))
	ended := with("Bearer t")
	ended.End()
	require.False(t, ended.Signs())

	overStdio := exchange.New()
	defer overStdio.End()
	var none *exchange.Exchange
	for _, x := range []*exchange.Exchange{none, overStdio} {
		require.False(t, x.Signs())
		require.False(t, x.Challenge(401, ""))
		x.Later(429, 0)
		x.RateLimit("p", "l")
	}
	require.Nil(t, overStdio.Fix())
	for authorization, bearer := range map[string]bool{
		"Bearer t": true, "bearer  t": true, " BEARER t ": true, "Bearer": false, "Bearer ": false, "": false, "Basic t": false, "Bearert": false,
	} {
		require.Equal(t, bearer, with(authorization).Signs(), authorization)
	}
}
