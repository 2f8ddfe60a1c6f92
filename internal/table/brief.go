package table

import (
	"sync"
	"time"
)

const (
	// Lasts is how long an entry of a [Brief] is valid.
	Lasts = time.Second

	// MaxBrief is the largest number of entries of a Brief.
	MaxBrief = 8192

	// MaxSize is the largest total size of its values. A larger value is kept alone.
	MaxSize = 1 << 15
)

// A Sized value of a [Brief] reports its size, which never changes.
type Sized interface {
	comparable
	Size() int
}

// Brief is a bounded table whose entries are valid for [Lasts]. Put removes the expired ones. A
// value that several entries have is counted once. Points in time are durations since any moment,
// the same for a whole table. The zero value is ready for use, and must not be copied.
type Brief[K comparable, V Sized] struct {
	mu     sync.RWMutex
	of     map[K]brief[V]
	held   map[V]int // how many entries have a value
	size   int
	swept  time.Duration
	since  time.Duration // see Forget
	forgot bool
}

type brief[V any] struct {
	value V
	at    time.Duration
}

func (b brief[V]) over(now time.Duration) bool { return now-b.at >= Lasts }

// Get returns the value of a key, and whether there is one that has not expired.
func (b *Brief[K, V]) Get(key K, now time.Duration) (V, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if e, ok := b.of[key]; ok && !e.over(now) {
		return e.value, true
	}
	var none V
	return none, false
}

// Put sets the value of a key, as it was at a time. If there is no room, it removes any other
// entries.
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
	if have, ok := b.of[key]; ok && have.at > at || b.forgot && at <= b.since {
		return // a look-up that began later has answered sooner
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

// Forget removes all entries. What was true at a time before now is not taken any more.
func (b *Brief[K, V]) Forget(now time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.of)
	clear(b.held)
	b.size, b.since, b.forgot = 0, now, true
}

// drop removes an entry, if there is one.
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

// Len returns how many entries there are, expired ones included.
func (b *Brief[K, V]) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.of)
}
