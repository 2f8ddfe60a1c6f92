// Package redis keeps what mcpchain's packages remember in Redis, Valkey or another server
// that speaks their protocol, so that several servers share it. Import it as mcpredis.
//
//	client := goredis.NewClient(&goredis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
//	shared := mcpredis.New(client, nil)
//	server.AddReceivingMiddleware(replay.New(&replay.Options{Store: shared}))
//
// [New] returns a [store.Store] that also counts tokens ([Store.Take]), and
// [NewEventStore] lets clients of 2025-11-25 resume their streams. All of them work
// with a single server, with Sentinel and with Redis Cluster.
package redis

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpchain/mcpchain/store"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Prefix begins every key, so that others can use the same Redis. Empty means
	// "mcpchain:".
	Prefix string

	// Timeout limits each call of a method, repetitions included. Zero means 500 ms.
	Timeout time.Duration

	// MaxValue is the size of the largest value, in bytes. Zero means 1 MiB.
	MaxValue int
}

// A Store is a [store.Store] in Redis. All methods may be called concurrently.
//
// Its errors are *fault.Errors. Their public text says that a store is down and when to try
// again, but nothing about Redis; their cause is the error of go-redis.
type Store struct {
	client goredis.UniversalClient
	server server
	opts   Options
}

// New returns a store on client, which the caller closes. opts may be nil. The client must
// have ContextTimeoutEnabled set, since otherwise nothing limits how long a call takes, and
// must not read from replicas, which may lag.
func New(client goredis.UniversalClient, opts *Options) *Store {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Timeout < 0 {
		panic("redis.New: Options.Timeout is negative; give a limit, or zero for the default")
	}
	if o.MaxValue < 0 {
		panic("redis.New: Options.MaxValue is negative; give a limit, or zero for the default")
	}
	checkClient("redis.New", client)
	if o.Prefix == "" {
		o.Prefix = "mcpchain:"
	}
	if o.Timeout == 0 {
		o.Timeout = 500 * time.Millisecond
	}
	if o.MaxValue == 0 {
		o.MaxValue = 1 << 20
	}
	return &Store{client: client, server: serverOf(client), opts: o}
}

// checkClient panics if the options of a client cannot work.
func checkClient(who string, client goredis.UniversalClient) {
	limited, replicas := true, false
	switch c := client.(type) {
	case nil:
		panic(who + ": client is nil; give a client of go-redis")
	case *goredis.Client:
		limited = c.Options().ContextTimeoutEnabled
	case *goredis.ClusterClient:
		o := c.Options()
		limited, replicas = o.ContextTimeoutEnabled, o.ReadOnly || o.RouteByLatency || o.RouteRandomly
	case *goredis.Ring:
		limited = c.Options().ContextTimeoutEnabled
	}
	if !limited {
		panic(who + ": the client ignores the deadlines of contexts; set ContextTimeoutEnabled in its options")
	}
	if replicas {
		panic(who + ": the client reads from replicas, which are behind; clear ReadOnly, RouteByLatency and RouteRandomly in its options")
	}
}

// In Redis, a value follows the eight bytes of its version.
const versionSize = 8

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Item, error) {
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	data, err := s.client.Get(limited, s.key(key)).Bytes()
	switch {
	case errors.Is(err, goredis.Nil):
		return store.Item{}, nil
	case err != nil:
		return store.Item{}, s.server.failed(ctx, "get", err)
	}
	return s.server.item("get", data)
}

// Swap implements [store.Store]. If its answer is lost, it tries again: the new version,
// which only this call uses, shows whether the first try took effect.
func (s *Store) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if ttl <= 0 && (ttl != store.KeepTTL || old == 0) {
		return store.Item{}, false, store.ErrTTL
	}
	_, bound := store.BoundOf(ctx, key)
	return one(s.do(ctx, "swap", []store.Op{{Key: key, Old: old, Value: value, TTL: ttl, Bound: bound}}))
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	_, ok, err := one(s.do(ctx, "delete", []store.Op{{Key: key, Old: old}}))
	return ok, err
}

func one(done []store.Done, err error) (store.Item, bool, error) {
	if err != nil {
		return store.Item{}, false, err
	}
	return done[0].Item, done[0].OK, nil
}

// addScript adds to the number that follows a version. Lua's numbers are exact to 2^53, and
// no step leaves that range. It returns the sum, 'number' or 'range'.
//
// Keys: the counter, and those of its group. Arguments: delta, version, ttl in ms, the largest
// number; name and base in the group.
var addScript = newScript(groupScript + `
local there = redis.call('GET', KEYS[1])
local have = 0
if there and #there > 8 then
	local text = string.sub(there, 9)
	have = (#text <= 17) and string.match(text, '^%-?%d+$') and tonumber(text)
	if have and (whole(have) ~= text or text == '-0') then have = nil end
end
local delta, most = tonumber(ARGV[1]), tonumber(ARGV[4])
if not have or have > most or have < -most then
	return 'number'
end
if (have > 0 and delta > most - have) or (have < 0 and delta < -most - have) then
	return 'range'
end
local total = whole(have + delta)
if total == '-0' then
	total = '0'
end
if KEYS[2] then
	of, sum = KEYS[2], KEYS[3]
	leave(KEYS[1], ARGV[5], tonumber(ARGV[6]))
end
if there then
	redis.call('SET', KEYS[1], ARGV[2] .. total, 'KEEPTTL')
else
	redis.call('SET', KEYS[1], ARGV[2] .. total, 'PX', ARGV[3])
end
return total`)

// Add implements [store.Store]. It is never tried again: a counter does not show whether
// the first try took effect.
func (s *Store) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	if ttl <= 0 {
		return 0, store.ErrTTL
	}
	if len(key) > store.MaxKey {
		return 0, store.ErrTooLarge
	}
	if delta > store.MaxCount || delta < -store.MaxCount {
		return 0, store.ErrRange
	}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	name, base := member(key)
	reply, err := addScript.run(limited, s.client, s.names(key), delta, pack(newVersion()), milliseconds(ttl), int64(store.MaxCount), name, base)
	if err != nil {
		return 0, s.server.failed(ctx, "add", err)
	}
	switch reply {
	case "number":
		return 0, store.ErrNotCounter
	case "range":
		return 0, store.ErrRange
	}
	return s.server.number("add", reply)
}

// newVersion returns a version that was not used before: 64 random bits.
func newVersion() store.Version {
	for {
		var b [versionSize]byte
		_, _ = rand.Read(b[:]) // it never fails
		if v := store.Version(binary.BigEndian.Uint64(b[:])); v != 0 {
			return v
		}
	}
}

func pack(v store.Version) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(v)))
}

// milliseconds rounds up, since a value may be kept longer and never shorter.
func milliseconds(d time.Duration) int64 {
	return int64(math.Ceil(float64(d) / float64(time.Millisecond)))
}
