package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Len returns how many values are kept, including expired ones that were not yet removed.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

// TestMemoryCountsWhatItHolds compares what it counts with what stands there, until nothing does.
func TestMemoryCountsWhatItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(nil)
		random := rand.New(rand.NewPCG(5, 6))
		check := func() {
			t.Helper()
			bytes, groups := len(m.groups)*Overhead, map[*group]int{}
			for _, e := range m.entries {
				bytes += e.size()
				if e.group != nil {
					groups[e.group] += e.size()
				}
			}
			require.Equal(t, bytes, m.bytes)
			require.Len(t, groups, len(m.groups))
			for g, size := range groups {
				require.Equal(t, size, g.bytes)
				require.Same(t, g, m.groups[g.name])
			}
		}
		for range 3000 {
			key := fmt.Sprintf("%d|%d", random.IntN(4), random.IntN(6))
			item, err := m.Get(t.Context(), key)
			require.NoError(t, err)
			ctx := t.Context()
			if random.IntN(3) > 0 {
				ctx = Within(ctx, Bound{Keys: 5, Bytes: 3000})
			}
			ttl := time.Duration(1+random.IntN(20)) * time.Second
			switch random.IntN(6) {
			case 0:
				_, _ = m.Delete(ctx, key, item.Version)
			case 1:
				_, _ = m.Add(ctx, key, 1, ttl)
			case 2:
				time.Sleep(time.Duration(random.IntN(3)) * time.Second)
			default:
				_, _, _ = m.Swap(ctx, key, item.Version, fmt.Appendf(nil, "%0*d", random.IntN(500), 7), ttl)
			}
			check()
		}
		time.Sleep(time.Minute)
		for m.dropExpired(&m.expiry, time.Now()) {
			check()
		}
		require.Zero(t, m.bytes)
		require.Empty(t, m.groups)
	})
}
