package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpchain/mcpchain/store"
	"github.com/mcpchain/mcpchain/store/storetest"
)

func newMemory(testing.TB) store.Store { return store.NewMemory(nil) }

func TestMemory(t *testing.T) {
	storetest.Run(t, storetest.Config{New: newMemory, Around: synctest.Test})
}

func FuzzMemoryAgainstAMap(f *testing.F) {
	f.Add([]byte("\x01\x00\x01\x04\x00\x00\x05\x00\x03\x00\x00\x00"))
	f.Add([]byte(strings.Repeat("\x01\x00\x01\x02\x06\x02\x03\x00\x00\x04\x01\x05", 20)))
	f.Fuzz(func(t *testing.T, program []byte) {
		synctest.Test(t, func(t *testing.T) {
			storetest.Model(t, storetest.Config{New: newMemory, Advance: time.Sleep}, program)
		})
	})
}

func TestMemoryCountsBytes(t *testing.T) {
	m := store.NewMemory(&store.MemoryOptions{MaxBytes: 2000})
	swap := func(key string, size int) error {
		item, err := m.Get(t.Context(), key)
		require.NoError(t, err)
		_, _, err = m.Swap(t.Context(), key, item.Version, make([]byte, size), time.Hour)
		return err
	}
	require.ErrorIs(t, swap("a", 501), store.ErrTooLarge)
	for _, key := range []string{"a", "b", "c"} {
		require.NoError(t, swap(key, 500))
	}
	require.ErrorIs(t, swap("d", 0), store.ErrFull)
	require.NoError(t, swap("a", 100), "a smaller one")
	require.NoError(t, swap("d", 200))
	require.ErrorIs(t, swap("d", 400), store.ErrFull, "a larger value for what is there")
	for _, key := range []string{"a", "b", "c"} {
		_, err := m.Delete(t.Context(), key, 0)
		require.NoError(t, err)
	}
	require.NoError(t, swap("d", 500))
	require.Equal(t, 1, m.Len())
}

// TestNoGroupFillsTheStoreOfAll proves that neither one owner nor a hundred of one attacker do.
func TestNoGroupFillsTheStoreOfAll(t *testing.T) {
	const most = 1 << 20
	size := 4096
	ctx := store.Within(t.Context(), store.Bound{Bytes: 1 << 30})
	tried := 0
	fill := func(m *store.Memory, group string) (keys int) {
		for ; ; keys++ {
			tried++
			_, ok, err := m.Swap(ctx, fmt.Sprintf("%s|%d", group, tried), 0, make([]byte, size), time.Hour)
			if err != nil {
				var room *store.RoomError
				require.ErrorAs(t, err, &room)
				require.NotEqual(t, store.ErrManyKeys, room.Reason)
				require.Positive(t, room.After)
				require.LessOrEqual(t, room.After, time.Hour)
				return keys
			}
			require.True(t, ok)
		}
	}
	m := store.NewMemory(&store.MemoryOptions{MaxBytes: most})
	taken := func(keys int) float64 { return float64(keys*(size+store.Overhead)) / most }
	require.InDelta(t, 0.61, taken(fill(m, "first")), 0.02, "of twice the 39 % that are left, the square")
	require.Zero(t, fill(m, "first"))
	require.InDelta(t, 0.18, taken(fill(m, "second")), 0.02, "of twice the 21 % that are left")

	many := store.NewMemory(nil) // as docs/stores.md has it
	ctx = store.Within(t.Context(), store.Bound{Bytes: 8 << 20})
	for i := range 100 {
		for size = 1 << 16; size > 100; size /= 4 {
			fill(many, fmt.Sprint("attacker", i))
		}
	}
	size = 250
	require.Greater(t, fill(many, "somebody else"), 10, "there is room for the next one")
	size = 1 << 16
	_, ok, err := many.Swap(t.Context(), "lease", 0, make([]byte, 1<<20), time.Hour)
	require.NoError(t, err)
	require.True(t, ok)

	// What counts towards no bound may fill it.
	_, _, err = m.Swap(t.Context(), "lease", 0, make([]byte, 4096), time.Hour)
	require.NoError(t, err)
}

// TestTheWaitOfAFullMemoryIsTrue has values of many sizes that expire out of order.
func TestTheWaitOfAFullMemoryIsTrue(t *testing.T) {
	for _, bound := range []store.Bound{{}, {Bytes: 1 << 30}, {Bytes: 20_000}, {Keys: 20}} {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewMemory(&store.MemoryOptions{MaxBytes: 100_000})
			ctx := store.Within(t.Context(), bound)
			random := rand.New(rand.NewPCG(1, 2))
			refused := 0
			for i := range 2000 {
				key, size := fmt.Sprint("g|", i), random.IntN(3000)
				ttl := time.Minute + time.Duration(random.IntN(1000))*time.Second
				_, _, err := m.Swap(ctx, key, 0, make([]byte, size), ttl)
				if err == nil {
					continue
				}
				refused++
				var room *store.RoomError
				require.ErrorAs(t, err, &room)
				require.Positive(t, room.After)
				time.Sleep(room.After - 1)
				_, _, err = m.Swap(ctx, key, 0, make([]byte, size), ttl)
				require.ErrorIs(t, err, room.Reason, "not before")
				time.Sleep(time.Nanosecond)
				_, ok, err := m.Swap(ctx, key, 0, make([]byte, size), ttl)
				require.NoError(t, err, "and then")
				require.True(t, ok)
			}
			require.Greater(t, refused, 100)
			time.Sleep(time.Hour)
			_, _, err := m.Swap(ctx, "g|last", 0, nil, time.Second)
			require.NoError(t, err)
		})
	}
}

