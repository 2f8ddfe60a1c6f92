package table

import (
	"sync"
	"time"
)

const (
	// Lasts is how long an entry of a table of [Brief] is known.
	Lasts = time.Second

	// MaxBrief is how many entries such a table has at most.
	MaxBrief = 8192

	// MaxSize is how large the values of such a table are together. One that is larger is
	// there alone.
	MaxSize = 1 << 15
)

// A Sized value of a [Brief] says how large it is, always the same.
type Sized interface {
	comparable
	Size() int
}

// Brief is a table whose entries are known for [Lasts]. It is bounded, and what is over goes when
// another entry comes. A value that several entries have is counted once. Points in time are counted
// from any moment, the same for a whole table. The zero value is ready for use, and must not be copied.
type Brief[K comparable, V Sized] struct {
	mu    sync.RWMutex
	of    map[K]brief[V]
	held  map[V]int // how many entries have a value
	size  int
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

// Put puts a value under a key, as it was at a time. Where there is no room it forgets other
// entries, any of them.
func (b *Brief[K, V]) Put(key K, v V, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of, b.held, b.swept = map[K]brief[V]{}, map[V]int{}, at
	}
	if at-b.swept >= Lasts {
		b.swept = at
		for other, e := range b.of {
			if e.over(at) {
				b.drop(other)
			}
		}
	}
	if have, ok := b.of[key]; ok && have.at > at {
		return // a later look was answered sooner
	}
	b.drop(key)
	for other := range b.of {
		if len(b.of) < MaxBrief && (b.held[v] > 0 || b.size+v.Size() <= MaxSize) {
			break
		}
		b.drop(other)
	}
	if b.of[key] = (brief[V]{v, at}); b.held[v] == 0 {
		b.size += v.Size()
	}
	b.held[v]++
}

// drop forgets an entry, if there is one.
func (b *Brief[K, V]) drop(key K) {
	e, ok := b.of[key]
	if !ok {
		return
	}
	delete(b.of, key)
	if b.held[e.value]--; b.held[e.value] == 0 {
		delete(b.held, e.value)
		b.size -= e.value.Size()
	}
}

// Len returns how many entries there are, with those that are over.
func (b *Brief[K, V]) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.of)
}
