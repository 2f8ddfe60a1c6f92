package redis

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// takeScript is the generic cell rate algorithm: under the key stands the time, in
// µs by the clock of Redis, at which the bucket will be full again. It returns how
// long to wait, in µs, zero if the tokens were taken.
//
// Keys: the bucket. Arguments: tokens, time for each token in µs, size of the bucket.
var takeScript = newScript(`
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local cost, size = tonumber(ARGV[1]) * tonumber(ARGV[2]), tonumber(ARGV[3]) * tonumber(ARGV[2])
local full = tonumber(redis.call('GET', KEYS[1]) or now)
full = math.min(math.max(full, now), now + size)
local wait = full + cost - size - now
if wait > 0 then
	return string.format('%.0f', wait)
end
local left = math.ceil((full + cost - now) / 1000)
if left > 0 then
	redis.call('SET', KEYS[1], string.format('%.0f', full + cost), 'PX', string.format('%.0f', left))
end
return '0'`)

// Take takes n tokens from the bucket of key, which holds burst tokens and gets one
// more every interval. It returns zero if they were taken, else the time after
// which they can be; then nothing was taken. One step, one round trip, by the clock of
// Redis. More than burst tokens can never be taken: then the error is
// [store.ErrRange].
//
// Callers for whom a bucket is shared give the same interval and burst.
func (s *Store) Take(ctx context.Context, key string, n, burst int, interval time.Duration) (wait time.Duration, err error) {
	if n < 0 || n > burst || interval <= 0 {
		return 0, store.ErrRange
	}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	each := max(1, interval.Microseconds())
	reply, err := takeScript.run(limited, s.client, []string{s.opts.Prefix + "t:{" + key + "}"}, n, each, burst)
	if err != nil {
		return 0, s.server.failed(ctx, "take", err)
	}
	micros, err := s.server.number("take", reply)
	return time.Duration(micros) * time.Microsecond, err
}
