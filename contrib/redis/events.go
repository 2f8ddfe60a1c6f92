package redis

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	goredis "github.com/redis/go-redis/v9"
)

// EventStoreOptions configure [NewEventStore]. The zero value is the recommended
// default.
type EventStoreOptions struct {
	// Prefix begins every key. Empty means "mcpchain:".
	Prefix string

	// Timeout limits each call of a method. Zero means 500 ms.
	Timeout time.Duration

	// MaxBytes is how many bytes of events are kept of one session: the oldest go
	// first, whatever their stream, and the newest event always stays. Zero means 1 MiB.
	MaxBytes int

	// MaxStreams is how many streams of one session are kept: the least recently used go
	// first. Each request of a session is a stream. Zero means 1,000.
	MaxStreams int

	// Expiry is how long a session is kept after its last event. Zero means an hour.
	Expiry time.Duration
}

// An EventStore is an [mcp.EventStore] in Redis, for
// [mcp.StreamableHTTPOptions.EventStore]: a client of 2025-11-25 or before that lost
// its connection resumes its stream with Last-Event-ID. After yields all events of a stream
// behind the given one, in the order in which they were appended, or an error. All methods
// may be called concurrently.
//
// The events of a session outlive the process, but the SDK keeps the session itself
// in the memory of the process that made it.
type EventStore struct {
	client goredis.UniversalClient
	server server
	opts   EventStoreOptions

	mu   sync.Mutex
	lost map[string]time.Time // sessions that lack an event, and until when they count as lost
	full time.Time            // until when every session counts as lost, because lost was full
}

// maxLost bounds lost.
const maxLost = 10_000

// NewEventStore returns an event store on client, which has to meet the conditions of
// [New]. opts may be nil.
func NewEventStore(client goredis.UniversalClient, opts *EventStoreOptions) *EventStore {
	var o EventStoreOptions
	if opts != nil {
		o = *opts
	}
	if o.Timeout < 0 || o.MaxBytes < 0 || o.MaxStreams < 0 || o.Expiry < 0 {
		panic("redis.NewEventStore: an option is negative; give a limit, or zero for the default")
	}
	checkClient("redis.NewEventStore", client)
	if o.Prefix == "" {
		o.Prefix = "mcpchain:"
	}
	if o.Timeout == 0 {
		o.Timeout = 500 * time.Millisecond
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = 1000
	}
	if o.Expiry == 0 {
		o.Expiry = time.Hour
	}
	return &EventStore{client: client, server: serverOf(client), opts: o, lost: map[string]time.Time{}}
}

// keys returns the keys of a session. They share a hash tag, and so a slot:
//
//   - a hash with the events ("d", length of the stream's ID, ":", ID, index), for each stream the
//     index of its first ("f"+ID) and its next event ("n"+ID), the bytes of all
//     ("b") and a counter of uses ("u");
//   - a list of the events' fields in the order in which they came;
//   - a sorted set of the streams by their last use.
func (s *EventStore) keys(session string) []string {
	tag := s.opts.Prefix + "e:{" + session + "}"
	return []string{tag, tag + ":order", tag + ":streams"}
}

// openScript registers a stream, and drops those for which there is no room.
//
// Arguments: stream, largest number of streams, expiry in ms.
var openScript = newScript(`
local all, order, streams = KEYS[1], KEYS[2], KEYS[3]
redis.call('HSETNX', all, 'n' .. ARGV[1], 0)
redis.call('ZADD', streams, redis.call('HINCRBY', all, 'u', 1), ARGV[1])
while redis.call('ZCARD', streams) > tonumber(ARGV[2]) do
	local old = redis.call('ZRANGE', streams, 0, 0)[1]
	local first = tonumber(redis.call('HGET', all, 'f' .. old) or 0)
	local following = tonumber(redis.call('HGET', all, 'n' .. old))
	for i = first, following - 1 do
		local field = 'd' .. #old .. ':' .. old .. i
		redis.call('HINCRBY', all, 'b', -redis.call('HSTRLEN', all, field))
		redis.call('HDEL', all, field)
		redis.call('LREM', order, 1, field)
	end
	redis.call('HDEL', all, 'f' .. old, 'n' .. old)
	redis.call('ZREM', streams, old)
end
for _, key in ipairs(KEYS) do
	redis.call('PEXPIRE', key, ARGV[3])
end
return 1`)

