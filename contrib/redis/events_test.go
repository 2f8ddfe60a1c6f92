package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	mcpredis "github.com/mcpchain/mcpchain/contrib/redis"
	"github.com/mcpchain/mcpchain/internal/speak"
)

func after(t *testing.T, s mcp.EventStore, session, stream string, index int) (events []string, err error) {
	t.Helper()
	for data, err := range s.After(t.Context(), session, stream, index) {
		if err != nil {
			require.Empty(t, events, "no partial results")
			return nil, err
		}
		events = append(events, string(data))
	}
	return events, nil
}

// TestEventStoreIsLikeTheSDKs runs each case on the SDK's own store in memory and on
// ours.
func TestEventStoreIsLikeTheSDKs(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		memory := mcp.NewMemoryEventStore(nil)
		memory.SetMaxBytes(2000)
		ours := mcpredis.NewEventStore(p.client, &mcpredis.EventStoreOptions{Prefix: prefix(), MaxBytes: 2000, Timeout: 5 * time.Second})
		stores := map[string]mcp.EventStore{"memory": memory, "redis": ours}
		if speak.Oldest {
			delete(stores, "memory") // it panics for an index behind the last event
		}
		for name, s := range stores {
			t.Run(name, func(t *testing.T) {
				open := func(session, stream string) { require.NoError(t, s.Open(t.Context(), session, stream)) }
				add := func(session, stream, data string) {
					require.NoError(t, s.Append(t.Context(), session, stream, []byte(data)))
				}
				want := func(session, stream string, index int, want ...string) {
					t.Helper()
					got, err := after(t, s, session, stream, index)
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
				fails := func(session, stream string, index int, purged bool) {
					t.Helper()
					_, err := after(t, s, session, stream, index)
					require.Error(t, err)
					require.Equal(t, purged, errors.Is(err, mcp.ErrEventsPurged), err)
				}
				fails("S1", "", -1, false)
				open("S1", "")
				open("S1", "1")
				open("S1", "11")
				open("S2", "1")
				want("S1", "", -1)
				add("S1", "1", "a")
				add("S1", "", "b")
				add("S1", "1", "")
				add("S2", "1", "other\x00\r\n")
				add("S1", "11", "eleven")
				add("S1", "1", "c")
				open("S1", "1") // again
				want("S1", "1", -1, "a", "", "c")
				want("S1", "1", 0, "", "c")
				want("S1", "1", 1, "c")
				want("S1", "1", 2)
				want("S1", "1", 100)
				want("S1", "", -1, "b")
				want("S1", "11", -1, "eleven")
				want("S2", "1", -1, "other\x00\r\n")
				fails("S1", "2", -1, false)
				fails("S3", "1", -1, false)

				for data, err := range s.After(t.Context(), "S1", "1", -1) {
					require.NoError(t, err)
					require.Equal(t, "a", string(data))
					break // the iterator may be left
				}

				require.NoError(t, s.SessionClosed(t.Context(), "S1"))
				fails("S1", "1", -1, false)
				want("S2", "1", -1, "other\x00\r\n")
				require.NoError(t, s.SessionClosed(t.Context(), "S2"))

				open("S4", "1")
				for range 3 {
					add("S4", "1", strings.Repeat("x", 900))
				}
				add("S4", "1", strings.Repeat("y", 900))
				fails("S4", "1", -1, true)
				last := strings.Repeat("y", 900)
				want("S4", "1", 2, last)
				want("S4", "1", 3)
				large := strings.Repeat("z", 5000)
				add("S4", "1", large) // larger than all that is kept: the newest stays
				want("S4", "1", 3, large)
				require.NoError(t, s.SessionClosed(t.Context(), "S4"))
			})
		}
	})
}

func TestEventStoreDropsTheOldestOfASession(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.NewEventStore(p.client, &mcpredis.EventStoreOptions{Prefix: prefix(), MaxBytes: 4, Timeout: 5 * time.Second})
		for _, stream := range []string{"1", "2"} {
			require.NoError(t, s.Open(t.Context(), "S", stream))
		}
		for _, event := range []string{"1:d1", "1:d2", "2:d3"} {
			require.NoError(t, s.Append(t.Context(), "S", event[:1], []byte(event[2:])))
		}
		_, err := after(t, s, "S", "1", -1)
		require.ErrorIs(t, err, mcp.ErrEventsPurged)
		got, err := after(t, s, "S", "1", 0)
		require.NoError(t, err)
		require.Equal(t, []string{"d2"}, got)
		got, err = after(t, s, "S", "2", -1)
		require.NoError(t, err)
		require.Equal(t, []string{"d3"}, got)
	})
}

