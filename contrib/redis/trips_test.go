package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/state"
)

// counting is a hook that notes what goes to Redis: each command is a round trip.
type counting struct {
	goredis.Hook

	mu    sync.Mutex
	trips []string
}

func (c *counting) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *counting) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next // with which go-redis opens its connections, and nothing else
}

func (c *counting) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.mu.Lock()
		c.trips = append(c.trips, cmd.Name())
		c.mu.Unlock()
		return next(ctx, cmd)
	}
}

func (c *counting) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.trips)
	c.trips = nil
	return n
}

// TestRoundTrips counts those of one call.
func TestRoundTrips(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		hook := new(counting)
		p.client.AddHook(hook)
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		end := func(context.Context) error { return nil }
		keep := replay.New(&replay.Options{Store: s, Owner: ownerOf, Wait: -1, Limits: replay.Limits{KeysPerOwner: 3}})
		remember := state.New(&state.Options{Store: s, Owner: ownerOf, Argument: "amount"})
		server := keep(remember(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			return &mcp.CallToolResult{}, end(ctx)
		}))
		trips := func(want int, server mcp.MethodHandler, req *mcp.CallToolRequest, code string) {
			t.Helper()
			hook.take()
			f := failureOf(t, server, req)
			require.Equal(t, want, hook.take())
			if code != "" {
				require.NotNil(t, f)
				require.Equal(t, code, f.Code())
			}
		}
		for i := range 40 { // each node of a cluster learns the scripts
			require.Nil(t, failureOf(t, server, keyed(fmt.Sprint("warm", i), "k")))
		}
		trips(3, server, keyed("ann", "1"), "")
		trips(1, server, keyed("ann", "1"), "")
		other := keyed("ann", "1")
		other.Params.Arguments = []byte(`{"amount":11}`)
		trips(1, server, other, "KEY_REUSED")

		end = func(context.Context) error { return fault.Invalid("amount", 10, "less") }
		trips(3, server, keyed("ann", "nothing was run"), "")
		end = func(context.Context) error { return errors.New("of unknown effect") }
		trips(3, server, keyed("ann", "2"), "")
		end = func(context.Context) error {
			trips(2, server, keyed("ann", "3"), "KEY_IN_USE")
			return nil
		}
		require.Nil(t, failureOf(t, server, keyed("ann", "3")))
		trips(3, server, keyed("ann", "too many"), "TOO_MANY_KEYS")

		plain := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "pay", Meta: mcp.Meta{"owner": "ann"}}}
		end = func(context.Context) error { return nil }
		trips(0, server, plain, "")
		var handle state.Handle
		end = func(ctx context.Context) (err error) { handle, err = state.Create(ctx, 1); return err }
		trips(1, server, plain, "")
		plain.Params.Arguments = fmt.Appendf(nil, `{"amount":%q}`, handle)
		end = func(ctx context.Context) error { _, err := state.From[int](ctx); return err }
		trips(1, server, plain, "")
		end = func(ctx context.Context) error {
			n, err := state.From[int](ctx)
			*n++
			return err
		}
		trips(2, server, plain, "")
		end = func(ctx context.Context) error { return state.Update(ctx, func(n *int) error { *n++; return nil }) }
		trips(2, server, plain, "")
	})
}
