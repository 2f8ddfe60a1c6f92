package redis

import (
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// names returns the keys in Redis for keys of the store, which are in one group, or for a single
// key without a group: the keys of their values, followed by the two keys of the group. All have
// one hash tag, so they are in one slot of a cluster.
func (s *Store) names(keys ...string) []string {
	names := make([]string, 0, len(keys)+2)
	for _, key := range keys {
		names = append(names, s.key(key))
	}
	if group := store.GroupOf(keys[0]); group != "" {
		tag := s.opts.Prefix + "b:{" + group + "}"
		names = append(names, tag, tag+":sum")
	}
	return names
}

// key returns the key in Redis. Its hash tag is the group of the key, or the whole key if
// it has none.
func (s *Store) key(key string) string {
	if group := store.GroupOf(key); group != "" {
		return s.opts.Prefix + "g:{" + group + "}" + key[len(group):]
	}
	return s.opts.Prefix + "v:{" + key + "}"
}

// groupScript begins the scripts that write. The key "of" has what counts towards the bound of a
// group, as a sorted set of NAME:SIZE by the time at which the value expires; the key "sum" has the
// sum of the sizes. Times are those of a clock that begins with the group and runs by the expiry of
// "sum", so that values and their counts expire together, whatever the clock of Redis does.
//
// leave stops counting the value of a key, and join counts one that is written now. room returns
// nothing if there is room for a value, or else what there is too much of, and the time until
// there is room, in ms, zero if unknown.
const groupScript = `
local of, sum
local function whole(number)
	return string.format('%.0f', number)
end
local function member(name, size)
	return name .. ':' .. whole(size)
end
local function sizeof(member)
	return tonumber(string.match(member, ':(%d+)$'))
end
local function count(size)
	redis.call('HINCRBY', sum, 'bytes', whole(size))
end
local function now()
	local left = redis.call('PTTL', sum)
	if left <= 0 then
		redis.call('DEL', of, sum)
		return 0
	end
	local set = redis.call('HMGET', sum, 'at', 'ttl')
	return set[1] + set[2] - left
end
local function counted(key, name, base)
	local there = redis.call('STRLEN', key)
	local size = base + there - 8
	if there > 0 and redis.call('ZSCORE', of, member(name, size)) then
		return size
	end
end
local function leave(key, name, base)
	local size = counted(key, name, base)
	if size then
		redis.call('ZREM', of, member(name, size))
		count(-size)
	end
end
local function drop(time, most)
	local gone = redis.call('ZRANGEBYSCORE', of, '-inf', whole(time), 'LIMIT', 0, most)
	for _, old in ipairs(gone) do
		redis.call('ZREM', of, old)
		count(-sizeof(old))
	end
	return #gone
end
local function wait(time, keys, bytes)
	local next = redis.call('ZRANGE', of, 0, 999, 'WITHSCORES')
	local ends = time
	for i = 1, #next, 2 do
		keys, bytes, ends = keys - 1, bytes - sizeof(next[i]), tonumber(next[i + 1])
		if keys <= 0 and bytes <= 0 then
			return ends - time
		end
	end
	if #next < 2000 then
		return 0
	end
	return ends - time
end
local function room(key, name, base, size, mostKeys, mostBytes)
	local time = now()
	drop(time, 2)
	local had = counted(key, name, base)
	if had and size <= had then
		return nil
	end
	while true do
		local keys = redis.call('ZCARD', of) + 1 - mostKeys
		local bytes = tonumber(redis.call('HGET', sum, 'bytes') or 0) + size - (had or 0) - mostBytes
		local reply
		if mostKeys > 0 and not had and keys > 0 then
			reply = {'keys', whole(wait(time, keys, 0))}
		elseif mostBytes > 0 and bytes > 0 then
			reply = {'bytes', whole(wait(time, 0, bytes))}
		else
			return nil
		end
		if drop(time, 1) == 0 then
			return reply
		end
	end
end
local function join(name, size, ttl)
	local time = now()
	local left = redis.call('PTTL', sum)
	if redis.call('ZADD', of, whole(time + ttl), member(name, size)) == 1 then
		count(size)
	end
	if ttl >= left then
		redis.call('HSET', sum, 'at', whole(time), 'ttl', whole(ttl))
		left = ttl
	end
	redis.call('PEXPIRE', of, whole(left))
	redis.call('PEXPIRE', sum, whole(left))
end
`

// member returns how the scripts count a key: its name in its group, and the bytes that it takes
// in addition to its value.
func member(key string) (name string, base int) {
	return key[len(store.GroupOf(key)):], store.Overhead + len(key)
}

// roomError returns the error for a reply of room.
func (s server) roomError(operation string, reply []any) error {
	if len(reply) != 2 {
		return s.foreign(operation, fmt.Errorf("a script returned %d values", len(reply)))
	}
	wait, err := s.number(operation, reply[1])
	if err != nil {
		return err
	}
	full := &store.RoomError{Reason: store.ErrManyBytes, After: time.Duration(wait) * time.Millisecond}
	if reply[0] == "keys" {
		full.Reason = store.ErrManyKeys
	}
	return full
}