// appendScript adds an event to a registered stream, and drops the oldest events of the
// session for which there is no room. If the stream was dropped, the event is not kept,
// because its index is unknown.
//
// Arguments: stream, event, largest number of bytes, expiry in ms.
var appendScript = newScript(`
local all, order, streams = KEYS[1], KEYS[2], KEYS[3]
if redis.call('HEXISTS', all, 'n' .. ARGV[1]) == 0 then
	return 0
end
local index = redis.call('HINCRBY', all, 'n' .. ARGV[1], 1) - 1
local newest = 'd' .. #ARGV[1] .. ':' .. ARGV[1] .. index
redis.call('HSET', all, newest, ARGV[2])
redis.call('RPUSH', order, newest)
redis.call('ZADD', streams, redis.call('HINCRBY', all, 'u', 1), ARGV[1])
local bytes = redis.call('HINCRBY', all, 'b', #ARGV[2])
while bytes > tonumber(ARGV[3]) and redis.call('LLEN', order) > 1 do
	local field = redis.call('LPOP', order)
	bytes = redis.call('HINCRBY', all, 'b', -redis.call('HSTRLEN', all, field))
	redis.call('HDEL', all, field)
	local length, rest = string.match(field, '^d(%d+):(.*)$')
	length = tonumber(length)
	redis.call('HSET', all, 'f' .. string.sub(rest, 1, length), string.sub(rest, length + 1) + 1)
end
for _, key in ipairs(KEYS) do
	redis.call('PEXPIRE', key, ARGV[4])
end
return 1`)

// afterScript returns the events of a stream from an index on, or 'unknown', or
// 'purged' if one of them was dropped.
//
// Arguments: stream, index.
var afterScript = newScript(`
local all = KEYS[1]
local following = redis.call('HGET', all, 'n' .. ARGV[1])
if not following then
	return 'unknown'
end
local index = tonumber(ARGV[2])
if index < tonumber(redis.call('HGET', all, 'f' .. ARGV[1]) or 0) then
	return 'purged'
end
local events = {}
for i = index, tonumber(following) - 1 do
	events[#events + 1] = redis.call('HGET', all, 'd' .. #ARGV[1] .. ':' .. ARGV[1] .. i)
end
return events`)

// Open implements [mcp.EventStore].
func (s *EventStore) Open(ctx context.Context, session, stream string) error {
	_, err := s.run(ctx, "open of a stream", openScript, session, stream, s.opts.MaxStreams, milliseconds(s.opts.Expiry))
	return err
}

// Append implements [mcp.EventStore]. After an Append that failed, the session cannot be
// resumed, because an event may be missing.
func (s *EventStore) Append(ctx context.Context, session, stream string, data []byte) error {
	if s.isLost(session) {
		return fmt.Errorf("redis: an earlier event of this session could not be stored: %w", mcp.ErrEventsPurged)
	}
	_, err := s.run(ctx, "append of an event", appendScript, session, stream, data, s.opts.MaxBytes, milliseconds(s.opts.Expiry))
	if err != nil {
		s.lose(session)
	}
	return err
}

// After implements [mcp.EventStore].
func (s *EventStore) After(ctx context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if s.isLost(session) {
			yield(nil, fmt.Errorf("redis: an event of this session could not be stored: %w", mcp.ErrEventsPurged))
			return
		}
		reply, err := s.run(ctx, "read of events", afterScript, session, stream, index+1)
		switch {
		case err != nil:
		case reply == "unknown":
			err = fmt.Errorf("redis: no events are known of stream %q", stream)
		case reply == "purged":
			err = fmt.Errorf("redis: events of stream %q after %d: %w", stream, index, mcp.ErrEventsPurged)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		events, _ := reply.([]any)
		for _, event := range events {
			data, _ := event.(string)
			if !yield([]byte(data), nil) {
				return
			}
		}
	}
}

// SessionClosed implements [mcp.EventStore].
func (s *EventStore) SessionClosed(ctx context.Context, session string) error {
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	s.mu.Lock()
	delete(s.lost, session)
	s.mu.Unlock()
	if err := s.client.Del(limited, s.keys(session)...).Err(); err != nil {
		return s.server.failed(ctx, "close of a session's events", err)
	}
	return nil
}

func (s *EventStore) run(ctx context.Context, operation string, script *script, session string, args ...any) (any, error) {
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	reply, err := script.run(limited, s.client, s.keys(session), args...)
	if err != nil {
		return nil, s.server.failed(ctx, operation, err)
	}
	return reply, nil
}

// lose notes that events of a session may be missing, for as long as they are kept.
func (s *EventStore) lose(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if len(s.lost) >= maxLost {
		for session, until := range s.lost {
			if now.After(until) {
				delete(s.lost, session)
			}
		}
	}
	if len(s.lost) >= maxLost {
		s.full = now.Add(s.opts.Expiry)
		return
	}
	s.lost[session] = now.Add(s.opts.Expiry)
}

func (s *EventStore) isLost(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	until, ok := s.lost[session]
	return now.Before(s.full) || (ok && now.Before(until))
}