func TestEventStoreForgetsStreams(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.NewEventStore(p.client, &mcpredis.EventStoreOptions{Prefix: prefix(), MaxStreams: 3, Timeout: 5 * time.Second})
		open := func(i int) {
			require.NoError(t, s.Open(t.Context(), "S", fmt.Sprint(i)))
			require.NoError(t, s.Append(t.Context(), "S", fmt.Sprint(i), []byte("prime")))
		}
		for i := range 10 {
			open(i)
			require.NoError(t, s.Append(t.Context(), "S", "0", []byte("tick")))
		}
		for i := 1; i < 8; i++ {
			_, err := after(t, s, "S", fmt.Sprint(i), -1)
			require.Error(t, err)
			require.NoError(t, s.Append(t.Context(), "S", fmt.Sprint(i), []byte("late")), "it is still delivered")
			_, err = after(t, s, "S", fmt.Sprint(i), -1)
			require.Error(t, err, "but cannot be resumed: its index is not known")
		}
		got, err := after(t, s, "S", "0", 0)
		require.NoError(t, err)
		require.Len(t, got, 10, "one that is used stays")
		got, err = after(t, s, "S", "9", -1)
		require.NoError(t, err)
		require.Equal(t, []string{"prime"}, got)
		if p.mini != nil {
			for _, key := range p.mini.Keys() {
				if strings.HasSuffix(key, ":order") {
					list, err := p.mini.List(key)
					require.NoError(t, err)
					require.Len(t, list, 13, "nothing is left of those that were forgotten")
				}
			}
		}
	})
}

func TestEventStoreExpires(t *testing.T) {
	p := embedded(t)
	s := mcpredis.NewEventStore(p.client, &mcpredis.EventStoreOptions{Expiry: time.Minute})
	require.NoError(t, s.Open(t.Context(), "S", "1"))
	for range 3 {
		p.advance(40 * time.Second)
		require.NoError(t, s.Append(t.Context(), "S", "1", []byte("x")))
	}
	got, err := after(t, s, "S", "1", -1)
	require.NoError(t, err)
	require.Len(t, got, 3)
	p.advance(61 * time.Second)
	require.Empty(t, p.mini.Keys())
	_, err = after(t, s, "S", "1", -1)
	require.Error(t, err)
}

// TestEventStoreNeverSkipsAnEvent proves that a session that lacks an event cannot be
// resumed as if nothing were missing.
func TestEventStoreNeverSkipsAnEvent(t *testing.T) {
	p := embedded(t)
	s := mcpredis.NewEventStore(p.client, nil)
	require.NoError(t, s.Open(t.Context(), "S", "1"))
	require.NoError(t, s.Append(t.Context(), "S", "1", []byte("0")))
	p.mini.SetError("LOADING Redis is loading the dataset in memory")
	require.Error(t, s.Append(t.Context(), "S", "1", []byte("1")))
	p.mini.SetError("")
	require.Error(t, s.Append(t.Context(), "S", "1", []byte("2")))
	_, err := after(t, s, "S", "1", 0)
	require.ErrorIs(t, err, mcp.ErrEventsPurged)
	require.NoError(t, s.Open(t.Context(), "T", "1"), "another session goes on")
	require.NoError(t, s.Append(t.Context(), "T", "1", []byte("1")))
}

func TestEventStoreKeepsOrderUnderConcurrency(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := mcpredis.NewEventStore(p.client, &mcpredis.EventStoreOptions{Prefix: prefix(), Timeout: 5 * time.Second})
		const streams, each = 6, 30
		var work sync.WaitGroup
		for i := range streams {
			work.Go(func() {
				stream := fmt.Sprint(i)
				err := s.Open(t.Context(), "S", stream)
				for n := 0; n < each && err == nil; n++ {
					err = s.Append(t.Context(), "S", stream, fmt.Append(nil, n))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		for i := range streams {
			got, err := after(t, s, "S", fmt.Sprint(i), 9)
			require.NoError(t, err)
			require.Len(t, got, each-10)
			for n, data := range got {
				require.Equal(t, fmt.Sprint(n+10), data)
			}
		}
	})
}
