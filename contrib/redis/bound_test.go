package redis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/middleware"
	"github.com/mcpchain/mcpchain/replay"
	"github.com/mcpchain/mcpchain/state"
	"github.com/mcpchain/mcpchain/store"
)

// keyed is a call of the tool "pay" with a key.
func keyed(owner, key string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Name: "pay", Arguments: json.RawMessage(`{"amount":10}`),
		Meta: mcp.Meta{"owner": owner, "io.modelcontextprotocol/idempotencyKey": key},
	}}
}

// failureOf returns the failure of a call, nil if it succeeded.
func failureOf(t testing.TB, server mcp.MethodHandler, req *mcp.CallToolRequest) *fault.Error {
	t.Helper()
	res, err := server(t.Context(), "tools/call", req)
	if err != nil { // which leaves as it came
		return middleware.Classify(err)
	}
	if !res.(*mcp.CallToolResult).IsError {
		return nil
	}
	f, ok := res.(*mcp.CallToolResult).Meta["io.github.mcpchain/error"].(*fault.Error)
	require.True(t, ok)
	return f
}

// TestOneOwnerDoesNotFillTheRedisOfAll has two servers whose callers keep answers and values at the
// same time: each owner has its share, and the calls of one that has used it up are refused, with a
// wait that is true.
func TestOneOwnerDoesNotFillTheRedisOfAll(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		pre := prefix()
		size := 10_000
		server := func() mcp.MethodHandler {
			s := mcpredis.New(p.client, &mcpredis.Options{Prefix: pre, Timeout: 5 * time.Second})
			return state.New(&state.Options{Store: s, Owner: ownerOf, Limits: state.Limits{OwnerBytes: 100_000, PerOwner: 1000}})(
				replay.New(&replay.Options{Store: s, Owner: ownerOf, Keep: time.Hour, Limits: replay.Limits{OwnerBytes: 100_000, KeysPerOwner: 50}})(
					func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
						if strings.HasPrefix(replay.Key(ctx), "wrong") {
							return nil, fault.Invalid("amount", 10, "less")
						}
						if replay.Key(ctx) == "" {
							_, err := state.Create(ctx, strings.Repeat("x", size))
							return &mcp.CallToolResult{}, err
						}
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", size)}}}, nil
					}))
		}
		servers := []mcp.MethodHandler{server(), server()}
		for i := range 100 {
			f := failureOf(t, servers[i%2], keyed("alice", fmt.Sprint("wrong", i)))
			require.Equal(t, fault.KindValidation, f.Kind(), "a call that ran nothing counts for nothing")
		}
		var mu sync.Mutex
		kept := map[string]int{}
		var told *fault.Error
		var work sync.WaitGroup
		for i := range 4 {
			work.Go(func() {
				for j := range 8 {
					for _, owner := range []string{"alice", "bob"} {
						req := keyed(owner, fmt.Sprintf("%d-%d", i, j))
						what := "replay"
						if j%2 == 0 {
							what = "state"
							delete(req.Params.Meta, "io.modelcontextprotocol/idempotencyKey")
						}
						f := failureOf(t, servers[i%2], req)
						mu.Lock()
						if f == nil {
							kept[what+owner]++
						} else if told = f; f.Code() != "TOO_MANY_BYTES" {
							t.Errorf("told %v", f)
						}
						mu.Unlock()
					}
				}
			})
		}
		work.Wait()
		for what, n := range kept {
			// A call that begins needs room for its answer, not for those of others that run: where there is
			// room for one, each of the four may begin.
			require.InDelta(t, 9, n, 3, what)
		}
		require.Len(t, kept, 4)
		retry, _ := told.Retry()
		require.InDelta(t, time.Hour.Seconds(), retry.RetryAfterSeconds, 60)
		require.Nil(t, failureOf(t, servers[0], keyed("carol", "k")), "nobody else notices")

		if p.mini == nil {
			return
		}
		p.mini.Close()
		require.NoError(t, p.mini.Restart())
		require.Eventually(t, func() bool { return p.client.Ping(t.Context()).Err() == nil }, 10*time.Second, 10*time.Millisecond)
		require.Equal(t, "TOO_MANY_BYTES", failureOf(t, server(), keyed("alice", "more")).Code(), "it survives restarts")
		p.advance(time.Duration(retry.RetryAfterSeconds * float64(time.Second)))
		require.Nil(t, failureOf(t, servers[0], keyed("alice", "more")), "the wait is true")
	})
}

// TestAGroupLeavesNothingBehind: when its values have expired, Redis has no key of it.
func TestAGroupLeavesNothingBehind(t *testing.T) {
	p := embedded(t)
	s := mcpredis.New(p.client, &mcpredis.Options{Timeout: 5 * time.Second})
	bound := store.Within(t.Context(), store.Bound{Keys: 100})
	for i := range 10 {
		_, ok, err := s.Swap(bound, fmt.Sprint("ann|", i), 0, []byte("x"), time.Duration(i+1)*time.Minute)
		require.NoError(t, err)
		require.True(t, ok)
	}
	require.Len(t, p.mini.Keys(), 12)
	p.mini.FastForward(9 * time.Minute)
	require.Len(t, p.mini.Keys(), 3)
	for i := range 5 { // each write forgets two that have expired, long before there is no room
		_, _, err := s.Swap(bound, fmt.Sprint("ann|new", i), 0, []byte("x"), time.Minute)
		require.NoError(t, err)
	}
	n, err := p.client.ZCard(t.Context(), "mcpchain:b:{ann}").Result()
	require.NoError(t, err)
	require.EqualValues(t, 6, n)
	p.mini.FastForward(time.Minute)
	require.Empty(t, p.mini.Keys())
}

// TestAGroupOfWhichKeysWereLost: a value that another program deletes, or Redis loses, is counted
// until it would have expired. If the keys that hold the count are lost, the count is lost too.
func TestAGroupOfWhichKeysWereLost(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		pre := prefix()
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: pre, Timeout: 5 * time.Second})
		bound := store.Within(t.Context(), store.Bound{Keys: 2})
		put := func(key string) error {
			_, _, err := s.Swap(bound, key, 0, []byte("x"), time.Hour)
			return err
		}
		require.NoError(t, put("ann|1"))
		require.NoError(t, put("ann|2"))
		require.NoError(t, p.client.Del(t.Context(), pre+"g:{ann}|1").Err())
		require.ErrorIs(t, put("ann|3"), store.ErrManyKeys)
		require.ErrorIs(t, put("ann|1"), store.ErrManyKeys)
		bytes := store.Within(t.Context(), store.Bound{Bytes: 3 * (store.Overhead + 10)})
		for range 10 { // it is not counted twice
			_, _, err := s.Swap(bytes, "ann|2", 0, []byte("x"), time.Hour)
			require.NoError(t, err)
			require.NoError(t, p.client.Del(t.Context(), pre+"g:{ann}|2").Err())
		}
		_, ok, err := s.Swap(bytes, "ann|2", 0, []byte("x"), time.Hour)
		require.NoError(t, err)
		require.True(t, ok)
		for _, key := range []string{"b:{ann}:sum", "b:{ann}"} {
			require.NoError(t, p.client.Del(t.Context(), pre+key).Err())
			require.NoError(t, put("ann|3"+key))
			require.NoError(t, put("ann|4"+key))
			require.ErrorIs(t, put("ann|5"+key), store.ErrManyKeys)
		}
		ok, err = s.Delete(t.Context(), "ann|2", 0)
		require.NoError(t, err)
		require.True(t, ok)
		require.ErrorIs(t, put("ann|5"), store.ErrManyKeys, "it was no longer counted")
	})
}