// TestWhatHasExpiredIsInNobodysWay: neither that of others nor that of the group.
func TestWhatHasExpiredIsInNobodysWay(t *testing.T) {
	for _, others := range []string{"", "other|", "g|"} {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewMemory(&store.MemoryOptions{MaxBytes: 100_000})
			ctx := store.Within(t.Context(), store.Bound{Bytes: 50_000})
			for i := range 90 {
				_, _, err := m.Swap(t.Context(), fmt.Sprint(others, i), 0, make([]byte, 900), time.Minute)
				require.NoError(t, err)
			}
			time.Sleep(time.Minute)
			_, ok, err := m.Swap(ctx, "g|new", 0, make([]byte, 20_000), time.Minute)
			require.NoError(t, err)
			require.True(t, ok)
		})
	}
}

// TestALookAtWhatExpiresIsBounded: among many small values the wait is a lower bound.
func TestALookAtWhatExpiresIsBounded(t *testing.T) {
	m := store.NewMemory(&store.MemoryOptions{MaxBytes: 1 << 20})
	var err error
	for i := 0; err == nil; i++ {
		_, _, err = m.Swap(t.Context(), fmt.Sprint(i), 0, nil, time.Duration(i+1)*time.Minute)
	}
	_, _, err = m.Swap(t.Context(), "large", 0, make([]byte, 1<<18), time.Hour)
	var room *store.RoomError
	require.ErrorAs(t, err, &room)
	require.InDelta(t, 1000*time.Minute, room.After, float64(time.Minute))
}

// TestMemoryIsBounded stores keys that nobody asks for again, a million where there is time.
func TestMemoryIsBounded(t *testing.T) {
	more := 1
	if os.Getenv("MCPCHAIN_SOAK") != "" {
		more = 10
	}
	keys, kept := more*100_000, 0
	m := store.NewMemory(&store.MemoryOptions{MaxBytes: 9 << 20})
	before := heapInUse()
	for i := range keys {
		if _, _, err := m.Swap(t.Context(), "key-"+strconv.Itoa(i), 0, []byte("value"), time.Hour); err != nil {
			require.ErrorIs(t, err, store.ErrFull)
			continue
		}
		kept++
	}
	require.InDelta(t, 54_000, kept, 1000)
	require.Equal(t, kept, m.Len())
	require.Less(t, heapInUse()-before, int64(16<<20))
	runtime.KeepAlive(m)
}

func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestMemoryForgetsWithoutAGoroutine proves that what has expired goes as new
// values come, long before the store is full.
func TestMemoryForgetsWithoutAGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory(nil)
		for i := range 1000 {
			_, err := m.Add(t.Context(), fmt.Sprint(i), 1, time.Minute)
			require.NoError(t, err)
		}
		time.Sleep(time.Hour)
		for i := range 1000 {
			_, err := m.Add(t.Context(), fmt.Sprint("new", i), 1, time.Minute)
			require.NoError(t, err)
		}
		require.Equal(t, 1000, m.Len())
	})
}

func TestProgrammersErrors(t *testing.T) {
	require.PanicsWithValue(t, "store.NewMemory: MemoryOptions.MaxBytes is negative; give a limit, or zero for the default", func() {
		store.NewMemory(&store.MemoryOptions{MaxBytes: -1})
	})
}

// TestMemoryDoIsOneStep: who looks meanwhile sees all operations or none.
func TestMemoryDoIsOneStep(t *testing.T) {
	m := store.NewMemory(nil)
	ctx := t.Context()
	var work sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				both, err := m.Do(ctx, store.Op{Key: "g|first", Old: 1 << 60, TTL: time.Hour}, store.Op{Key: "g|second", Old: 1 << 60, TTL: time.Hour, Anyway: true})
				if err != nil || (both[0].Item.Version == 0) != (both[1].Item.Version == 0) {
					t.Errorf("a part of a step: %v %v", both, err)
					return
				}
			}
		})
	}
	for range 20_000 {
		done, err := m.Do(ctx, store.Op{Key: "g|first", Value: []byte("1"), TTL: time.Hour}, store.Op{Key: "g|second", Value: []byte("2"), TTL: time.Hour})
		require.NoError(t, err)
		require.True(t, done[0].OK && done[1].OK)
		done, err = m.Do(ctx, store.Op{Key: "g|first", Old: done[0].Item.Version}, store.Op{Key: "g|second", Old: done[1].Item.Version})
		require.NoError(t, err)
		require.True(t, done[0].OK && done[1].OK)
	}
	close(stop)
	work.Wait()
}
