// Package table has the two tables that last as long as the process: by names that callers may
// invent, which is bounded, and by pointers, which keeps nothing alive.
package table

import (
	"runtime"
	"sync"
	"weak"
)

// A Weak is a table by pointers that keeps none of them alive: what is gone leaves nothing. The
// values must not hold the pointers. The zero value is ready, and must not be copied.
type Weak[K, V any] struct {
	mu sync.RWMutex
	of map[weak.Pointer[K]]V
}

// Get returns the value of a pointer, and whether there is one.
func (w *Weak[K, V]) Get(p *K) (V, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	v, ok := w.of[weak.Make(p)]
	return v, ok
}

// Set gives a pointer a value.
func (w *Weak[K, V]) Set(p *K, v V) {
	key := weak.Make(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[weak.Pointer[K]]V{}
	}
	if _, have := w.of[key]; !have {
		runtime.AddCleanup(p, w.forget, key)
	}
	w.of[key] = v
}

func (w *Weak[K, V]) forget(key weak.Pointer[K]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, key)
}

// Len returns how many pointers there are.
func (w *Weak[K, V]) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.of)
}
