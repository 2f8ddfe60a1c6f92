package redis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/store/storetest"
)

// A place is a Redis of some kind that tests run on.
type place struct {
	client  goredis.UniversalClient
	advance func(time.Duration) // nil: time passes by itself
	mini    *miniredis.Miniredis
}

// prefix returns one that no other test has.
func prefix() string { return fmt.Sprintf("test-%x:", rand.Uint64()) }

func embedded(tb testing.TB) place {
	tb.Helper()
	mini := miniredis.RunT(tb)
	return place{client: single(tb, mini.Addr()), advance: mini.FastForward, mini: mini}
}

func single(tb testing.TB, addr string) *goredis.Client {
	tb.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// everywhere runs a test on the embedded Redis, on the one at REDIS_ADDR and on the
// cluster at REDIS_CLUSTER_ADDRS, where these are set.
func everywhere(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, embedded(t)) })
	t.Run("server", func(t *testing.T) {
		addr := os.Getenv("REDIS_ADDR")
		if addr == "" {
			t.Skip("REDIS_ADDR is not set")
		}
		test(t, place{client: single(t, addr)})
	})
	t.Run("cluster", func(t *testing.T) {
		addrs := os.Getenv("REDIS_CLUSTER_ADDRS")
		if addrs == "" {
			t.Skip("REDIS_CLUSTER_ADDRS is not set")
		}
		client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: strings.Split(addrs, ","), ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		test(t, place{client: client})
	})
}

func (p place) config() storetest.Config {
	return storetest.Config{
		New: func(testing.TB) store.Store {
			return mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		},
		Advance: p.advance,
	}
}

func TestStore(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) { storetest.Run(t, p.config()) })
}

// TestStoreAgainstAMap runs random programs against the store and a simple map.
func TestStoreAgainstAMap(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		config := p.config()
		seed := rand.Uint64()
		t.Log("seed", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for range 30 {
			program := make([]byte, 3*100)
			for i := range program {
				program[i] = byte(random.Uint32())
			}
			storetest.Model(t, config, program)
		}
	})
}

func TestPrefixesKeepApart(t *testing.T) {
	p := embedded(t)
	a, b := mcpredis.New(p.client, &mcpredis.Options{Prefix: "a:", Timeout: 5 * time.Second}), mcpredis.New(p.client, &mcpredis.Options{Timeout: 5 * time.Second})
	_, ok, err := a.Swap(t.Context(), "k", 0, []byte("a"), time.Hour)
	require.NoError(t, err)
	require.True(t, ok)
	item, err := b.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Zero(t, item)
	_, _, err = b.Swap(t.Context(), "k", 0, []byte("b"), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"a:v:{k}", "mcpchain:v:{k}"}, p.mini.Keys())
	require.Equal(t, time.Hour, p.mini.TTL("a:v:{k}"))
}

func TestTake(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		take := func(n int) time.Duration {
			wait, _, err := s.Take(t.Context(), bucket("k", n, 5, time.Minute))
			require.NoError(t, err)
			return wait
		}
		near := func(want, got time.Duration) {
			t.Helper()
			require.LessOrEqual(t, got, want)
			require.Greater(t, got, want-10*time.Second)
		}
		require.Zero(t, take(2))
		require.Zero(t, take(3))
		near(time.Minute, take(1))
		near(5*time.Minute, take(5))
		near(time.Minute, take(1))
		require.Zero(t, take(0))
		wait, _, err := s.Take(t.Context())
		require.NoError(t, err)
		require.Zero(t, wait)

		for _, wrong := range []store.Tokens{bucket("k", 6, 5, time.Second), bucket("k", -1, 5, time.Second), bucket("k", 1, 5, 0), bucket("k", 1, 5, -1)} {
			_, _, err := s.Take(t.Context(), bucket("other", 1, 5, time.Hour), wrong)
			require.ErrorIs(t, err, store.ErrRange)
		}
		wait, _, err = s.Take(t.Context(), bucket("other", 5, 5, time.Hour))
		require.NoError(t, err)
		require.Zero(t, wait, "nothing was taken of it")
	})
}

func bucket(key string, n, burst int, interval time.Duration) store.Tokens {
	return store.Tokens{Key: key, N: n, Burst: burst, Interval: interval}
}

