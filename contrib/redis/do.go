package redis

import (
	"context"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/store"
)

// doScript makes operations in order. Its reply has one entry for each: 1 if it was ok, -1 if it
// was left out, 0 for a Delete that removed nothing, the current value if that refused a Swap, or
// the reply of room, which ends the script.
//
// A Swap stores a value if the version that stands there is the old one, or the new one: then the
// answer to an earlier try was lost.
//
// Keys: the values, and those of their group. Arguments: how many operations, and for each of them
// delete (1 or empty), anyway (the same), old version (empty: absent, or any for a Delete), new
// version, value, ttl in ms (-1: that of the value that stands there), its name and base in the group, and the bound's keys and bytes.
var doScript = newScript(groupScript + `
local ops = tonumber(ARGV[1])
of, sum = KEYS[ops + 1], KEYS[ops + 2]
local replies, going = {}, true
for i = 1, ops do
	local key, a = KEYS[i], 10 * i - 8
	local old, new, value, ttl, name, base = ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6], tonumber(ARGV[a + 7])
	local there = redis.call('GETRANGE', key, 0, 7)
	if not going and ARGV[a + 1] == '' then
		replies[i] = -1
	elseif ARGV[a] ~= '' then
		replies[i] = 0
		if old == '' or there == old then
			if of then
				leave(key, name, base)
			end
			replies[i] = redis.call('DEL', key)
		end
	elseif there == old then
		if ttl == '-1' then
			ttl = math.max(1, redis.call('PTTL', key))
		end
		if of then
			local keys, bytes = tonumber(ARGV[a + 8]), tonumber(ARGV[a + 9])
			local size, bound = base + #value, keys > 0 or bytes > 0
			local full = bound and room(key, name, base, size, keys, bytes)
			if full then
				replies[i] = full
				return replies
			end
			leave(key, name, base)
			if bound then
				join(name, size, tonumber(ttl))
			end
		end
		redis.call('SET', key, new .. value, 'PX', ttl)
		replies[i] = 1
	elseif there == new then
		replies[i] = 1
	else
		replies[i] = redis.call('GET', key)
	end
	going = replies[i] == 1
end
return replies`)

// Do implements [store.Doer] for keys of one group. It is one round trip.
func (s *Store) Do(ctx context.Context, ops ...store.Op) ([]store.Done, error) {
	for _, op := range ops {
		if group := store.GroupOf(op.Key); group == "" || group != store.GroupOf(ops[0].Key) {
			return nil, errors.ErrUnsupported
		}
	}
	if len(ops) == 0 {
		return nil, nil
	}
	return s.do(ctx, "do", ops)
}

// do makes operations in one script. If its answer is lost, and no operation removes anything,
// it tries again: the new versions, which only this call uses, show whether the first try took
// effect.
func (s *Store) do(ctx context.Context, operation string, ops []store.Op) ([]store.Done, error) {
	args := make([]any, 1, 1+10*len(ops))
	args[0] = len(ops)
	keys := make([]string, len(ops))
	done := make([]store.Done, len(ops))
	again := true
	for i, op := range ops {
		name, base := member(op.Key)
		ttl := milliseconds(op.TTL)
		switch {
		case op.TTL == store.KeepTTL && op.Old != 0:
			ttl = -1
		case op.TTL < 0:
			return nil, errors.ErrUnsupported // which Swap tells
		}
		if len(op.Key) > store.MaxKey || len(op.Value) > s.opts.MaxValue || op.Bound.Bytes > 0 && base+len(op.Value) > op.Bound.Bytes {
			if i == 0 {
				return nil, store.ErrTooLarge
			}
			return nil, errors.ErrUnsupported // what stands before it is made
		}
		old, remove, anyway := "", "", ""
		if op.Old != 0 {
			old = pack(op.Old)
		}
		if op.Anyway {
			anyway = "1"
		}
		if op.TTL == 0 {
			remove, again = "1", false
		}
		keys[i] = op.Key
		done[i].Item = store.Item{Value: append([]byte(nil), op.Value...), Version: newVersion()}
		args = append(args, remove, anyway, old, pack(done[i].Item.Version), done[i].Item.Value, ttl, name, base, max(0, op.Bound.Keys), max(0, op.Bound.Bytes))
	}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	names := s.names(keys...)
	var lost error // that of a try that may have taken effect
	for try := 0; ; try++ {
		reply, err := doScript.run(limited, s.client, names, args...)
		if err == nil {
			return s.done(ctx, operation, ops, done, reply, lost)
		}
		if !tookNoEffect(err) {
			lost = err
			for i, op := range ops {
				if op.Old == 0 {
					args[10*i+3] = pack(done[i].Item.Version) // only ask: the first try may still come, and must not find the key absent twice
				}
			}
		}
		if !again || try == 2 || !worthRepeating(err) || !pause(limited, try) {
			if lost != nil {
				err = lost
			}
			return nil, s.server.failed(ctx, operation, err)
		}
	}
}

// done reads the reply of doScript. If an earlier answer was lost, an operation that is not ok
// was either overwritten since, or never took effect.
func (s *Store) done(ctx context.Context, operation string, ops []store.Op, done []store.Done, reply any, lost error) ([]store.Done, error) {
	replies, ok := reply.([]any)
	if !ok || len(replies) > len(ops) {
		return nil, s.server.foreign(operation, errors.New("a script returned something else"))
	}
	for i, op := range ops {
		var one any // nil at the end of a reply is left out of it
		if i < len(replies) {
			one = replies[i]
		}
		if done[i].OK = one == int64(1); done[i].OK && op.TTL != 0 {
			continue
		}
		done[i].Item = store.Item{}
		switch one := one.(type) {
		case int64:
			continue // a Delete, or left out
		case []any:
			if lost == nil {
				return done[:i], s.server.roomError(operation, one)
			}
		default:
			if lost == nil {
				there, err := s.server.itemOf(operation, one)
				if err != nil {
					return done[:i], err
				}
				done[i].Item = there
				continue
			}
		}
		return nil, s.server.failed(ctx, operation, lost)
	}
	return done, nil
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
