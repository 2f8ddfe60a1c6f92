package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/replay"
)

// TestALeaseThatEndsWhileRedisIsAway is taken again by the call that still runs.
func TestALeaseThatEndsWhileRedisIsAway(t *testing.T) {
	p := embedded(t)
	s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
	begun, end := make(chan struct{}), make(chan struct{})
	server := replay.New(&replay.Options{Store: s, Owner: ownerOf, Wait: -1})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		close(begun)
		<-end
		return &mcp.CallToolResult{}, nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = server(context.WithoutCancel(t.Context()), "tools/call", keyed("ann", "k"))
	}()
	<-begun
	p.mini.SetError("LOADING Redis is loading the dataset in memory")
	p.advance(time.Minute) // for Redis the lease is over
	p.mini.SetError("")
	f := failureOf(t, server, keyed("ann", "k"))
	require.NotNil(t, f)
	require.Equal(t, "KEY_UNKNOWN_END", f.Code())
	require.Contains(t, f.Message(), "not known")
	require.Eventually(t, func() bool {
		f := failureOf(t, server, keyed("ann", "k"))
		return f != nil && f.Code() == "KEY_IN_USE"
	}, time.Minute, 100*time.Millisecond, "it runs")
	close(end)
	<-done
	require.Nil(t, failureOf(t, server, keyed("ann", "k")), "its answer was kept")
}
