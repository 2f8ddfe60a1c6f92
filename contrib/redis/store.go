// Package redis keeps what mcpchain's packages remember in Redis, Valkey or
// whatever speaks their protocol, so that several servers know it. Import it as
// mcpredis.
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
	"cmp"
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
// Its errors are *fault.Errors: their public text says that something is down and
// when to try again, and nothing of Redis; their cause is what go-redis said.
type Store struct {
	client goredis.UniversalClient
	server server
	opts   Options
}

// New returns a store on client, which stays the caller's to close. opts may be
// nil. The client must have ContextTimeoutEnabled set, since otherwise nothing limits
// how long a call takes, and must not read from replicas, which are behind.
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

// checkClient panics where a client's options cannot work.
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

// A value stands in Redis behind the eight bytes of its version.
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

// swapScript stores a value if the version that stands there is the old one, or the
// new one: then the answer to the first try was lost. It returns 1, or what is in the
// way.
//
// Keys: the value, and those of its group. Arguments: old version (empty: absent), new version,
// value, ttl in ms; then those of the group: name, base, and the bound's keys and bytes.
var swapScript = newScript(groupScript + `
local there = redis.call('GETRANGE', KEYS[1], 0, 7)
if there == ARGV[1] then
	if KEYS[2] then
		local name, base, keys, bytes = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
		local size, bound = base + #ARGV[3], keys > 0 or bytes > 0
		local full = bound and room(name, base, size, keys, bytes)
		if full then
			return full
		end
		leave(name, base)
		if bound then
			join(name, size, tonumber(ARGV[4]))
		end
	end
	redis.call('SET', KEYS[1], ARGV[2] .. ARGV[3], 'PX', ARGV[4])
	return 1
end
if there == ARGV[2] then
	return 1
end
return redis.call('GET', KEYS[1])`)

// Swap implements [store.Store]. When its answer is lost, it asks again: the new
// version, which nobody else can make, tells whether the first try took effect.
func (s *Store) Swap(ctx context.Context, key string, old store.Version, value []byte, ttl time.Duration) (store.Item, bool, error) {
	if ttl <= 0 {
		return store.Item{}, false, store.ErrTTL
	}
	if len(key) > store.MaxKey || len(value) > s.opts.MaxValue {
		return store.Item{}, false, store.ErrTooLarge
	}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	next := newVersion()
	item := store.Item{Value: append([]byte(nil), value...), Version: next}
	before := ""
	if old != 0 {
		before = pack(old)
	}
	args := []any{before, pack(next), item.Value, milliseconds(ttl)}
	group, bound := store.BoundOf(ctx, key)
	if group != "" {
		name, base := member(key)
		if bound.Bytes > 0 && base+len(value) > bound.Bytes {
			return store.Item{}, false, store.ErrTooLarge
		}
		args = append(args, name, base, max(0, bound.Keys), max(0, bound.Bytes))
	}
	var lost error // that of a try that may have taken effect
	for try := 0; ; try++ {
		args[0] = before
		reply, err := swapScript.run(limited, s.client, s.names(key), args...)
		full, refused := reply.([]any)
		switch {
		case err == nil && reply == int64(1):
			return item, true, nil
		case err == nil && refused && lost == nil:
			return store.Item{}, false, s.server.roomError("swap", full)
		case err == nil || errors.Is(err, goredis.Nil):
			if lost != nil { // it was overwritten since, or never took effect
				return store.Item{}, false, s.server.failed(ctx, "swap", lost)
			}
			there, err := s.server.itemOf("swap", reply)
			return there, false, err
		}
		if !tookNoEffect(err) {
			lost = err
			if old == 0 {
				before = pack(next) // only ask: the first try may still come, and must not find the key absent twice
			}
		}
		if try == 2 || !worthRepeating(err) || !pause(limited, try) {
			return store.Item{}, false, s.server.failed(ctx, "swap", cmp.Or(lost, err))
		}
	}
}

// pause waits a little before the next try.
func pause(ctx context.Context, try int) bool {
	timer := time.NewTimer(10 * time.Millisecond << try)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// deleteScript removes a key if its version is the given one (empty: any).
//
// Keys: the value, and those of its group. Arguments: version; name and base in the group.
var deleteScript = newScript(groupScript + `
if ARGV[1] ~= '' and redis.call('GETRANGE', KEYS[1], 0, 7) ~= ARGV[1] then
	return 0
end
if KEYS[2] then
	leave(ARGV[2], tonumber(ARGV[3]))
end
return redis.call('DEL', KEYS[1])`)

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key string, old store.Version) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	before := ""
	if old != 0 {
		before = pack(old)
	}
	name, base := member(key)
	reply, err := deleteScript.run(limited, s.client, s.names(key), before, name, base)
	if err != nil {
		return false, s.server.failed(ctx, "delete", err)
	}
	return reply == int64(1), nil
}

// addScript adds to a number behind a version. Lua's numbers are exact to 2^53, and
// no step leaves that range. It returns the sum, 'number' or 'range'.
//
// Keys: the counter, and those of its group. Arguments: delta, version, ttl in ms, the largest
// number; name and base in the group.
//
//nolint:dupword // two blocks of Lua end
var addScript = newScript(groupScript + `
local there = redis.call('GET', KEYS[1])
local have = 0
if there and #there > 8 then
	local text = string.sub(there, 9)
	have = (#text <= 17) and string.match(text, '^%-?%d+$') and tonumber(text)
	if have and (string.format('%.0f', have) ~= text or text == '-0') then have = nil end
end
local delta, most = tonumber(ARGV[1]), tonumber(ARGV[4])
if not have or have > most or have < -most then
	return 'number'
end
if (have > 0 and delta > most - have) or (have < 0 and delta < -most - have) then
	return 'range'
end
local sum = string.format('%.0f', have + delta)
if sum == '-0' then
	sum = '0'
end
if KEYS[2] then
	leave(ARGV[5], tonumber(ARGV[6]))
end
if there then
	redis.call('SET', KEYS[1], ARGV[2] .. sum, 'KEEPTTL')
else
	redis.call('SET', KEYS[1], ARGV[2] .. sum, 'PX', ARGV[3])
end
return sum`)

// Add implements [store.Store]. It is never repeated: a counter cannot tell whether
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

// newVersion returns a number that was never used: 64 random bits.
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
