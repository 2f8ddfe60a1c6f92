package table

import (
	"sync"
	"time"
)

const (
	// Lasts is how long an entry of a table of [Brief] is known.
	Lasts = time.Second

	// MaxBrief is how many entries such a table has at most.
	MaxBrief = 1024
)

// Brief is a table whose entries are known for [Lasts]. It is bounded, and what is over goes when
// another entry comes. Points in time are counted from any moment, the same for a whole table. The
// zero value is ready for use, and must not be copied.
type Brief[K comparable, V any] struct {
	mu    sync.RWMutex
	of    map[K]brief[V]
	swept time.Duration
}

type brief[V any] struct {
	value V
	at    time.Duration
}

func (b brief[V]) over(now time.Duration) bool { return now-b.at >= Lasts }

// Get returns the value of a key, and whether there is one that is not over.
func (b *Brief[K, V]) Get(key K, now time.Duration) (V, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if e, ok := b.of[key]; ok && !e.over(now) {
		return e.value, true
	}
	var none V
	return none, false
}

// Put puts a value under a key, as it was at a time. Where there is no room it forgets another
// entry, any one.
func (b *Brief[K, V]) Put(key K, v V, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of, b.swept = map[K]brief[V]{}, at
	}
	if at-b.swept >= Lasts {
		b.swept = at
		for other, e := range b.of {
			if e.over(at) {
				delete(b.of, other)
			}
		}
	}
	have, ok := b.of[key]
	if ok && have.at > at {
		return // a later look was answered sooner
	}
	if !ok && len(b.of) >= MaxBrief {
		for other := range b.of {
			delete(b.of, other)
			break
		}
	}
	b.of[key] = brief[V]{v, at}
}

// Len returns how many entries there are, with those that are over.
func (b *Brief[K, V]) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.of)
}
