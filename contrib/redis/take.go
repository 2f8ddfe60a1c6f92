package redis

import (
	"context"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// takeScript is the generic cell rate algorithm for several buckets at once. Each key holds
// the time, in µs by the clock of Redis, at which its bucket will be full again. If all
// buckets have enough tokens, it takes them and returns '0'. Else it changes nothing and
// returns the longest wait, in µs, and the number of its bucket.
//
// Keys: the buckets. Arguments, for each: tokens, time for each token in µs, size of the
// bucket.
var takeScript = newScript(`
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local full, longest, of = {}, 0, 0
for i, key in ipairs(KEYS) do
	local each = tonumber(ARGV[3 * i - 1])
	local cost, size = tonumber(ARGV[3 * i - 2]) * each, tonumber(ARGV[3 * i]) * each
	local at = full[key] or tonumber(redis.call('GET', key) or now)
	at = math.min(math.max(at, now), now + size)
	local wait = at + cost - size - now
	if wait > longest then
		longest, of = wait, i
	end
	full[key] = at + cost
end
if of > 0 then
	return string.format('%.0f %d', longest, of)
end
for key, at in pairs(full) do
	local left = math.ceil((at - now) / 1000)
	if left > 0 then
		redis.call('SET', key, string.format('%.0f', at), 'PX', string.format('%.0f', left))
	end
end
return '0'`)

// Take takes tokens from all the given buckets or from none, in one step and one round
// trip, by the clock of Redis. It returns zero if they were taken, else the longest time
// after which a bucket has enough, and which one that is, as an index. More than Burst
// tokens can never be taken: then the error is [store.ErrRange].
//
// So that one step can take from all of them, the buckets of a prefix are on one node of
// a cluster.
func (s *Store) Take(ctx context.Context, tokens ...store.Tokens) (wait time.Duration, of int, err error) {
	if len(tokens) == 0 {
		return 0, 0, nil
	}
	keys, args := make([]string, 0, len(tokens)), make([]any, 0, 3*len(tokens))
	for _, t := range tokens {
		if t.N < 0 || t.N > t.Burst || t.Interval <= 0 {
			return 0, 0, store.ErrRange
		}
		keys = append(keys, s.opts.Prefix+"{tokens}:"+t.Key)
		args = append(args, t.N, max(1, t.Interval.Microseconds()), t.Burst)
	}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	reply, err := takeScript.run(limited, s.client, keys, args...)
	if err != nil {
		return 0, 0, s.server.failed(ctx, "take", err)
	}
	text, _ := reply.(string)
	long, which, short := strings.Cut(text, " ")
	micros, err := s.server.number("take", long)
	if err != nil || !short {
		return 0, 0, err
	}
	n, err := s.server.number("take", which)
	return time.Duration(micros) * time.Microsecond, int(n) - 1, err
}