// TestTakeOfSeveral takes of all buckets or of none, in one round trip.
func TestTakeOfSeveral(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		trips := new(counting)
		p.client.AddHook(trips)
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 5 * time.Second})
		a, b, c := bucket("a", 1, 10, time.Hour), bucket("b", 2, 3, time.Minute), bucket("c", 1, 2, time.Hour)
		all := func() (time.Duration, int) {
			wait, of, err := s.Take(t.Context(), a, b, c)
			require.NoError(t, err)
			return wait, of
		}
		wait, _ := all() // the first sends the script
		require.Zero(t, wait)
		trips.take()
		for range 20 {
			wait, of := all()
			require.Equal(t, 1, of, "a and c have enough")
			require.LessOrEqual(t, wait, time.Minute)
			require.Greater(t, wait, 50*time.Second)
		}
		require.Equal(t, 20, trips.take())
		for range 9 {
			wait, _, err := s.Take(t.Context(), a)
			require.NoError(t, err)
			require.Zero(t, wait, "nothing was taken of it meanwhile")
		}
		wait, of, err := s.Take(t.Context(), b, c, a)
		require.NoError(t, err)
		require.Equal(t, 2, of, "the longest wait")
		require.Greater(t, wait, 50*time.Minute)
		wait, _, err = s.Take(t.Context(), c, bucket("c", 1, 2, time.Hour))
		require.NoError(t, err)
		require.Greater(t, wait, 50*time.Minute, "one is left, and two are wanted of the same")
		wait, _, err = s.Take(t.Context(), c)
		require.NoError(t, err)
		require.Zero(t, wait)
	})
}

// TestTakeAtOnce: of many who take of two buckets at the same time, as many get their tokens
// as the smaller one has, and the other one loses no more.
func TestTakeAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.New(p.client, &mcpredis.Options{Prefix: prefix(), Timeout: 30 * time.Second})
		var taken atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10 {
					wait, _, err := s.Take(context.Background(), bucket("large", 1, 100, time.Hour), bucket("small", 1, 30, time.Hour))
					if err == nil && wait == 0 {
						taken.Add(1)
					}
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 30, taken.Load())
		wait, _, err := s.Take(t.Context(), bucket("large", 70, 100, time.Hour))
		require.NoError(t, err)
		require.Zero(t, wait)
	})
}

func TestTakeRefills(t *testing.T) {
	p := embedded(t)
	s := mcpredis.New(p.client, &mcpredis.Options{Timeout: 5 * time.Second})
	now := time.Now()
	take := func(after time.Duration) time.Duration {
		p.mini.SetTime(now.Add(after))
		wait, _, err := s.Take(t.Context(), bucket("k", 1, 3, time.Minute))
		require.NoError(t, err)
		return wait
	}
	for range 3 {
		require.Zero(t, take(0))
	}
	require.Equal(t, time.Minute, take(0))
	require.Equal(t, time.Second, take(59*time.Second))
	require.Zero(t, take(time.Minute), "who waits as told is not refused")
	require.Positive(t, take(time.Minute))
}

// TestTakeAfterTheClockJumped proves that a clock that goes back, as after a
// failover, refuses for no longer than the bucket is deep.
func TestTakeAfterTheClockJumped(t *testing.T) {
	p := embedded(t)
	s := mcpredis.New(p.client, &mcpredis.Options{Timeout: 5 * time.Second})
	now := time.Now()
	p.mini.SetTime(now.Add(24 * time.Hour))
	for range 3 {
		wait, _, err := s.Take(t.Context(), bucket("k", 1, 3, time.Second))
		require.NoError(t, err)
		require.Zero(t, wait)
	}
	p.mini.SetTime(now)
	wait, _, err := s.Take(t.Context(), bucket("k", 1, 3, time.Second))
	require.NoError(t, err)
	require.Equal(t, time.Second, wait)
}

func TestProgrammersErrors(t *testing.T) {
	p := embedded(t)
	for _, c := range []struct {
		want string
		make func()
	}{
		{"redis.New: client is nil; give a client of go-redis", func() { mcpredis.New(nil, nil) }},
		{"redis.New: Options.Timeout is negative; give a limit, or zero for the default", func() { mcpredis.New(p.client, &mcpredis.Options{Timeout: -1}) }},
		{"redis.New: Options.MaxValue is negative; give a limit, or zero for the default", func() { mcpredis.New(p.client, &mcpredis.Options{MaxValue: -1}) }},
		{
			"redis.New: the client ignores the deadlines of contexts; set ContextTimeoutEnabled in its options",
			func() { mcpredis.New(goredis.NewClient(&goredis.Options{Addr: p.mini.Addr()}), nil) },
		},
		{
			"redis.New: the client reads from replicas, which are behind; clear ReadOnly, RouteByLatency and RouteRandomly in its options",
			func() {
				mcpredis.New(goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{p.mini.Addr()}, ContextTimeoutEnabled: true, ReadOnly: true}), nil)
			},
		},
	} {
		require.PanicsWithValue(t, c.want, c.make)
	}
}
